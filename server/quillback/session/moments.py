"""A session's moments for hooks: each is told the mode, and what a hook says to the user reaches them."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from attrs import frozen

from quillback.core.hooks import NOTHING, HookAnswer, HookCall, HookPoint, Hooks
from quillback.core.ports import Mode

log = logging.getLogger(__name__)


@frozen
class Moments:
    """`note` tells the user something."""

    hooks: Hooks
    mode: Callable[[], Mode]
    note: Callable[[str], None]

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

    async def pass_by(self, point: HookPoint, seconds: float | None, **fields: Any) -> None:  # noqa: ANN401
        """Fire hooks whose answer changes nothing; they are ended after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self.fire(point, **fields)
        except TimeoutError:
            log.warning("the %s hooks took too long and were ended", point)
