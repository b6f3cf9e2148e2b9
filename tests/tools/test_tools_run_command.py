"""Commands of the user's configuration: what they get, what is heard of them, and that nothing of them stays."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quillback.core.process import Ran
from quillback.tools.run_command import KEPT, CommandRunner
from support.fakes import until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def run() -> AsyncIterator[CommandRunner]:
    runner = CommandRunner(frozenset({"MY_SECRET"}))
    yield runner
    await runner.close()


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


async def pids_in(path: Path, count: int) -> list[int]:
    await until(lambda: path.exists() and len(path.read_text().split()) == count)
    return [int(word) for word in path.read_text().split()]


async def test_both_outputs_and_the_exit_code(run: CommandRunner, tmp_path: Path):
    ran = await run("cat; pwd; echo wrong >&2; exit 3", cwd=str(tmp_path), stdin="told\n", seconds=5)
    assert ran == Ran(3, f"told\n{tmp_path}\n", "wrong\n")


async def test_a_signal_is_a_negative_code(run: CommandRunner, tmp_path: Path):
    assert (await run("kill -9 $$", cwd=str(tmp_path), seconds=5)).code == -9


@pytest.mark.parametrize("command", ["wc -c", "true"])
async def test_more_than_a_pipe_takes_is_given_and_may_be_left_unread(run: CommandRunner, tmp_path: Path, command: str):
    ran = await run(command, cwd=str(tmp_path), stdin="x" * 1_000_000, seconds=5)
    assert (ran.code, ran.out.strip()) == (0, "1000000" if command == "wc -c" else "")


async def test_nothing_to_read_is_the_end_of_the_file(run: CommandRunner, tmp_path: Path):
    assert await run("cat; echo over", cwd=str(tmp_path), seconds=5) == Ran(0, "over\n")


async def test_long_output_keeps_head_and_tail(run: CommandRunner, tmp_path: Path):
    command = "echo begin; yes | head -c 3000000; echo end; (echo begin; yes no | head -c 3000000; echo end) >&2"
    ran = await run(command, cwd=str(tmp_path), seconds=10)
    for text in (ran.out, ran.err):
        assert text.startswith("begin\n")
        assert text.endswith("end\n")
        assert "characters omitted" in text
        assert len(text) < 2 * KEPT + 100


async def test_output_is_text_without_what_a_terminal_obeys(run: CommandRunner, tmp_path: Path):
    ran = await run(r"printf '\033[31mred\033[0m \377 \303\244'", cwd=str(tmp_path), seconds=5)
    assert ran.out == "red � ä"


async def test_keys_are_kept_back_and_variables_are_added(
    run: CommandRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    monkeypatch.setenv("MY_SECRET", "hidden")
    monkeypatch.setenv("QUILLBACK_HOME", "/q")
    monkeypatch.setenv("HARMLESS", "seen")
    ran = await run("env", cwd=str(tmp_path), env={"QUILLBACK_PROJECT_DIR": "/p"}, seconds=5)
    got = dict(line.partition("=")[::2] for line in ran.out.splitlines())
    assert got["HARMLESS"] == "seen"
    assert got["QUILLBACK_PROJECT_DIR"] == "/p"
    assert not {"ANTHROPIC_API_KEY", "MY_SECRET", "QUILLBACK_HOME"} & set(got)


async def test_no_other_handles_of_ours_are_open_in_it(run: CommandRunner, tmp_path: Path):
    ran = await run("ls /proc/$$/fd | tr '\\n' ' '", cwd=str(tmp_path), stdin="x", seconds=5)
    assert {"0", "1", "2"} <= set(ran.out.split()) <= {"0", "1", "2", "255"}


async def test_the_end_of_the_time_ends_all_of_it(run: CommandRunner, tmp_path: Path):
    pids = tmp_path / "pids"
    command = f"echo said; (setsid sleep 60 & echo $! >> {pids}; wait) & echo $! >> {pids}; echo $$ >> {pids}; wait"
    ran = await run(command, cwd=str(tmp_path), seconds=0.5)
    assert (ran.code, ran.out, ran.problem) == (None, "said\n", "it was ended after 0.5 s")
    assert not [pid for pid in await pids_in(pids, 3) if alive(pid)]


async def test_one_that_ignores_signals_is_killed(run: CommandRunner, tmp_path: Path):
    pids = tmp_path / "pids"
    ran = await run(f"trap '' INT TERM; echo $$ > {pids}; while :; do sleep 1; done", cwd=str(tmp_path), seconds=0.3)
    assert ran.code is None
    assert not [pid for pid in await pids_in(pids, 1) if alive(pid)]


async def test_a_cancel_ends_all_of_it(run: CommandRunner, tmp_path: Path):
    pids = tmp_path / "pids"
    command = f"sleep 60 & echo $! >> {pids}; echo $$ >> {pids}; wait"
    task = asyncio.ensure_future(run(command, cwd=str(tmp_path), stdin="x" * 1_000_000, seconds=60))
    running = await pids_in(pids, 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not any(map(alive, running)))


async def test_what_it_leaves_behind_is_not_waited_for_and_ends_with_it(run: CommandRunner, tmp_path: Path):
    pids = tmp_path / "pids"
    clock = asyncio.get_running_loop().time
    began = clock()
    ran = await run(f"sleep 60 & echo $! > {pids}; echo done", cwd=str(tmp_path), seconds=30)
    assert ran == Ran(0, "done\n")
    assert clock() - began < 5
    await until(lambda: not alive(int(pids.read_text())))


BAD = {
    "no directory": ({"cwd": "/does/not/exist"}, "No such file"),
    "NUL": ({"command": "echo \0"}, "NUL"),
    "NUL in a variable": ({"env": {"A": "\0"}}, "NUL"),
    "half a character": ({"command": "echo \ud800"}, "Unicode"),
}


@pytest.mark.parametrize("name", BAD)
async def test_what_cannot_be_started_says_why(run: CommandRunner, tmp_path: Path, name: str):
    given, why = BAD[name]
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    ran = await run(**{"command": "true", "cwd": str(tmp_path), "seconds": 5, **given})
    assert ran.code is None
    assert why in ran.problem
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


async def test_many_at_once(run: CommandRunner, tmp_path: Path):
    ran = await asyncio.gather(*(run(f"cat; exit {n}", cwd=str(tmp_path), stdin=str(n), seconds=20) for n in range(12)))
    assert [(r.code, r.out) for r in ran] == [(n, str(n)) for n in range(12)]


async def test_nothing_starts_after_the_end(tmp_path: Path):
    runner = CommandRunner()
    await runner.close()
    assert "closed" in (await runner("true", cwd=str(tmp_path), seconds=5)).problem
