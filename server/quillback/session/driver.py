"""Carries out what a turn asks for, stores what comes of it, and passes it on. It decides nothing."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from contextlib import aclosing

from quillback.core.event import Event, ToolStarted, TurnCompleted
from quillback.core.model import ModelRequest, ProviderError
from quillback.core.ports import Provider, Store, StoreError, Tool, Toolbox
from quillback.core.turn import Turn
from quillback.core.turn_table import State
from quillback.core.turn_types import (
    Action,
    BeginStep,
    CallModel,
    Cancel,
    Compact,
    Consult,
    Crash,
    Finish,
    Input,
    Received,
    ReplyEnded,
    RequestFailed,
    RunTools,
    StepBegan,
    ToolBegan,
    ToolFinished,
    Wait,
    Waited,
)
from quillback.session.batches import batches
from quillback.session.beside import Beside
from quillback.session.pipe import EventPipe
from quillback.session.saving import keep
from quillback.session.toolrunner import Runner

SETTLE_SECONDS = 0.7
log = logging.getLogger(__name__)


class Driver:
    """One turn. `run` returns the turn's last event; `cancel` may be called at any time, any number of times."""

    def __init__(
        self,
        turn: Turn,
        provider: Provider,
        toolbox: Toolbox,
        store: Store,
        pipe: EventPipe,
        beside: Beside,
        more_tools: Sequence[Tool] = (),
    ) -> None:
        self.runner: Runner | None = None
        self.turn = turn
        self._beside = beside
        self._more_tools = more_tools
        self._provider = provider
        self._toolbox = toolbox
        self._tools: dict[str, Tool] = {}
        self._store = store
        self._pipe = pipe
        self._work: asyncio.Task[None] | None = None
        self._cancelled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._started = asyncio.get_running_loop().time()

    async def run(self) -> TurnCompleted:
        while not isinstance(action := self.turn.next_action(), Finish):
            work = self._work = asyncio.ensure_future(self._perform(action))
            await asyncio.wait({work, self._cancelled}, return_when=asyncio.FIRST_COMPLETED)
            if self._cancelled.done():
                await self._settle(work)
            elif work.cancelled():  # by itself: nobody asked for it
                self._failed(asyncio.CancelledError())
            elif (error := work.exception()) is not None:
                self._failed(error)
        return action.completed

    def cancel(self) -> None:
        for finished in self.runner.waiting() if self.runner is not None else ():
            self.feed(finished)  # it waits for nothing but hooks
        self.feed(Cancel())
        if self._work is not None:
            self._work.cancel()
        if not self._cancelled.done():
            self._cancelled.set_result(None)

    def feed(self, given: Input) -> None:
        self._emit(self.turn.feed(given))

    @property
    def elapsed(self) -> float:
        """Seconds since the turn began."""
        return asyncio.get_running_loop().time() - self._started

    @property
    def ended(self) -> bool:
        return self.turn.state is State.ENDED

    def show(self, event: Event) -> None:
        """Pass on what a running tool reports; nothing is shown of a call that was closed already."""
        if isinstance(event, ToolStarted):
            self.feed(ToolBegan(event.call.id))
        if not self.ended:
            self._pipe.put(event)

    async def tool_finished(self, finished: ToolFinished) -> None:
        """Stores a result before it is shown; it is shown even when the wait for the store is cancelled."""
        events = self.turn.feed(finished)
        keep(self._store, events)
        try:
            await self._store.flush()
        finally:
            for event in events:
                self._pipe.put(event)

    # ------------------------------------------------------------ actions

    async def _perform(self, action: Action) -> None:
        match action:
            case BeginStep():
                await self._begin()
            case CallModel(request=request):
                await self._call_model(request)
            case Wait(seconds=seconds):
                await asyncio.sleep(seconds)
                self.feed(Waited())
            case RunTools(calls=calls):
                assert self.runner is not None
                await self.runner.run(calls, self._tools)
            case Compact():
                self.feed(await self._beside.compact(action))
            case Consult():
                self.feed(await self._beside.consult(action))
            case Finish():
                pass

    async def _begin(self) -> None:
        await self._store.flush()
        await self._toolbox.ready()
        self._tools = {t.spec.name: t for t in (*self._toolbox.tools(), *self._more_tools)}
        specs = tuple(t.spec for t in self._tools.values())
        self.feed(StepBegan(specs, self.elapsed))

    async def _call_model(self, request: ModelRequest) -> None:
        try:
            async with aclosing(batches(self._provider.stream(request))) as arriving:
                async for events in arriving:
                    self.feed(Received(events))
                    await self._pipe.room()
        except ProviderError as error:
            log.warning("model request failed: %s", error)
            self.feed(RequestFailed(error))
        else:
            self.feed(ReplyEnded())

    # ------------------------------------------------------------ events

    def _emit(self, events: list[Event]) -> None:
        keep(self._store, events)
        for event in events:
            self._pipe.put(event)

    # ------------------------------------------------------------ end

    def _failed(self, error: BaseException) -> None:
        """The step failed for no fault of the model's service or of a tool."""
        causes = list(_leaves(error))
        if unsaved := [e for e in causes if isinstance(e, StoreError)]:
            self.feed(Crash(str(unsaved[0]), "store"))
            return
        log.error("the turn failed inside", exc_info=error)
        self.feed(Crash(f"Quillback failed inside ({type(causes[0]).__name__}); see its log. Send the prompt again."))

    async def _settle(self, work: asyncio.Task[None]) -> None:
        """Give cancelled work a moment to clean up; it may go on with that behind the answer."""
        done, _ = await asyncio.wait({work}, timeout=SETTLE_SECONDS)
        if done and not work.cancelled() and (error := work.exception()) is not None:
            log.warning("cancelled work ended badly", exc_info=error)


def _leaves(error: BaseException) -> Iterable[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
