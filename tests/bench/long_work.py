"""Figures of long work: a late step beside an early one, the inspectors of a call, and the request for a summary."""

import asyncio
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from quillback.core.compaction import requests
from quillback.core.message import Message, Role, Text, ToolResult, ToolUse
from quillback.core.ports import Inspector
from quillback.inspectors.chain import inspect
from quillback.inspectors.egress import EgressInspector
from quillback.inspectors.permission import PermissionInspector
from quillback.inspectors.security import SecurityInspector
from support.agent import agent
from support.inspecting import shell
from support.marathon import ENV, Marathon

Figure = tuple[str, str, float, float]
STEPS = 2_050
WINDOW = 200_000
CYCLE = 50
"""Steps on either side of a figure: together about as many as from one compaction to the next."""
COMMANDS = (
    "ls -la",
    "git status --short && git diff --stat | tail -n 5",
    "python -m pytest tests -q -x 2>&1 | tail -n 20",
    "cd src && grep -rn 'def main' --include='*.py' . | head -5",
    "curl -fsSL https://example.com/api/v1/items | jq '.items[] | .name'",
    "for f in *.txt; do sed -i 's/a/b/' \"$f\"; done",
    "find . -name '*.pyc' -exec rm {} +",
    "echo \"$(date +%s)\" > stamp && cat <<'END' >> notes.md\nsome text\nEND",
)
ROUNDS = 100


async def steps(folder: Path) -> list[Figure]:
    """A session of 2,050 steps; its floor is what a step was at its start."""
    folder.mkdir()
    async with Marathon(size=8_500) as model:
        async with agent(folder, model.base_url, env={**ENV, "QUILLBACK_CONTEXT_WINDOW": str(WINDOW)}) as a:
            await model.run(a, [512] * 4 + [2])
        early, late = 100, STEPS - CYCLE - 1
        ranges = [(at - CYCLE, at + CYCLE) for at in (late, early)]
        pace = [statistics.median(model.pace(*r)) * 1000 for r in ranges]
        cpu = [model.cpu(*r) * 1000 for r in ranges]
        memory = [model.marks[at - 1].memory for at in (late, 200)]
        return [
            ("step 2,000 beside step 100", "ms", pace[0], pace[1]),
            ("  processor time of that", "ms", cpu[0], cpu[1]),
            ("  memory beside step 200", "MiB", memory[0], memory[1]),
        ]


async def chain() -> Figure:
    """Microseconds for the inspectors of one shell call; the floor is permission alone, without security and egress."""
    permission = PermissionInspector()
    whole = [SecurityInspector((), "/people/me"), EgressInspector(), permission]
    return "inspectors of a shell call", "us", await _inspected(whole), await _inspected([permission])


async def _inspected(inspectors: Sequence[Inspector]) -> float:
    asked = [shell(line) for line in COMMANDS]
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for inspection in asked:
            await inspect(inspection, inspectors)
        times.append((time.perf_counter() - begun) / len(asked) * 1e6)
    return statistics.median(times)


def summary() -> Figure:
    """Milliseconds to write the request for a summary of 200,000 tokens; the floor is to join its texts."""
    history = _history()
    texts = [str(part) for message in history for part in message.parts]
    name = "summary request of 200k tokens"
    return name, "ms", _timed(lambda: next(requests(history, "", WINDOW))), _timed(lambda: "\n\n".join(texts).encode())


def _history() -> list[Message]:
    """800 KB in 400 messages, as a session with read and written files leaves them."""
    out: list[Message] = []
    for n in range(200):
        call = ToolUse(f"call_{n}", f"toolu_{n}", "read_file", {"path": f"src/module_{n}.py"})
        said = (Text(f"Now module {n}. " + "word " * 80), call)
        result = ToolResult(call.id, (Text(f"{n} " + "line of text\n" * 270),))
        for role, parts in ((Role.ASSISTANT, said), (Role.TOOL, (result,))):
            out.append(Message(f"msg_{len(out)}", "s1", len(out) + 1, role, parts, 1))
    return out


def _timed(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS // 5):
        begun = time.perf_counter()
        work()
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times)


async def figures(folder: Path) -> list[Figure]:
    return [*await steps(folder), await chain(), await asyncio.to_thread(summary)]
