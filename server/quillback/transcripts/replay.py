"""Plays a stored session against the loop again, with the model's replies and the tools' results from the record.

No model is asked and no tool is run. The stream that comes of it, as it is stored, must be the recorded one.
"""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from attrs import define, evolve, frozen

from quillback.app import App
from quillback.config import Settings, load_settings
from quillback.core.mask import Mask
from quillback.core.message import JsonObject, Message
from quillback.core.model import Model
from quillback.core.model import Thinking as ThinkingLevel
from quillback.core.ports import Editor, EditorCapabilities, Inspection, Mode, SessionRecord
from quillback.core.turn_types import Limits
from quillback.core.verdict import ALLOW
from quillback.session.permits import Inspected
from quillback.session.pipe import EventPipe
from quillback.session.services import Services
from quillback.session.session import Session
from quillback.session.subagent_parts import NoCommands
from quillback.session.turns import driver_of
from quillback.transcripts.replay_likeness import Likeness, difference
from quillback.transcripts.replay_model import PlayedModel
from quillback.transcripts.replay_spans import Span, spans_of
from quillback.transcripts.replay_stage import Stage
from quillback.transcripts.replay_stored import Stored
from quillback.transcripts.replay_tools import PlayedCompacting, PlayedHooks, PlayedTools

SECONDS = 30.0
"""How long one turn may take: nothing in it waits for anything but the loop itself."""

FEW = 1000
"""Messages up to which the streams are compared after each turn, and not at the end only."""


@frozen
class Replayed:
    """`difference` is empty where the stream came out the same; `turns` were played, `skipped` could not be."""

    turns: int
    skipped: int
    difference: tuple[str, ...] = ()
    where: str = ""


async def replay(stored: Stored) -> Replayed:
    async with _opened(stored) as player:
        played = skipped = 0
        for number, span in enumerate(spans_of(stored.messages), 1):
            if not span.made:
                player.enter(span.given)
            elif span.of_recipe:
                skipped += 1
                player.enter((*span.given, *span.made))
            else:
                played += 1
                if where := await player.play(span):
                    return Replayed(played, skipped, await player.difference(), f"turn {number}: {where}")
        found = await player.difference()
        return Replayed(played, skipped, found, "the stored stream" if found else "")


@define(eq=False)
class _Player:
    session: Session
    services: Services
    stored: Stored
    schemas: dict[str, JsonObject]
    stage: Stage
    done: int = 0

    def enter(self, messages: Sequence[Message], *, seen: bool = False) -> None:
        """What was given to the session takes its place; `seen` by the model, whatever came of it later."""
        for message in messages:
            shown = message.visible_to_model or (seen and message.visible_to_user)
            self.session.past.enter(evolve(message, session_id=self.session.record.id, visible_to_model=shown))
        self.done += len(messages)

    async def play(self, span: Span) -> str:
        """One turn; what is wrong, empty if nothing is."""
        self.enter(span.given, seen=span.declined)
        self.stage = stage = Stage.of(span, self.schemas)
        model = self._model(span)
        self.session.record = evolve(self.session.record, model=model.id)
        limits = Limits(span.most_steps) if span.most_steps is not None else Limits(max_steps=1_000_000)
        policy = evolve(self.services.policy, limits=limits, compacting=PlayedCompacting(record=stage.record))
        pipe = EventPipe()
        driver = driver_of(self.session, evolve(self.services, policy=policy), model, span.aim, pipe)
        stage.driver = driver
        try:
            async with asyncio.timeout(SECONDS):
                await driver.run()
        except TimeoutError:
            return "the loop waits for something that the record does not have"
        await self.services.store.flush()
        self.done += len(span.made)
        if stage.record.trouble:
            return stage.record.trouble
        if len(self.stored.messages) > FEW:
            return ""
        return "" if not await self.difference() else "another stream came of it"

    async def difference(self) -> tuple[str, ...]:
        """Between the record, as far as it was played, and what is stored now."""
        await self.services.store.flush()
        stored = await self.services.store.messages(self.session.record.id)
        recorded = self.stored.messages[: self.done]
        return tuple(difference(Likeness().lines(recorded), Likeness().lines(stored)))

    def _model(self, span: Span) -> Model:
        """The model of the turn, without its price."""
        reply = next((m for m in span.made if m.model), None)
        if reply is None:
            return self.services.model(self.session.record.model)
        return evolve(self.services.model(reply.model), provider=reply.provider, price=None, long_price=None)


@asynccontextmanager
async def _opened(stored: Stored) -> AsyncIterator[_Player]:
    """A session in a place of its own, which is gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="quillback-replay-"))
    settings: Settings = load_settings({"QUILLBACK_HOME": str(home), "QUILLBACK_MODEL": "scripted:echo"})
    app = App(settings, warm=False)
    try:
        record = _record(stored, app)
        await app.store.create_session(record)
        player: _Player

        def stage() -> Stage:
            return player.stage

        services = _services(app, stage)
        session = Session(record, [], services, cast("Editor", _NoEditor()))
        player = _Player(session, services, stored, await _schemas(app, session), Stage.of(Span((), ()), {}))
        yield player
        await session.close()
    finally:
        await app.close()
        shutil.rmtree(home, ignore_errors=True)


class _NoEditor:
    """Nobody is asked for anything."""

    capabilities = EditorCapabilities()

    def frontend_tools(self, session_id: str) -> tuple[()]:
        return ()


def _record(stored: Stored, app: App) -> SessionRecord:
    now = app.services.now()
    return SessionRecord(
        id=stored.id,
        cwd=stored.cwd,
        roots=(stored.cwd,),
        mode=Mode.AUTO,
        model="scripted:echo",
        thinking=ThinkingLevel.OFF,
        created_at=now,
        updated_at=now,
    )


def _services(app: App, stage: Callable[[], Stage]) -> Services:
    async def allowed(_: Inspection) -> Inspected:
        return ALLOW, ()

    return evolve(
        app.services,
        provider=lambda _: PlayedModel(stage()),
        toolbox=lambda _: PlayedTools(stage),
        system=lambda _: "",
        inspect=allowed,
        jitter=lambda: 0.0,
        hooks=lambda _: PlayedHooks(stage),
        commands=lambda _: NoCommands(),
        title=None,
        mask=Mask(),
    )


async def _schemas(app: App, session: Session) -> dict[str, JsonObject]:
    """The inputs of our own tools, by name: what the model got wrong about them has to be found wrong again."""
    toolbox = app.services.toolbox(session.request)
    try:
        return {tool.spec.name: tool.spec.input_schema for tool in toolbox.tools()}
    finally:
        await toolbox.close()
