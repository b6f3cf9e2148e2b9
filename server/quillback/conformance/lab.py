"""Where rules find the agent: one run that most of them share, and fresh runs for those that need one."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from quillback.conformance.host import EVERYTHING, NOTHING, PERMISSION, Answer, Host
from quillback.conformance.rule import Hindrance
from quillback.conformance.session import AgentRun, Blocked, Turn
from quillback.conformance.trace import Trace
from quillback.conformance.wire import Gone, Wire
from quillback_protocol.jsonrpc import JsonObject

PROMPT = "Please answer with the single word hello, and do nothing else."
LONG_PROMPT = "Please count slowly from one to five hundred in words, each on a line of its own. Use no tools."
QUIET = 0.3


@frozen
class Options:
    """`prompts` are played as they are; `long_prompt` is to be cancelled. Times are seconds."""

    command: Sequence[str]
    cwd: Path
    prompts: Sequence[str] = (PROMPT,)
    long_prompt: str = LONG_PROMPT
    policy: Answer = "allow"
    timeout: float = 10.0
    quiet: float = QUIET


@define(eq=False)
class Lab:
    options: Options
    runs: list[AgentRun] = field(factory=list)
    _shared: AgentRun | None = None
    _played: bool = False

    async def spawn(self, offered: JsonObject = NOTHING) -> AgentRun:
        """A fresh run, not initialized. Raises OSError."""
        wire = await Wire.spawn(self.options.command, offered)
        host = Host(wire, self.options.cwd, self.options.policy)
        wire.on_request = host.on_request
        run = AgentRun(wire, host, self.options.timeout, self.options.quiet)
        self.runs.append(run)
        return run

    async def shared(self) -> AgentRun:
        """The initialized run that rules share; a new one when it has died. Raises Blocked."""
        if self._shared is None or not self._shared.wire.alive:
            self._shared = await self.spawn()
            await self._shared.initialize()
        return self._shared

    async def drop(self) -> None:
        """The shared run is in an unknown state: end it, the next rule gets another."""
        run, self._shared = self._shared, None
        if run:
            await run.wire.stop(1.0)

    @asynccontextmanager
    async def fresh(self, offered: JsonObject = NOTHING, *, initialize: bool = True) -> AsyncIterator[AgentRun]:
        """A run for one rule alone."""
        run = await self.spawn(offered)
        try:
            if initialize:
                await run.initialize()
            yield run
        finally:
            await run.wire.stop(1.0)

    async def close(self) -> None:
        for run in self.runs:
            await run.wire.stop(1.0)

    async def turns(self) -> list[Turn]:
        """The prompts of the options, played one after the other in a session of the shared run. Raises Blocked."""
        run = await self.shared()
        if run.turns is None:
            session = await run.session()
            turns = [await run.turn(session, prompt) for prompt in self.options.prompts]
            await run.settle()
            run.turns = turns
        return run.turns

    async def play_all(self) -> None:
        """See that there is something for rules that only watch: the prompts, for clients that offer nothing, and for
        one that offers everything."""
        if self._played:
            return
        self._played = True
        try:
            await self.turns()
            async with self.fresh(EVERYTHING) as run:
                session = await run.session()
                for prompt in self.options.prompts:
                    await run.turn(session, prompt)
                await run.settle()
        except (Blocked, Gone):
            return

    def trace(self) -> Trace:
        return Trace([run.wire for run in self.runs])

    async def capability(self, *path: str) -> Any:  # noqa: ANN401 - as the agent sent it
        """What the agent declares at a path below `agentCapabilities`; None where it does not. Raises Blocked."""
        run = await self.shared()
        found: Any = run.initialized.get("agentCapabilities")
        for part in path:
            found = found.get(part) if isinstance(found, dict) else None
        return found if found is not False else None

    async def asking_prompt(self) -> str:
        """The first prompt that makes the agent ask for permission. Raises Blocked."""
        turns = await self.turns()
        run = await self.shared()
        for prompt, turn in zip(self.options.prompts, turns, strict=True):
            for entry in run.wire.log[turn.start : turn.end]:
                match entry.message:
                    case {"method": method, "id": _} if method == PERMISSION:
                        return prompt
        raise Blocked(
            "no prompt made the agent ask for permission; give it one with --prompt that does", Hindrance.NOTHING_SEEN
        )
