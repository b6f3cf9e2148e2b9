"""Drives sessions of one real process in random orders, life after life, and says what they must have kept."""

import asyncio
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from attrs import define, field

from quillback_protocol.client import PromptTurn
from quillback_protocol.outgoing import ConnectionClosedError, RemoteError
from support.agent import Agent, calls, texts
from support.chaos import verdict
from support.play import kill

Json = dict[str, Any]
FLUSH = 0.25  # fifty milliseconds are promised; slack for a busy machine
PATIENCE = 1.0
"""Seconds that a prompt gets before it is cancelled, and then as many times more to be answered."""
COMMANDS = ["/compact", "/compact {}", "/clear", "/undo", "/goal {}", "/grind {}", "/cost", "/mode auto", "/nothing"]
MODES = ["auto", "auto", "auto", "approve", "smart", "chat"]


@define
class Actor:
    """What one session was told. `due` are the words that must be in its stream, `sent` those that may be."""

    id: str
    name: str
    due: list[str] = field(factory=list)
    sent: list[str] = field(factory=list)
    turns: list[PromptTurn] = field(factory=list)


class Interleaving:
    """`steps` tells what was done so far, for whoever has to look into it."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(f"{seed} driver")
        self.steps: list[str] = []
        self.actors: list[Actor] = []
        self._count = 0

    async def life(self, a: Agent, sessions: int, steps: int, *, end: str) -> None:
        """One process from its start to the moment before its end, which is `settled`, `eof` or `killed`."""
        for actor in self.actors:
            await self.check(a, actor)
        while len(self.actors) < sessions:
            self.actors.append(Actor(await a.session(), f"s{len(self.actors)}"))
        for _ in range(steps):
            actor = self.rng.choice(self.actors)
            await self._step(a, actor)
            await asyncio.sleep(self.rng.choice([0, 0, 0.01, 0.05, 0.2]))
        self.steps.append(end)
        if end == "settled":
            await asyncio.gather(*(self._settle(a, actor) for actor in self.actors))
            for actor in self.actors:
                await self.check(a, actor)
        elif end == "killed":
            if self.rng.random() < 0.5:
                await self._kept(a)
                self.steps.append("what was sent is on disk")
            await kill(a)
        else:
            await self._kept(a)
        for actor in self.actors:
            if end == "killed":
                assert not await _answered(actor.turns, PATIENCE), "a prompt is not told of the end"
            actor.turns.clear()

    async def _kept(self, a: Agent) -> None:
        """All that was sent so far has reached the disk."""
        await a.client.request("session/list", {})
        await asyncio.sleep(FLUSH)
        for actor in self.actors:
            actor.due += actor.sent
            actor.sent.clear()

    # ------------------------------------------------------------ steps

    async def _step(self, a: Agent, actor: Actor) -> None:
        kinds = {
            self._prompt: 8,
            self._command: 3,
            self._steer: 5,
            self._cancel: 3,
            self._withdraw: 1,
            self._set_mode: 2,
            self._undo: 1,
            self._load: 1,
            self._wait: 4,
        }
        (kind,) = self.rng.choices(list(kinds), list(kinds.values()))
        await kind(a, actor)

    def _words(self, actor: Actor, text: str) -> str:
        self._count += 1
        word = f"word{self._count}."
        self.steps.append(f"{actor.name}: {text.format(word)!r}")
        return word

    async def _prompt(self, a: Agent, actor: Actor, text: str = "{}") -> None:
        text = f"{text} [[t{self._count}]] {verdict(self.rng, 'submit', 'start')}"
        word = self._words(actor, text)
        actor.sent.append(word)
        await self._start(a, actor, text.format(word))

    async def _command(self, a: Agent, actor: Actor) -> None:
        command = self.rng.choice(COMMANDS)
        if command.endswith("{}"):
            await self._prompt(a, actor, f"{command} {verdict(self.rng, 'compact')}")
            return
        self.steps.append(f"{actor.name}: {command}")
        await self._start(a, actor, command)

    async def _start(self, a: Agent, actor: Actor, text: str) -> None:
        turn = await a.client.start_prompt(actor.id, text)
        assert turn.task is not None
        turn.task.add_done_callback(lambda task: task.cancelled() or task.exception())  # an error is an answer, too
        actor.turns.append(turn)

    async def _steer(self, a: Agent, actor: Actor) -> None:
        text = f"steer {{}} {verdict(self.rng, 'submit')}"
        word = self._words(actor, text)
        words = [{"type": "text", "text": text.format(word)}]
        try:
            await a.client.request("_quillback/session/steer", {"sessionId": actor.id, "prompt": words}, 10)
        except RemoteError as error:
            self.steps.append(f"  refused: {error}")
        else:
            actor.due.append(word)

    async def _cancel(self, a: Agent, actor: Actor) -> None:
        self.steps.append(f"{actor.name}: cancel")
        a.client.cancel(actor.id)

    async def _withdraw(self, a: Agent, actor: Actor) -> None:
        """Take back one prompt of several; its answer is not waited for, but it must come."""
        running = [turn for turn in actor.turns if turn.task is not None and not turn.task.done()]
        if running:
            turn = self.rng.choice(running)
            self.steps.append(f"{actor.name}: withdraw prompt {actor.turns.index(turn)}")
            assert turn.task is not None
            turn.task.cancel()
            actor.turns.remove(turn)

    async def _set_mode(self, a: Agent, actor: Actor) -> None:
        mode = self.rng.choice(MODES)
        self.steps.append(f"{actor.name}: mode {mode}")
        await a.client.request("session/set_mode", {"sessionId": actor.id, "modeId": mode}, 10)

    async def _undo(self, a: Agent, actor: Actor) -> None:
        self.steps.append(f"{actor.name}: undo")
        with suppress(RemoteError):
            await a.client.request("_quillback/session/undo", {"sessionId": actor.id}, 10)

    async def _load(self, a: Agent, actor: Actor) -> None:
        self.steps.append(f"{actor.name}: load")
        await a.client.load_session(actor.id, a.workspace)

    async def _wait(self, a: Agent, actor: Actor) -> None:
        self.steps.append(f"{actor.name}: wait")
        if actor.turns:
            await _answered(actor.turns, PATIENCE)

    # ------------------------------------------------------------ what must hold

    async def _settle(self, a: Agent, actor: Actor) -> None:
        """Every prompt is answered: by itself, or at the latest after a cancel."""
        if await _answered(actor.turns, PATIENCE):
            self.steps.append(f"{actor.name}: cancel what is left")
            a.client.cancel(actor.id)
        late = await _answered(actor.turns, 6 * PATIENCE)
        assert not late, f"{actor.name}: no answer to {[turn.updates[-3:] for turn in late]}"
        actor.due += actor.sent
        actor.sent.clear()

    async def check(self, a: Agent, actor: Actor) -> None:
        """What a load shows: all words of the user once, and no call that is open."""
        await a.client.load_session(actor.id, a.workspace)
        once = await self._replayed(a, actor)
        said = Counter(word for text in texts(once, "user_message_chunk").values() for word in text.split())
        wrong = {w: said[w] for w in actor.due if said[w] != 1} | {w: said[w] for w in actor.sent if said[w] > 1}
        assert not wrong, f"{actor.name}: words lost or doubled: {wrong} in {said}"
        actor.due += [word for word in actor.sent if said[word]]
        actor.sent.clear()
        left = [call for call in calls(once).values() if call["status"] not in ("completed", "failed")]
        assert not left, f"{actor.name}: open calls"
        assert await self._replayed(a, actor) == once

    async def _replayed(self, a: Agent, actor: Actor) -> list[Json]:
        before = len(a.client.updates.get(actor.id, []))
        await a.client.load_session(actor.id, a.workspace)
        kinds = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update")
        return [u for u in a.client.updates.get(actor.id, [])[before:] if u["sessionUpdate"] in kinds]


async def _answered(turns: list[PromptTurn], seconds: float) -> list[PromptTurn]:
    """Those of the prompts that have no answer in time."""
    tasks = {turn.task: turn for turn in turns if turn.task is not None}
    if not tasks:
        return []
    done, late = await asyncio.wait(tasks, timeout=seconds)
    for task in done:
        if not task.cancelled() and (error := task.exception()) is not None:
            assert isinstance(error, RemoteError | ConnectionClosedError), error
    return [tasks[task] for task in late]


def unanswered(log: list[tuple[str, object]]) -> dict[str, int]:
    """How many answers each prompt of a client's log got, where that is not one."""
    asked = [m["id"] for d, m in log if d == "->" and isinstance(m, dict) and m.get("method") == "session/prompt"]
    answers = Counter(m.get("id") for d, m in log if d == "<-" and isinstance(m, dict) and "method" not in m)
    return {str(id_): answers[id_] for id_ in asked if answers[id_] != 1}


def files(folder: Path) -> None:
    """What the calls of the model find."""
    folder.mkdir(exist_ok=True)
    for name in "abc":
        (folder / f"{name}.txt").write_text("1\n")
