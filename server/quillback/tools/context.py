"""What the tools of one session share: where they work, the editor behind them, what the agent knows of files."""

from collections.abc import MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define, field

from quillback.core.mask import Mask
from quillback.core.ports import Editor
from quillback.core.subagent import Subagents
from quillback.core.undo import KeepOriginal, KeepsNothing
from quillback.tools.sandbox import Sandbox
from quillback.tools.text import bounded

if TYPE_CHECKING:
    from quillback.tools.paths import Target


@define(eq=False)
class ToolContext:
    """The surroundings of one session's tools.

    `cwd` is absolute, relative paths start there. `roots` are real paths. `known` maps the real path of a file to the
    digest of the state the agent last read or wrote (see `files.State.digest`); the session owns and restores it, the
    tools read and update it. `outputs` is the directory for whole outputs, made on demand (0700, its files 0600).
    `secret_env` names variables that commands do not get, on top of `environment.held_back`. `sandbox` confines shell
    commands; without one they have the user's rights. `keep_original` is told of every file that is changed.
    Without `subagents` there is no tool that starts one. `mask` knows what is secret; it is the whole process's.
    `unsaved` are files that were changed in the editor, by real path, which may not be saved yet.
    """

    session_id: str
    cwd: Path
    roots: tuple[Path, ...]
    editor: Editor
    known: MutableMapping[str, str]
    outputs: Path
    shell_in_editor: bool = False
    secret_env: frozenset[str] = field(default=frozenset())
    sandbox: Sandbox | None = None
    keep_original: KeepOriginal = field(factory=KeepsNothing)
    subagents: Subagents | None = None
    mask: Mask = field(factory=Mask)
    unsaved: "dict[str, Target]" = field(factory=dict)

    def inside(self, real: str) -> bool:
        """Whether a real path lies in one of the session's roots."""
        return any(Path(real).is_relative_to(root) for root in self.roots)

    def bounded(self, text: str, name: str) -> str:
        """`text` as a result: without secrets, and cut when it is long; the whole is then in a file."""
        return bounded(self.mask.hide(text), self.outputs, name)
