import asyncio
import time
import uuid

import pytest

from quillback.core.message import PlanEntry
from support.processes import running, until
from support.toolroom import Room, text

pytestmark = pytest.mark.anyio


async def start(room: Room, command: str) -> str:
    started = time.monotonic()
    outcome = await room.call("shell", command=command, background=True)
    assert time.monotonic() - started < 0.5
    name = next(word.rstrip(".") for word in text(outcome).split() if word.startswith("job_"))
    assert not outcome.is_error
    return name


async def test_a_job_gives_its_output_piece_by_piece(room: Room):
    go = room.workspace / "go"
    job = await start(room, f"echo one; until [ -e {go} ]; do sleep 0.02; done; echo two; exit 4")
    assert job == "job_1"
    assert await room.text("shell_output", job=job, wait=5) == "one\n[running]"
    assert await room.text("shell_output", job=job) == "(no new output)\n[running]"
    go.touch()
    assert await room.text("shell_output", job=job, wait=5) == "two\n[exit code 4]"
    assert await room.text("shell_output", job=job, wait=5) == "(no new output)\n[exit code 4]"


async def test_a_job_without_output(room: Room):
    job = await start(room, "true")
    assert await room.text("shell_output", job=job, wait=5) == "(no output)\n[ended, exit code 0]"


async def test_waiting_ends_with_the_time(room: Room):
    job = await start(room, "sleep 30")
    started = time.monotonic()
    assert await room.text("shell_output", job=job, wait=0.3) == "(no output)\n[running]"
    assert 0.25 < time.monotonic() - started < 0.8


async def test_a_line_without_its_end_is_given(room: Room):
    job = await start(room, "printf 'listening on 8080'; sleep 30")
    assert await room.text("shell_output", job=job, wait=5) == "listening on 8080\n[running]"


async def test_much_output_is_bounded(room: Room):
    job = await start(room, "seq 1 50000")
    result = await room.text("shell_output", job=job, wait=5)
    assert len(result) <= 30_000
    assert "the whole is in" in result
    assert result.endswith(("50000\n[ended, exit code 0]", "50000\n[running]"))


async def test_killing(room: Room):
    mark = f"{uuid.uuid4().int % 10**6}.25"
    job = await start(room, f"echo hello; trap '' INT; sleep {mark}")
    assert await until(lambda: running(f"sleep {mark}"))
    result = await room.text("shell_kill", job=job)
    assert "hello" in result
    assert f"{job} was ended" in result
    assert not running(mark)
    assert "already ended" in await room.text("shell_kill", job=job)
    assert "SIGTERM" in await room.text("shell_output", job=job)


async def test_unknown_jobs_name_those_there_are(room: Room):
    assert "none was started" in await room.refused("shell_output", job="job_9")
    await start(room, "sleep 30")
    reason = await room.refused("shell_kill", job="job_9")
    assert "job_1 (sleep 30) [running]" in reason


async def test_twenty_at_most(room: Room):
    for _ in range(20):
        await start(room, "sleep 30")
    assert "20 jobs are running" in await room.refused("shell", command="true", background=True)
    await room.call("shell_kill", job="job_7")
    assert await start(room, "true") == "job_21"


async def test_ended_jobs_are_forgotten_in_the_end(room: Room):
    for n in range(1, 56):
        job = await start(room, "true")
        assert job == f"job_{n}"
        await room.call("shell_output", job=job, wait=5)
    assert "there is no job" in await room.refused("shell_output", job="job_1")
    assert await room.text("shell_output", job="job_55")


async def test_a_cancelled_wait_leaves_the_job(room: Room):
    job = await start(room, "sleep 30")
    task = asyncio.ensure_future(room.call("shell_output", job=job, wait=30))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "[running]" in await room.text("shell_output", job=job)


async def test_specs(room: Room):
    assert room.tool("shell_output").spec.polling
    assert room.tool("shell_output").spec.read_only
    assert not room.tool("shell_kill").spec.read_only
    assert room.tool("shell_output").spec.describe({"job": "job_1"}).title == "Output of job_1"
    assert room.tool("shell_kill").spec.describe({}).title == "End a job"
    await start(room, "true")
    with pytest.raises(Exception, match="between 0 and 60"):
        await room.tool("shell_output").prepare("c", {"job": "job_1", "wait": 61})


async def test_the_plan(room: Room):
    items = [
        {"content": "first\nstep", "status": "completed", "priority": "high"},
        {"content": "second", "status": "in_progress"},
        {"content": "third", "status": "pending", "priority": "low"},
    ]
    outcome = await room.call("todo_write", items=items)
    assert outcome.plan == (
        PlanEntry("first step", "completed", "high"),
        PlanEntry("second", "in_progress", "medium"),
        PlanEntry("third", "pending", "low"),
    )
    assert text(outcome) == "[x] first step\n[>] second\n[ ] third"
    cleared = await room.call("todo_write", items=[])
    assert cleared.plan == ()
    assert text(cleared) == "The plan is empty."


@pytest.mark.parametrize(
    "items",
    [
        None,
        "x",
        [5],
        [{"content": " ", "status": "pending"}],
        [{"content": "a"}],
        [{"content": "a", "status": "done"}],
        [{"content": "a", "status": "pending", "priority": "urgent"}],
        [{"content": "a", "status": []}],
        [{"content": "a", "status": "pending"}] * 101,
    ],
)
async def test_plans_that_are_none(room: Room, items: object):
    with pytest.raises(Exception, match="item"):
        await room.tool("todo_write").prepare("c", {"items": items})
