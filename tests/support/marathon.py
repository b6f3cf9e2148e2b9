"""A long piece of work in one session: the model that has it done, and what it cost step after step.

    async with Marathon(steps=2_000, size=6_000) as model:
        async with agent(tmp_path, model.base_url, env=ENV) as a:
            session = await model.run(a, turns=[900, 50, 50])
            assert model.shown(replay) == model.wanted

Each step says something and calls one tool; the usage that is reported is that of the real size of the request.
"""

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from support.agent import Agent
from support.fake_model import FakeModel, Reply, Say, Think, Use
from support.fake_model.server import Seen
from support.measure import memory, processor_time

Json = dict[str, Any]
Body = Mapping[str, Any]
ENV = {"QUILLBACK_MODE": "auto", "QUILLBACK_THINKING": "low", "QUILLBACK_MAX_STEPS": "5000"}
BYTES_PER_TOKEN = 4
NOTES = 12
STEP = re.compile(r"STEP-(\d+)")
COMPACTED = "goes on from a summary"


@frozen
class Mark:
    """The agent when the request of a step has arrived: seconds, seconds of its processor time, MiB."""

    at: float
    used: float
    memory: float


class Marathon(FakeModel):
    """`size` is about how many bytes a step adds to the conversation. Requests are checked and not kept."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.marks: list[Mark] = []
        self.wanted: list[tuple[str, object]] = []
        self.sizes: list[int] = []
        self._size = size
        self._pid = 0
        self._left = 0
        self.side_reply = _summary

    async def run(self, a: Agent, turns: Iterable[int], session: str = "") -> str:
        """Prompt after prompt, each of so many steps. The session's id."""
        (a.workspace / "lines.txt").write_text("".join(f"{n:>6} {'x' * 53}\n" for n in range(1, 5_001)))
        self._pid = a.pid
        session = session or await a.session()
        for n, steps in enumerate(turns):
            self._left = steps
            self.wanted.append(("prompt", f"PROMPT-{n:04d} {'please ' * 20}".strip()))
            turn = await a.client.prompt(session, str(self.wanted[-1][1]))
            assert (turn.stop_reason, self._left) == ("end_turn", 0)
            _forget(a)
        return session

    def _reply(self, seen: Seen) -> Reply:
        size = len(seen.raw) // BYTES_PER_TOKEN
        self.marks.append(Mark(time.perf_counter(), processor_time(self._pid), memory(self._pid)))
        self.sizes.append(size)
        seen.raw, seen.body = b"", {"model": seen.body["model"]}
        self._left -= 1
        number = len(self.marks)
        text = f"STEP-{number:06d} {'word ' * (self._size // 20)}".strip()
        self.wanted.append(("text", text))
        pieces: list[Any] = [Think(f"thought {number}")] if number % 3 == 0 else []
        pieces.append(Say(text, 4))
        if self._left:
            use = self._use(number)
            self.wanted.append(("call", dict(use.input)))
            pieces.append(use)
        usage = {"input_tokens": 20, "cache_read_input_tokens": max(0, size - 20), "output_tokens": self._size // 10}
        return Reply(*pieces, usage=usage)

    def _use(self, number: int) -> Use:
        rows = max(1, self._size // 90)
        match number % 8:
            case 0 | 4 | 6:
                return Use("read_file", {"path": "lines.txt", "line": number % 4_000 + 1, "limit": rows})
            case 1:
                return Use("shell", {"command": f"seq -f 'run {number} row %g' {self._size // 25}"})
            case 2 | 5:
                path = f"note{number // 4 % NOTES}.txt"
                return Use("write_file", {"path": path, "content": f"note of {number}\n" + "text\n" * (rows * 4)})
            case _:
                items = [{"content": f"item {n}", "status": "pending"} for n in range(number, number + 4)]
                return Use("todo_write", {"items": items})

    # ------------------------------------------------------------ what came of it

    def cpu(self, first: int, last: int) -> float:
        """Seconds of the agent's processor time for one step, from one step to another."""
        return (self.marks[last - 1].used - self.marks[first - 1].used) / (last - first)

    def pace(self, first: int, last: int) -> list[float]:
        """Seconds from each step to the next, as the clock on the wall saw them."""
        return [b.at - a.at for a, b in zip(self.marks[first - 1 : last], self.marks[first:last], strict=False)]


def _summary(body: Body) -> Reply:
    numbers = STEP.findall(str(body["messages"]))
    return Reply(Say(f"Worked from {numbers[0]} to {numbers[-1]}." if numbers else "Nothing new."))


def _forget(a: Agent) -> None:
    """The client's record of the traffic would take more memory than all else."""
    a.client.log.clear()
    a.client.updates.clear()


def shown(updates: Sequence[Json]) -> list[tuple[str, object]]:
    """What a replay shows of a marathon, in order: prompts, texts and finished calls."""
    found: list[tuple[str, object]] = []
    for update in updates:
        match update["sessionUpdate"]:
            case "user_message_chunk":
                found.append(("prompt", update["content"]["text"].strip()))
            case "agent_message_chunk" if STEP.search(update["content"]["text"]):
                found.append(("text", update["content"]["text"].strip()))
            case "tool_call":
                found.append(("call", update.get("rawInput")))
    return found


def compactions(updates: Sequence[Json]) -> int:
    """How often the user was told that the conversation was summarised."""
    return sum(COMPACTED in str(u.get("content")) for u in updates if u["sessionUpdate"] == "agent_message_chunk")
