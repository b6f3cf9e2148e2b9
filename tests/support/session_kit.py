"""Sessions on a real store, with a model, tools and an editor that do as a test says.

At its end the kit objects to what was left behind: a task, a turn without an end, a connection to the model.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from attrs import define, evolve

from quillback.core.commands import Commands
from quillback.core.event import Event, TurnCompleted
from quillback.core.hooks import Hooks, NoHooks
from quillback.core.message import Text, ToolResult
from quillback.core.model import Model
from quillback.core.model import Thinking as ThinkingLevel
from quillback.core.ports import (
    Inspection,
    Inspector,
    Mode,
    Store,
)
from quillback.core.process import RunCommand
from quillback.inspectors.chain import inspect
from quillback.inspectors.permission import PermissionInspector
from quillback.inspectors.permission_rules import narrowest
from quillback.session.ids import IdSource
from quillback.session.permits import Inspected
from quillback.session.pipe import EventPipe
from quillback.session.registry import Defaults, Sessions
from quillback.session.services import Policy, Services, Titled, ToolboxRequest
from quillback.session.session import Session
from quillback.session.subagent_parts import NoCommands
from quillback.tools.context import ToolContext
from quillback.tools.restore import restorer
from quillback.tools.run_command import CommandRunner
from quillback.tools.subagent import Subagent
from support.fakes import SOON, FakeEditor, FakeModel, FakeTool, FakeToolbox, Script
from support.replies import MODEL, TOOLS
from support.stores import new_store
from support.watch import Watch, results_of


def _texts(results: Sequence[ToolResult]) -> list[str]:
    return ["".join(p.text for p in r.content if isinstance(p, Text)) for r in results]


@define
class Kit:
    sessions: Sessions
    session: Session
    store: Store
    model: FakeModel
    tools: dict[str, FakeTool]
    toolboxes: list[FakeToolbox]
    editor: FakeEditor
    cwd: str
    services: Services
    forgotten: list[str]

    async def play(self, text: str = "do it", session: Session | None = None) -> list[Event]:
        """One prompt to its end: all of its events."""
        return await drain((session or self.session).submit([Text(text)]))

    def results(self) -> list[str]:
        """What the calls gave, in call order, as a model sees it."""
        calls = [c.id for m in self.session.history for c in m.tool_uses()]
        return _texts(sorted(self.tool_results(), key=lambda r: calls.index(r.call_id)))

    def ended(self) -> list[str]:
        """What the calls gave, in the order in which they ended."""
        return _texts(self.tool_results())

    def tool_results(self) -> list[ToolResult]:
        return [r for m in self.session.history for r in m.tool_results()]

    async def stored(self) -> list[Any]:
        """The stream as it is on disk."""
        return await self.store.messages(self.session.record.id)

    def again(self) -> Sessions:
        """What another start of the program would have, on the same store."""
        return Sessions(self.services, DEFAULTS, self.editor)


DEFAULTS = Defaults("m1", Mode.AUTO, ThinkingLevel.OFF)


async def drain(pipe: EventPipe) -> list[Event]:
    """All events of a prompt, looked at one by one; the last is its one TurnCompleted."""
    watch, events = Watch(), []
    async with asyncio.timeout(SOON):
        async for event in pipe:
            watch.take([event])
            events.append(event)
    assert watch.completed is events[-1]
    return events


def collect(pipe: EventPipe) -> asyncio.Task[list[Event]]:
    return asyncio.ensure_future(drain(pipe))


def completed(events: Sequence[Event]) -> TurnCompleted:
    assert isinstance(events[-1], TurnCompleted)
    return events[-1]


def shown_results(events: Sequence[Event]) -> list[str]:
    return ["".join(p.text for p in r.content if isinstance(p, Text)) for r in results_of(events)]


def subagent_tool(request: ToolboxRequest, path: Path) -> Subagent:
    assert request.subagents is not None
    outputs = path / "outputs"
    context = ToolContext(request.session_id, request.cwd, request.roots, request.editor, request.known, outputs)
    return Subagent(context, request.subagents)


@asynccontextmanager
async def kit(
    path: Path,
    *scripts: Script,
    mode: Mode = Mode.AUTO,
    tools: Sequence[FakeTool] = (),
    inspectors: Sequence[Inspector] | None = None,
    store: Callable[[Path], Store] = new_store,
    hooks: Hooks | None = None,
    commands: Commands | None = None,
    run_command: RunCommand | None = None,
    subagents: bool = False,
    title: Callable[[str], Awaitable[Titled]] | None = None,
    **policy: Any,
) -> AsyncIterator[Kit]:
    """A session in `path` whose model knows `scripts`. Without `inspectors` it has the permission inspector; the tool
    that starts subagents only with `subagents`."""
    before = asyncio.all_tasks()
    known = {t.spec.name: t for t in (*(FakeTool(s) for s in TOOLS), *tools)}
    model, editor, boxes, forgotten = FakeModel(*scripts), FakeEditor(), [], []
    chain = [PermissionInspector()] if inspectors is None else list(inspectors)

    def toolbox(request: ToolboxRequest) -> FakeToolbox:
        more = [subagent_tool(request, path)] if subagents and request.subagents is not None else []
        boxes.append(FakeToolbox((*known.values(), *more), request.notice))
        return boxes[-1]

    async def verdict(inspection: Inspection) -> Inspected:
        return await inspect(inspection, chain)

    def model_of(name: str) -> Model:
        return evolve(MODEL, id=name)

    (path / "work").mkdir(exist_ok=True)
    runner = CommandRunner()
    real = store(path / "quillback.db")
    services = Services(
        store=real,
        model=model_of,
        provider=lambda _: model,
        toolbox=toolbox,
        system=lambda record: f"You work in {record.cwd}.",
        inspect=verdict,
        rule=narrowest,
        new_id=IdSource(),
        now=partial(random.randrange, 10**12, 2 * 10**12),  # times never order anything
        jitter=lambda: 0.0,
        opened=lambda _: None,
        forgotten=forgotten.append,
        restore=restorer,
        small_model=lambda: model_of("small"),
        models=lambda: ["m1", "m2"],
        run_command=run_command or runner,
        hooks=lambda _: hooks or NoHooks(),
        commands=lambda request: commands or NoCommands(),
        policy=Policy(**policy),
        title=title,
    )
    sessions = Sessions(services, evolve(DEFAULTS, mode=mode), editor)
    session = await sessions.new(str(path / "work"))
    one = Kit(sessions, session, real, model, known, boxes, editor, str(path / "work"), services, forgotten)
    try:
        yield one
    finally:
        await sessions.close_all()
        await runner.close()
        await real.close()
    assert model.open == 0, "a stream of the model is still open"
    assert editor.open == 0, "a question is still open"
    assert all(box.closed for box in boxes)
    left = asyncio.all_tasks() - before
    assert not left, left
