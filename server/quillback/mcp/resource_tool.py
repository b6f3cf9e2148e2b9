"""The tool by which a model reads the resources of MCP servers, such as those that results link to."""

from collections.abc import Iterable, Sequence

from attrs import evolve, field, frozen

from quillback.core.message import JsonObject, ToolKind
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import ToolError
from quillback.mcp.connection import Connection
from quillback.mcp.result import Reading
from quillback.mcp.text import Keep, one_line
from quillback.mcp.tool import McpCall

NAME = "mcp_read_resource"
_LISTED = 50
_LINE_LIMIT = 300
_TITLE_LIMIT = 120


@frozen
class ResourceTool:
    """`connections` are those whose servers have resources."""

    connections: Sequence[Connection]
    keep: Keep
    spec: ToolSpec = field(init=False)

    @spec.default
    def _spec(self) -> ToolSpec:
        names = [connection.server.name for connection in self.connections]
        return ToolSpec(
            name=NAME,
            description=_description(self.connections),
            input_schema={
                "type": "object",
                "properties": {
                    "server": {"type": "string", "enum": names, "description": "the server that has it"},
                    "uri": {"type": "string", "description": "the address of the resource"},
                },
                "required": ["server", "uri"],
                "additionalProperties": False,
            },
            kind=ToolKind.READ,
            describe=_describe,
        )

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return frozenset()

    async def prepare(self, call_id: str, arguments: JsonObject) -> McpCall:
        server, uri = arguments.get("server"), arguments.get("uri")
        connection = next((c for c in self.connections if c.server.name == server), None)
        if connection is None or not isinstance(uri, str) or not uri.strip():
            raise ToolError(f"server must be one that has resources, and uri the address of one, not {uri!r}")
        reading = Reading(connection.hidden.in_result, evolve(self.keep, name=f"{self.keep.name}-{NAME}"))
        return McpCall(lambda told: connection.read(uri, told), reading)


def _describe(arguments: JsonObject) -> Sketch:
    server, uri = arguments.get("server"), arguments.get("uri")
    return Sketch(one_line(f"{server}: read {uri}", _TITLE_LIMIT))


def _description(connections: Iterable[Connection]) -> str:
    lines = [
        one_line(f"- {connection.server.name}: {resource.uri} ({resource.name})", _LINE_LIMIT)
        for connection in connections
        for resource in connection.resources or ()
    ]
    more = [f"- and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    listed = "\n".join(["Listed by the servers:", *lines[:_LISTED], *more]) if lines else ""
    return f"Read a resource of an MCP server, such as one that a result links to.\n{listed}".strip()
