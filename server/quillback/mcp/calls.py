"""The calls of one server that are under way: each within its limits, none waited for by someone who has gone."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
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
        self._limits: set[asyncio.Timeout] = set()
        self._holds = 0

    @property
    def waited_for(self) -> bool:
        """Whether somebody waits for an answer."""
        return bool(self._limits)

    @contextmanager
    def held(self) -> Iterator[None]:
        """No call is overdue meanwhile: the user is being asked."""
        self._holds += 1
        self._reset()
        try:
            yield
        finally:
            self._holds -= 1
            self._reset()

    def _reset(self) -> None:
        clock = asyncio.get_running_loop().time
        for limit in self._limits:
            with suppress(RuntimeError):  # it has passed, or has not begun
                limit.reschedule(None if self._holds else clock() + CALL_IDLE)

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
                limit.reschedule(None if self._holds else min(clock() + CALL_IDLE, latest))
                on_progress(text)

        task = asyncio.create_task(request(progressed))
        self.tasks.add(task)
        task.add_done_callback(self._forget)
        try:
            async with limit:
                self._limits.add(limit)
                await asyncio.wait({task})
        except TimeoutError:
            raise ToolError(self._overdue(clock() >= latest)) from None
        finally:
            self._limits.discard(limit)
            task.cancel()
        return None if task.cancelled() else task.result()

    def _forget(self, task: "asyncio.Task[JsonObject]") -> None:
        self.tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever asked may have gone

    def _overdue(self, at_last: bool) -> str:
        why = f"did not end within {CALL_LIMIT:g} s" if at_last else f"gave no sign of progress for {CALL_IDLE:g} s"
        return f"The call to the MCP server {self._server} {why} and was given up; it may have had an effect."
