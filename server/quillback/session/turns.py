"""Puts a turn of a session together: the pure turn, what drives it, and what its tools pass on their way."""

from typing import TYPE_CHECKING

from quillback.core.hooks import HookPoint
from quillback.core.model import Model
from quillback.core.turn import Turn
from quillback.core.turn_types import Aim, Compacting, Limits, Setup
from quillback.session.beside import Beside
from quillback.session.driver import Driver
from quillback.session.final_output import FinalOutput
from quillback.session.permits import Permits
from quillback.session.pipe import EventPipe
from quillback.session.services import Services
from quillback.session.tool_hooks import ToolHooks
from quillback.session.toolrunner import Runner

if TYPE_CHECKING:
    from quillback.session.session import Session


def driver_of(session: "Session", services: Services, model: Model, aim: Aim, pipe: EventPipe) -> Driver:
    """A turn that is about to begin with the last message of the session's history."""
    turn = Turn(_setup(session, services, model, aim), session.history)
    beside = Beside(
        services=services,
        record=lambda: session.record,
        roots=session.roots,
        moments=session.moments,
        recipe=aim.recipe,
        said=session.said,
        rest=session.rest,
    )
    more = () if aim.recipe.output is None else (FinalOutput(aim.recipe.output),)
    driver = Driver(turn, services.provider(model), session.toolbox, services.store, pipe, beside, more)
    driver.runner = _runner(session, services, driver)
    return driver


def _setup(session: "Session", services: Services, model: Model, aim: Aim) -> Setup:
    record, policy = session.record, services.policy
    limits = policy.limits.within(aim.recipe.limits)
    if aim.grind:
        limits = limits.within(Limits(limits.max_steps, max_cost=policy.grind_cost))
    return Setup(
        session_id=record.id,
        model=model,
        system=services.system(record),
        thinking=record.thinking,
        new_id=services.new_id,
        now=services.now,
        jitter=services.jitter,
        limits=limits,
        spent=record.cost,
        aim=aim,
        compacting=policy.compacting if session.rest.over else Compacting(0.0),
        stop_hook=session.moments.any(HookPoint.STOP),
    )


def _runner(session: "Session", services: Services, driver: Driver) -> Runner:
    permits = Permits(
        session_id=session.record.id,
        root=session.root,
        roots=session.roots,
        editor=session.editor,
        store=services.store,
        inspect=services.inspect,
        rule=services.rule,
        mode=lambda: session.record.mode,
        said=session.said,
        now=services.now,
        cancel=driver.cancel,
        repeats=driver.turn.repeats,
        mask=services.mask,
    )
    return Runner(
        permits=permits,
        store=services.store,
        emit=driver.show,
        finished=driver.tool_finished,
        concurrency=services.policy.tool_concurrency,
        stop_on_reject=services.policy.stop_on_reject,
        mask=services.mask,
        hooks=ToolHooks(session.moments.hooks, session.note, services.mask),
    )
