"""Tools that belong to the editor: what a declaration says, and what a call of one brings back."""

from collections.abc import Iterable
from typing import Any

from attrs import frozen

from quillback.core.message import Image, JsonObject, Location, ResourceLink, Text, ToolKind

PREFIX = "editor_"
NAME_LENGTH = 64


@frozen
class FrontendTool:
    """`replaces` names the server tool it stands in for. `input_schema` is a JSON schema of type object."""

    name: str
    description: str
    input_schema: JsonObject
    title: str = ""
    kind: ToolKind = ToolKind.OTHER
    read_only: bool = False
    replaces: str = ""


@frozen
class FrontendAnswer:
    """The editor's result, as it came; `structured` is JSON that came beside, or in place of, the content."""

    content: tuple[Text | Image | ResourceLink, ...]
    is_error: bool = False
    structured: Any = None
    locations: tuple[Location, ...] = ()


def offered(server_tools: Iterable[str], declared: Iterable[FrontendTool]) -> tuple[set[str], dict[str, FrontendTool]]:
    """The server tools that are left, and the editor's tools by the names under which the model gets them.

    A name that is taken gets a prefix; a declaration whose prefixed name is taken too is left out.
    """
    tools = list(declared)
    left = set(server_tools) - {t.replaces for t in tools if t.replaces}
    named: dict[str, FrontendTool] = {}
    for tool in sorted(tools, key=lambda t: t.name in left):
        name = tool.name if tool.name not in left else (PREFIX + tool.name)[:NAME_LENGTH]
        if name not in left and name not in named:
            named[name] = tool
    return left, named
