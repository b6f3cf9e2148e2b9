"""What the user is told about one server: each failure once, and each tool that cannot be offered once."""

import logging
from collections.abc import Callable

from quillback.mcp.text import one_line

log = logging.getLogger(__name__)
_NAME_LIMIT = 80
_SHOWN = 5


class Notices:
    def __init__(self, server: str, sink: Callable[[str], None]) -> None:
        self._server = one_line(server, _NAME_LIMIT)
        self._sink = sink
        self._left_out: dict[str, str] = {}
        self._told: set[str] = set()

    def say(self, text: str) -> None:
        try:
            self._sink(f'MCP server "{self._server}" {text}')
        except Exception:
            log.exception("a notice about MCP server %s was not taken", self._server)

    def leave_out(self, tool: str, why: str) -> None:
        """Remember it for `report`."""
        if tool not in self._told:
            self._left_out[tool] = why

    def report(self) -> None:
        """Name the tools left out since the last time."""
        new = [f"{one_line(tool, _NAME_LIMIT)} ({why})" for tool, why in self._left_out.items()]
        self._told.update(self._left_out)
        self._left_out.clear()
        if new:
            more = f" and {len(new) - _SHOWN} more" if len(new) > _SHOWN else ""
            self.say(f"has tools that cannot be offered to a model: {'; '.join(new[:_SHOWN])}{more}")
