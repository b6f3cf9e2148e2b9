"""The calls of one server that are under way: each within its limits, none waited for by someone who has gone."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from quillback.core.message import JsonObject
from quillback.core.ports import ToolError

CALL_IDLE = 60.0
"""Seconds a call may be without progress."""

CALL_LIMIT = 3_600.0
"""Seconds a call may take."""

Progress = Callable[[str], None]


class OpenCalls:
    """`tasks` are those that still run, also after nobody waits for their answer any more."""

    def __init__(self, server: str) -> None:
        self._server = server
        self.tasks: set[asyncio.Task[JsonObject]] = set()

    async def run(
        self, request: Callable[[Progress], Coroutine[Any, Any, JsonObject]], on_progress: Progress
    ) -> JsonObject | None:
        """The answer; None when the server was closed meanwhile. Raises ToolError and what `request` raises.

        The request runs in a task of its own, so that a cancel returns at once, whatever the transport does.
        """
        clock = asyncio.get_running_loop().time
        latest = clock() + CALL_LIMIT
        limit = asyncio.timeout(CALL_IDLE)

        def progressed(text: str) -> None:
            with suppress(RuntimeError):  # it came after the end
                limit.reschedule(min(clock() + CALL_IDLE, latest))
                on_progress(text)

        task = asyncio.create_task(request(progressed))
        self.tasks.add(task)
        task.add_done_callback(self._forget)
        try:
            async with limit:
                await asyncio.wait({task})
        except TimeoutError:
            raise ToolError(self._overdue(clock() >= latest)) from None
        finally:
            task.cancel()
        return None if task.cancelled() else task.result()

    def _forget(self, task: "asyncio.Task[JsonObject]") -> None:
        self.tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever asked may have gone

    def _overdue(self, at_last: bool) -> str:
        why = f"did not end within {CALL_LIMIT:g} s" if at_last else f"gave no sign of progress for {CALL_IDLE:g} s"
        return f"The call to the MCP server {self._server} {why} and was given up; it may have had an effect."
