"""What the handlers of LSP's methods share: one client, its folders and documents, and the turns it has begun."""

from enum import Enum
from pathlib import Path

from attrs import define, field

from quillback.edge.connection import Connection
from quillback.edge.lsp.client import LspClient
from quillback.edge.lsp.documents import Documents
from quillback.edge.lsp.editor import LspEditor
from quillback.edge.lsp.questions import Questions
from quillback.edge.lsp.turns import Turns
from quillback_protocol import acp


class Stage(Enum):
    NEW = "new"
    INITIALIZED = "initialized"
    SHUT_DOWN = "shut down"


@define
class Front:
    """`folders` are the real paths of the workspace's folders, in the client's order. `prompts` has the requests to
    session/prompt that commands stand for, by the identity of their params; `withdrawn` has
    those that were cancelled before they were one."""

    connection: Connection
    editor: LspEditor
    turns: Turns
    stage: Stage = Stage.NEW
    folders: list[str] = field(factory=list)
    prompts: dict[int, acp.PromptRequest] = field(factory=dict)
    withdrawn: set[int] = field(factory=set)

    @property
    def client(self) -> LspClient:
        return self.editor.client

    @property
    def documents(self) -> Documents:
        return self.editor.documents

    @property
    def questions(self) -> Questions:
        return self.editor.questions

    def roots(self, path: str) -> tuple[str, ...]:
        """The directories of a session about a file (empty for none), that in which it is first."""
        folders = list(self.folders)
        inside = [folder for folder in folders if path and Path(path).is_relative_to(folder)]
        if inside:
            first = max(inside, key=len)
        elif folders:
            first = folders[0]
        else:
            first = str(Path(path).parent) if path else str(Path.cwd())
        return (first, *(folder for folder in folders if folder != first))
