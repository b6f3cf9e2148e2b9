"""A model, tools and an editor for sessions under test, which do as the test says."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Any

from attrs import define, field

from quillback.core.message import JsonObject, Text
from quillback.core.model import ModelRequest, ProviderEvent, ToolSpec
from quillback.core.ports import (
    Access,
    Choice,
    EditorCapabilities,
    PermissionAsk,
    Tool,
    ToolOutcome,
    ToolProgress,
)
from quillback.core.prompts import NoPrompts
from support.strict import faults, wrong_marks

SOON = 5.0
"""Seconds after which a test fails that waits for something."""


class Gate:
    """A place where something stops until the test opens it."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self._open = asyncio.Event()

    async def __call__(self) -> None:
        self.reached.set()
        await self._open.wait()

    async def wait(self) -> None:
        """Until something stands before it."""
        await asyncio.wait_for(self.reached.wait(), SOON)

    def open(self) -> None:
        self._open.set()


async def until(condition: Callable[[], object]) -> None:
    """Wait until `condition` holds."""
    async with asyncio.timeout(SOON):
        while not condition():
            await asyncio.sleep(0.001)


# ---------------------------------------------------------------- model

Item = ProviderEvent | Gate | BaseException
Script = Sequence[Item] | Callable[[ModelRequest], AsyncIterator[ProviderEvent]]


class FakeModel:
    """Answers each request with the next script: events to send, gates to stop at, exceptions to raise."""

    def __init__(self, *scripts: Script) -> None:
        self.scripts: list[Script] = list(scripts)
        self.requests: list[ModelRequest] = []
        self.open = 0

    def add(self, *scripts: Script) -> None:
        self.scripts += scripts

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        paused = request.messages[-1].role == "assistant"
        assert faults(request.messages, continuing=paused) == []
        assert wrong_marks(request) == []
        self.requests.append(request)
        assert self.scripts, "the model is asked more often than it has answers"
        script = self.scripts.pop(0)
        self.open += 1
        try:
            if callable(script):
                async for event in script(request):
                    yield event
                return
            for item in script:
                if isinstance(item, Gate):
                    await item()
                elif isinstance(item, BaseException):
                    raise item
                else:
                    yield item
        finally:
            self.open -= 1

    async def close(self) -> None:
        pass


# ---------------------------------------------------------------- tools

Body = Callable[["Run"], AsyncGenerator[ToolProgress | ToolOutcome, None]]


def outcome(text: str = "ok", **more: Any) -> ToolOutcome:
    return ToolOutcome(content=(Text(text),), **more)


def progress(text: str) -> ToolProgress:
    return ToolProgress((Text(text),))


async def at_once(run: "Run") -> AsyncGenerator[ToolProgress | ToolOutcome, None]:
    yield outcome(f"{run.tool.spec.name} {run.arguments.get('path', '')}".strip())


@define
class Run:
    """One call that was prepared; `access`, `shown` and `locations` are what the session looks at."""

    tool: "FakeTool"
    call_id: str
    arguments: JsonObject
    access: Access
    shown: tuple[Any, ...] = ()
    locations: tuple[Any, ...] = ()

    async def run(self) -> AsyncGenerator[ToolProgress | ToolOutcome, None]:
        self.tool.started.append(self.call_id)
        self.tool.log.append(("start", self.arguments.get("path", "")))
        try:
            async with aclosing(self.tool.body(self)) as items:
                async for item in items:
                    yield item
        finally:
            self.tool.log.append(("end", self.arguments.get("path", "")))


@define
class FakeTool:
    """Does what `body` says. Calls with one `path` touch one file. `before` is waited for while preparing."""

    spec: ToolSpec
    body: Body = at_once
    before: Callable[[JsonObject], Awaitable[None]] | None = None
    access: Callable[[JsonObject], Access] = field(default=lambda _: Access())
    started: list[str] = field(factory=list)
    log: list[tuple[str, str]] = field(factory=list)

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return frozenset({arguments["path"]}) if "path" in arguments else frozenset()

    async def prepare(self, call_id: str, arguments: JsonObject) -> Run:
        if self.before is not None:
            await self.before(arguments)
        return Run(self, call_id, arguments, self.access(arguments))


class FakeToolbox(NoPrompts):
    def __init__(self, tools: Iterable[Tool], notice: Callable[[str], None]) -> None:
        self.notice = notice
        self._tools = tuple(tools)
        self.closed = 0

    def tools(self) -> Sequence[Tool]:
        return self._tools

    async def ready(self) -> None:
        pass

    async def close(self) -> None:
        self.closed += 1


# ---------------------------------------------------------------- editor

Answer = Choice | Gate | BaseException


class FakeEditor:
    """Answers permission questions with `answers`, in order, and with `always` when there are none left."""

    def __init__(self) -> None:
        self.capabilities = EditorCapabilities()
        self.asks: list[PermissionAsk] = []
        self.answers: list[Answer | Sequence[Answer]] = []
        self.always: Choice | None = None
        self.titles: list[tuple[str, str]] = []
        self.sessions: list[str] = []  # which session each question was asked for
        self.open = 0
        self.most_open = 0

    async def ask_permission(self, session_id: str, ask: PermissionAsk) -> Choice:
        self.asks.append(ask)
        self.sessions.append(session_id)
        self.open += 1
        self.most_open = max(self.open, self.most_open)
        try:
            return await self._answer()
        finally:
            self.open -= 1

    def retitled(self, session_id: str, title: str) -> None:
        self.titles.append((session_id, title))

    async def _answer(self) -> Choice:
        given = self.answers.pop(0) if self.answers else self.always
        assert given is not None, "the editor is asked and has no answer"
        for step in given if isinstance(given, list | tuple) else [given]:
            if isinstance(step, Gate):
                await step()
            elif isinstance(step, BaseException):
                raise step
            else:
                return step
        raise AssertionError("an answer without a choice")
