"""A session's moments for hooks: each is told the mode, and what a hook says to the user reaches them."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from quillback.core.hooks import NOTHING, HookAnswer, HookCall, HookPoint, Hooks
from quillback.core.ports import Mode

log = logging.getLogger(__name__)


@frozen
class Moments:
    """`note` tells the user something."""

    hooks: Hooks
    mode: Callable[[], Mode]
    note: Callable[[str], None]
    passing: set[asyncio.Task[None]] = field(factory=set, init=False)

    def any(self, point: HookPoint) -> bool:
        return self.hooks.any(point)

    async def fire(self, point: HookPoint, **fields: Any) -> HookAnswer:  # noqa: ANN401 - any JSON value
        """What the hooks of the moment say together. `fields` are the moment's own facts."""
        if not self.hooks.any(point):
            return NOTHING
        facts = {"permission_mode": self.mode().value}
        answer = await self.hooks.fire(HookCall(point, fields={**facts, **fields}))
        for text in answer.notes:
            self.note(text)
        return answer

    def pass_by(self, point: HookPoint, **fields: Any) -> None:  # noqa: ANN401 - any JSON value
        """Fire hooks whose answer changes nothing; nobody waits for them."""
        if self.hooks.any(point):
            task = asyncio.create_task(self._pass(point, fields), name=f"{point} hooks")
            self.passing.add(task)
            task.add_done_callback(self.passing.discard)

    async def close(self, seconds: float) -> None:
        """The hooks that are still under way, and then those of the end, have `seconds` together."""
        begun = time.monotonic()
        if self.passing:
            await asyncio.wait(set(self.passing), timeout=seconds / 2)
        self.pass_by(HookPoint.SESSION_END, reason="close")
        if not self.passing:
            return
        _, late = await asyncio.wait(set(self.passing), timeout=max(0.0, begun + seconds - time.monotonic()))
        for task in late:
            task.cancel()
        if late:
            log.warning("hooks took too long at the end of the session and were ended")
            await asyncio.wait(late)

    async def _pass(self, point: HookPoint, fields: Mapping[str, Any]) -> None:
        try:
            await self.fire(point, **fields)
        except Exception:
            log.exception("the %s hooks failed", point)
