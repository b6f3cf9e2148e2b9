"""Benchmarks: figures of a real agent process, each beside the floor measured in the same run.

Run by `make bench`. The floor is a bare Python agent that reads lines and answers (floor.py). Times are medians; CPU
and memory are the agent process's own, as the system counts them. Nothing is asserted: the machine's speed is not ours.
The figures of long work (long_work.py) have floors of their own; they take some minutes.
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from long_work import figures as long_work

from quillback_protocol.client import Client
from support.agent import ARGV, environment
from support.fake_model import FakeModel, Hang, Reply, Say

FLOOR = [sys.executable, str(Path(__file__).with_name("floor.py"))]
RUNS = 7
DELTAS = 20_000
TICK = os.sysconf("SC_CLK_TCK")
Figure = tuple[str, str, float, float]


class Bench:
    """One agent command under test; `real` says that it talks to the fake model."""

    def __init__(self, argv: Sequence[str], folder: Path, fake: FakeModel, *, real: bool) -> None:
        self.argv = argv
        self.real = real
        self._folder = folder
        self._fake = fake
        self._env = environment(folder, fake.base_url)

    async def start(self, stack: AsyncExitStack) -> Client:
        return await stack.enter_async_context(Client.spawn(self.argv, cwd=self._folder, env=self._env))

    async def ready(self, stack: AsyncExitStack) -> tuple[Client, str]:
        client = await self.start(stack)
        await client.initialize()
        answer = await client.new_session(self._folder)
        return client, str(answer["sessionId"])

    def script(self, *pieces: object) -> None:
        if self.real:
            self._fake.script("bench", Reply(*pieces))

    # ------------------------------------------------------------ figures

    async def initialize(self) -> float:
        async with AsyncExitStack() as stack:
            begun = time.perf_counter()
            await (await self.start(stack)).initialize()
            return (time.perf_counter() - begun) * 1000

    async def new_session(self) -> float:
        """From the start of the process to the answer of session/new."""
        async with AsyncExitStack() as stack:
            begun = time.perf_counter()
            await self.ready(stack)
            return (time.perf_counter() - begun) * 1000

    async def prompts(self) -> float:
        """One short turn of a warm process."""
        async with AsyncExitStack() as stack:
            client, session = await self.ready(stack)
            times = []
            for _ in range(RUNS + 1):
                self.script(Say("fine"))
                begun = time.perf_counter()
                await client.prompt(session, "one [[bench]]")
                times.append((time.perf_counter() - begun) * 1000)
            return statistics.median(times[1:])

    async def deltas(self) -> tuple[float, float]:
        """CPU microseconds for one delta of a long reply, and MiB of memory afterwards."""
        async with AsyncExitStack() as stack:
            client, session = await self.ready(stack)
            self.script(Say("fine"))
            await client.prompt(session, "one [[bench]]")
            self.script(Say("word " * DELTAS, DELTAS))
            pid = _pid(client)
            before = _cpu(pid)
            await client.prompt(session, f"deltas {DELTAS} [[bench]]")
            return (_cpu(pid) - before) / DELTAS * 1e6, _rss(pid)

    async def cancels(self) -> float:
        """From session/cancel in mid-stream to the answer of the prompt."""
        async with AsyncExitStack() as stack:
            client, session = await self.ready(stack)
            times = []
            for _ in range(RUNS):
                self.script(Say("some words ", 3), Hang())
                turn = await client.start_prompt(session, "hang [[bench]]")
                await turn.until(lambda update: update["sessionUpdate"] == "agent_message_chunk")
                begun = time.perf_counter()
                client.cancel(session)
                await turn.finished()
                times.append((time.perf_counter() - begun) * 1000)
            return statistics.median(times)


def _pid(client: Client) -> int:
    transport = client._process._transport
    assert transport is not None
    return int(transport.get_pid())


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def _rss(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


async def _median(measure: Callable[[], Awaitable[float]]) -> float:
    await measure()
    return statistics.median([await measure() for _ in range(RUNS)])


async def _figures(ours: Bench, floor: Bench) -> list[Figure]:
    rows: list[Figure] = []
    rows.append(("start to initialize", "ms", await _median(ours.initialize), await _median(floor.initialize)))
    rows.append(("start to session/new", "ms", await _median(ours.new_session), await _median(floor.new_session)))
    rows.append(("prompt overhead", "ms", await ours.prompts(), await floor.prompts()))
    (cpu, rss), (floor_cpu, floor_rss) = await ours.deltas(), await floor.deltas()
    rows.append(("CPU for a delta", "us", cpu, floor_cpu))
    rows.append((f"memory after {DELTAS} deltas", "MiB", rss, floor_rss))
    rows.append(("cancel to answer", "ms", await ours.cancels(), await floor.cancels()))
    return rows


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with FakeModel() as fake:
            ours = Bench(ARGV, Path(folder), fake, real=True)
            rows = await _figures(ours, Bench(FLOOR, Path(folder), fake, real=False))
        rows += await long_work(Path(folder) / "long")
    print(f"{'figure':32}{'quillback':>14}{'floor':>14}{'ratio':>9}")
    for name, unit, value, floor in rows:
        print(f"{name:32}{value:>10.1f} {unit:3}{floor:>10.1f} {unit:3}{value / floor if floor else 0:>8.1f}x")


asyncio.run(main())
