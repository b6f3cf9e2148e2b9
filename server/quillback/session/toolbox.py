"""Several toolboxes as one: the built-in tools and those of the session's MCP servers."""

import asyncio
from collections.abc import Callable, Sequence

from quillback.core.ports import Tool, Toolbox
from quillback.core.prompts import Prompt


class CombinedToolbox:
    def __init__(self, boxes: Sequence[Toolbox]) -> None:
        self._boxes = boxes

    def tools(self) -> list[Tool]:
        """The first tool of a name counts."""
        found: dict[str, Tool] = {}
        for box in self._boxes:
            for tool in box.tools():
                found.setdefault(tool.spec.name, tool)
        return list(found.values())

    def prompts(self) -> list[Prompt]:
        """The first prompt of a name counts."""
        found: dict[str, Prompt] = {}
        for box in self._boxes:
            for prompt in box.prompts():
                found.setdefault(prompt.name, prompt)
        return list(found.values())

    def on_prompts(self, changed: Callable[[], None]) -> None:
        for box in self._boxes:
            box.on_prompts(changed)

    async def ready(self) -> None:
        await asyncio.gather(*(box.ready() for box in self._boxes))

    async def close(self) -> None:
        await asyncio.gather(*(box.close() for box in self._boxes))
