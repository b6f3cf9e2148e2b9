"""What a turn has to find out beside the model's replies: a summary, the checks of a recipe, the Stop hook's word."""

import time
from collections.abc import Callable
from typing import assert_never

from attrs import define, evolve, frozen

from quillback.core.hooks import HookPoint
from quillback.core.ports import SessionRecord
from quillback.core.turn_types import (
    ChecksRan,
    Compact,
    Compacted,
    CompactionFailed,
    Consult,
    Question,
    Recipe,
    StopAnswered,
)
from quillback.session.checks import CheckGate, run_checks
from quillback.session.moments import Moments
from quillback.session.services import Services
from quillback.session.summarise import Summariser

REST_SECONDS = 300.0


@define
class Rest:
    """How long no summary is asked for by itself, after one could not be had."""

    until: float = 0.0

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.until

    def after(self, done: Compacted | CompactionFailed) -> None:
        self.until = time.monotonic() + REST_SECONDS if isinstance(done, CompactionFailed) else 0.0


@frozen
class Beside:
    services: Services
    record: Callable[[], SessionRecord]
    roots: tuple[str, ...]
    moments: Moments
    recipe: Recipe
    said: Callable[[], tuple[str, tuple[str, ...]]]
    rest: Rest

    async def compact(self, asked: Compact) -> Compacted | CompactionFailed:
        services, record = self.services, self.record()
        trigger = "manual" if asked.by_hand else "auto"
        answer = await self.moments.fire(HookPoint.PRE_COMPACT, trigger=trigger, custom_instructions=asked.focus)
        if answer.blocked:
            return CompactionFailed(f"a hook is against it: {answer.blocked}")
        focus = "\n".join(filter(None, (asked.focus, *answer.context)))
        small, main = services.small_model(), services.model(record.model)
        models = (small, main) if small != main else (small,)
        summariser = Summariser(models, services.provider, services.jitter)
        done = await summariser.summarise(evolve(asked, focus=focus))
        self.rest.after(done)
        return done

    async def consult(self, asked: Consult) -> ChecksRan | StopAnswered:
        match asked.question:
            case Question.CHECKS:
                return ChecksRan(await self._checks())
            case Question.STOP_HOOK:
                return await self._stop_hook(asked)
            case _:
                assert_never(asked.question)

    async def _checks(self) -> str:
        services, record = self.services, self.record()
        gate = CheckGate(
            inspect=services.inspect,
            store=services.store,
            session_id=record.id,
            roots=self.roots,
            mode=lambda: self.record().mode,
            now=services.now,
            new_id=services.new_id,
            said=self.said,
            mask=services.mask,
        )
        return await run_checks(self.recipe, services.run_command, record.cwd, gate)

    async def _stop_hook(self, asked: Consult) -> StopAnswered:
        active = asked.blocks > 0
        answer = await self.moments.fire(HookPoint.STOP, stop_hook_active=active, last_assistant_message=asked.text)
        return StopAnswered(answer)
