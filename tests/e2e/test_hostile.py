"""What an editor, a system or another program can do to the process from outside: it stays small, answers and ends."""

import asyncio
import base64
import json
import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from quillback_protocol.outgoing import RemoteError
from support.agent import Agent, agent, environment, processes, scripted, texts
from support.fake_model import FakeModel, Hang, Reply, Say, Use, Wait
from support.measure import memory
from support.pipe import INITIALIZE, Pipe, pipe, prompt
from support.processes import until
from support.requests import last_request, user_text

pytestmark = pytest.mark.anyio
NOBODY = "http://127.0.0.1:9"
AUTO = {"QUILLBACK_MODE": "auto"}
END = 5.0  # seconds that are promised for the end of the process


def new(workspace: Path, request_id: object = "new") -> dict:
    return {"id": request_id, "method": "session/new", "params": {"cwd": str(workspace), "mcpServers": []}}


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def errors_of(p: Pipe) -> str:
    return (await p.process.stderr.read()).decode()


# ---------------------------------------------------------------- the end


@pytest.mark.parametrize("end", ["the input ends", "SIGTERM"])
async def test_a_locked_database_delays_neither_the_end_nor_the_answer(tmp_path, end):
    async with pipe(tmp_path, NOBODY, **scripted(tmp_path, "text: hello\n---\ntext: again\n")) as p:
        session = await p.session()
        await p.send(prompt(session, "one", "first"))
        await p.answer("first")
        path = tmp_path / "home/quillback/quillback.db"
        with closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as holder:
            holder.execute("BEGIN EXCLUSIVE")
            await p.send(prompt(session, "two"), {"id": "waits", "method": "session/list", "params": {}})
            await asyncio.sleep(0.3)  # it waits for the lock by now, and shows no sign of that
            begun = time.monotonic()
            if end == "SIGTERM":
                p.process.send_signal(signal.SIGTERM)
            else:
                p.close_input()
            error = (await p.answer("prompt"))["error"]
            assert time.monotonic() - begun < 3
            assert await p.ended() == 0
            assert time.monotonic() - begun < END + 0.5
        assert "Not saved: 1 x message" in error["message"]
        assert "waits" in [line.get("id") for line in p.lines]
        log = await errors_of(p)
        assert "at the end: Not saved" in log
        assert "Traceback" not in log


HANGS = {
    "a thread": "import threading\nthreading.Thread(target=threading.Event().wait, name='hangs').start()\n",
    "a worker of the loop": """
import asyncio, threading
real = asyncio.to_thread

def first(*arguments, **named):
    asyncio.to_thread = real
    asyncio.get_running_loop().run_in_executor(None, threading.Event().wait)
    return real(*arguments, **named)

asyncio.to_thread = first
""",
}


@pytest.mark.parametrize("what", HANGS)
async def test_what_hangs_does_not_keep_the_process(tmp_path, what):
    (tmp_path / "patched").mkdir()
    (tmp_path / "patched/sitecustomize.py").write_text(HANGS[what])
    paths = os.pathsep.join([str(tmp_path / "patched"), environment(tmp_path, NOBODY).get("PYTHONPATH", "")])
    async with pipe(tmp_path, NOBODY, PYTHONPATH=paths) as p:
        await p.session()
        begun = time.monotonic()
        p.close_input()
        assert await p.ended() == 0
        assert time.monotonic() - begun < END + 0.5
        assert await errors_of(p) == ""


async def test_what_came_right_before_the_end_is_answered_and_carried_out(tmp_path):
    async with pipe(tmp_path, NOBODY) as p:
        await p.send(INITIALIZE, new(p.workspace, 1), new(p.workspace, 2))
        p.close_input()
        one, two = (await p.answer(1))["result"], (await p.answer(2))["result"]
        assert await p.ended() == 0
        assert await errors_of(p) == ""
    async with agent(tmp_path) as a:
        listed = (await a.client.request("session/list"))["sessions"]
        assert {s["sessionId"] for s in listed} == {one["sessionId"], two["sessionId"]}


async def test_what_comes_during_the_end_gets_a_clear_error_or_nothing(tmp_path):
    async with pipe(tmp_path, NOBODY) as p:
        await p.session()
        p.process.send_signal(signal.SIGTERM)
        sent = 0
        while p.process.returncode is None and sent < 2000:
            try:
                await p.send(new(p.workspace, sent))
            except (BrokenPipeError, ConnectionResetError):
                break
            sent += 1
            await asyncio.sleep(0)
        assert await p.ended() == 0
        assert sent
        answers = [line for line in p.lines if isinstance(line.get("id"), int)]
        assert {a["error"]["message"] for a in answers if "error" in a} <= {"Quillback is shutting down"}
        assert "Traceback" not in await errors_of(p)


# ---------------------------------------------------------------- an editor that does not read


async def test_an_editor_that_does_not_read_the_log_holds_nothing_up(tmp_path):
    async with pipe(tmp_path, NOBODY) as p:
        await p.send(INITIALIZE)
        bad = {"method": "session/cancel", "params": {"sessionId": 5}}
        await p.send(*[bad] * 20_000)
        await p.send({"id": "after", "method": "session/list", "params": {}})
        assert (await p.answer("after"))["result"] == {"sessions": []}
        p.close_input()
        assert await until(lambda: gone(p.process.pid), END)
        assert "bad notification" in await errors_of(p)
        assert await p.ended() == 0


async def test_a_log_that_is_read_late_says_what_is_missing(tmp_path):
    async with pipe(tmp_path, NOBODY) as p:
        await p.send(INITIALIZE)
        await p.send(*[{"method": "session/cancel", "params": {"sessionId": 5}}] * 20_000)
        await p.send({"id": "after", "method": "session/list", "params": {}})
        await p.answer("after")
        p.close_input()
        log = await errors_of(p)
        assert "bad notification session/cancel" in log
        assert "pieces of the log were dropped" in log
        assert await p.ended() == 0


FLOODS = {
    "unknown methods": {"method": "_x/none", "id": "x" * 2000},
    "unknown sessions": {"method": "session/close", "params": {"sessionId": "y" * 2000}},
    "lists": {"method": "session/list", "params": {}},
    "few lists": {"method": "session/list", "params": {}},
}
MOST = {"unknown methods": 30_000, "unknown sessions": 30_000, "lists": 60_000, "few lists": 4_000}  # requests


async def flood(p: Pipe, kind: str) -> int:
    """Send requests whose answers nobody reads; how many. That it can send them all shows that they are read."""
    for start in range(0, MOST[kind], 100):
        numbers = range(start, start + 100)
        batch = [{**FLOODS[kind], "id": f"{n}-{FLOODS[kind].get('id', '')}"} for n in numbers]
        await asyncio.wait_for(p.send(*batch), 10.0)
    return MOST[kind]


@pytest.mark.parametrize("kind", FLOODS)
async def test_a_flood_that_nobody_reads_the_answers_of_costs_little_and_hides_no_cancel(
    tmp_path, fake: FakeModel, kind
):
    fake.script("a", Reply(Say("word " * 20_000, 20_000, 0.005)))
    async with pipe(tmp_path, fake.base_url) as p:
        session = await p.session()
        await p.send(prompt(session, "[[a]]"))
        while "agent_message_chunk" not in str(await p.line()):
            pass
        before = memory(p.process.pid)
        sent = await flood(p, kind)
        await p.send({"method": "session/cancel", "params": {"sessionId": session}})
        assert await until(fake.requests[0].ended.is_set, 10)
        assert memory(p.process.pid) - before < 60
        p.listen()
        answer = await p.answer("prompt")
        assert answer["result"]["stopReason"] == "cancelled"
        await p.send({"id": "after", "method": "session/list", "params": {}})
        assert len((await p.answer("after"))["result"]["sessions"]) == 1
        answers = [line for line in p.lines if "-" in str(line.get("id"))]
        told = {line["error"]["message"] for line in answers if "error" in line}
        assert len({line["id"] for line in answers}) == len(answers) <= sent
        assert kind == "few lists" or "too much is unanswered or unread" in str(told)
        assert kind != "few lists" or len(answers) == sent
        p.close_input()
        assert await p.ended() == 0
        assert "Traceback" not in await errors_of(p)


@pytest.mark.parametrize("end", ["the input ends", "SIGTERM"])
async def test_a_flood_that_nobody_reads_the_answers_of_hides_no_end(tmp_path, end):
    async with pipe(tmp_path, NOBODY) as p:
        await p.session()
        await flood(p, "lists")
        begun = time.monotonic()
        if end == "SIGTERM":
            p.process.send_signal(signal.SIGTERM)
        else:
            p.close_input()
        assert await until(lambda: gone(p.process.pid), END + 1)
        assert time.monotonic() - begun < END


@pytest.mark.parametrize("end", ["a cancel", "the input ends", "SIGTERM"])
async def test_a_huge_reply_that_nobody_reads_hides_nothing(tmp_path, fake: FakeModel, end):
    fake.script("a", Reply(Say("word " * 2_500_000, 100), Hang()))
    async with pipe(tmp_path, fake.base_url) as p:
        session = await p.session()
        await p.send(prompt(session, "[[a]]"))
        await fake.received(1)
        before = memory(p.process.pid)
        assert await until(lambda: memory(p.process.pid) - before > 4, 20)  # some of the twelve stay in the socket
        begun = time.monotonic()
        match end:
            case "a cancel":
                await p.send({"method": "session/cancel", "params": {"sessionId": session}})
            case "SIGTERM":
                p.process.send_signal(signal.SIGTERM)
            case _:
                p.close_input()
        assert await until(fake.requests[0].ended.is_set, END)
        if end == "a cancel":
            p.listen()
            assert (await p.answer("prompt"))["result"]["stopReason"] == "cancelled"
            p.close_input()
            assert await p.ended() == 0
        else:
            assert await until(lambda: gone(p.process.pid), END + 1)
            assert time.monotonic() - begun < END


@pytest.mark.parametrize(("length", "told"), [(65_536, None), (65_537, True), (9_000_000, True)])
async def test_the_answer_repeats_no_more_than_the_beginning_of_a_long_text(
    tmp_path, fake: FakeModel, length: int, told: bool | None
):
    text = ("é" + "word " * (length // 5))[: length - 1] + "."
    fake.script("a", Reply(Say(text, 50)))
    async with agent(tmp_path, fake.base_url) as a:
        turn = await a.client.prompt(await a.session(), "[[a]]")
        answer = turn.result["_meta"]["quillback.dev"]
        assert turn.text == text
        assert answer["text"] == text[:65_536]
        assert answer.get("truncated") is told


async def test_a_thousand_prompts_wait_and_more_are_refused(tmp_path):
    async with pipe(tmp_path, NOBODY, **scripted(tmp_path, 'call: shell {"command": "sleep 30"}\n')) as p:
        session = await p.session()
        p.listen()
        reading = asyncio.create_task(p.answer("behind"))
        await p.send(*(prompt(session, f"p{n}", n) for n in range(3000)))
        await p.send({"id": "behind", "method": "session/list", "params": {}})
        await reading
        await p.send({"method": "session/cancel", "params": {"sessionId": session}})
        answers = {x["id"]: x for x in p.lines if isinstance(x.get("id"), int)}
        while len(answers) < 3000:
            line = await p.line()
            if isinstance(line.get("id"), int):
                answers[line["id"]] = line
        refused = [x["error"]["code"] for x in answers.values() if "error" in x]
        assert refused
        assert set(refused) == {-32600}
        assert {x["result"]["stopReason"] for x in answers.values() if "result" in x} == {"cancelled"}
        assert len(answers) - len(refused) >= 1000
        p.close_input()
        assert await p.ended() == 0


# ---------------------------------------------------------------- sessions


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
async def test_a_close_whose_request_is_cancelled_still_closes(tmp_path, fake: FakeModel, method):
    stubborn = "trap '' INT TERM; while :; do sleep 0.11711; done"
    fake.script("a", Reply(Use("shell", {"command": "exec sleep 987.1", "background": True})), Reply(Say("x")))
    fake.script("b", Reply(Use("shell", {"command": stubborn})), Reply(Say("x")))
    async with agent(tmp_path, fake.base_url, env=AUTO, polite=False) as a:
        session = await a.session()
        await a.client.prompt(session, "[[a]]")
        turn = await a.client.start_prompt(session, "[[b]]")
        assert await until(lambda: processes("0.11711"), 10)
        closing = asyncio.create_task(a.client.request(method, {"sessionId": session}))
        assert await until(lambda: any(method in str(m) for _, m in a.client.log))
        closing.cancel()
        assert (await turn.finished()).stop_reason == "cancelled"
        assert await until(lambda: not processes("987.1") and not processes("0.11711"), END)
        async with agent(tmp_path, fake.base_url, polite=False) as b:
            assert await answer_of_load(b, session) == (0 if method == "session/close" else -32002)


async def answer_of_load(other: Agent, session: str) -> int:
    """The error's code, 0 without one, once no other process has the session."""
    for _ in range(500):
        try:
            await other.client.load_session(session, other.workspace)
        except RemoteError as error:
            if "open in another" not in str(error):
                return error.code
            await asyncio.sleep(0.01)
        else:
            return 0
    raise AssertionError("the session was never given up")


async def test_a_session_loaded_in_mid_turn_shows_each_piece_once(tmp_path, fake: FakeModel):
    said = [f"{n:03d} " for n in range(120)]
    fake.script("a", Reply(Say("".join(said), deltas=120, delay=0.01)))
    async with agent(tmp_path, fake.base_url, polite=False) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        for least in (20, 60):
            await turn.until(lambda _, least=least: len(turn.text) > least * 4)
            start = len(a.client.updates[session])
            await a.client.load_session(session, a.workspace)
        await turn.finished()
        shown = texts(a.client.updates[session][start:])
        answer = turn.result["_meta"]["quillback.dev"]
        assert shown == {answer["messageId"]: "".join(said)}
        assert texts(a.client.updates[session][start:], "user_message_chunk") != {}


async def test_a_session_loaded_behind_a_call_of_an_open_reply_shows_the_call_once(tmp_path, fake: FakeModel):
    path = {"path": "f.txt", "content": "line\n" * 50}
    fake.script("a", Reply(Say("I write."), Use("write_file", path), Wait(1.0), Say("So.")), Reply(Say("Done.")))
    async with agent(tmp_path, fake.base_url, env=AUTO, polite=False) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(lambda u: u["sessionUpdate"] == "tool_call_update")
        start = len(a.client.updates[session])
        await a.client.load_session(session, a.workspace)
        await turn.finished()
        shown = a.client.updates[session][start:]
        assert [u["status"] for u in shown if u["sessionUpdate"] == "tool_call"] == ["pending"]
        assert [u["status"] for u in shown if "update" in u["sessionUpdate"] and "status" in u][-1:] == ["completed"]
        assert " ".join(texts(shown).values()).split() == ["I", "write.", "So.", "Done."]
        assert (a.workspace / "f.txt").read_text() == "line\n" * 50


@pytest.mark.parametrize("time_of", [10**30, 1 << 63, -1, -(1 << 70)])
async def test_a_cursor_out_of_range_is_refused(tmp_path, time_of):
    cursor = base64.urlsafe_b64encode(json.dumps([time_of, "x"]).encode()).decode()
    async with agent(tmp_path) as a:
        with pytest.raises(RemoteError) as refused:
            await a.client.request("session/list", {"cursor": cursor})
        assert refused.value.code == -32602


@pytest.mark.parametrize("uri", ["http://[bad", "file://[", "file:///%00", "file:circle", "file:///" + "x/" * 3000])
async def test_a_link_that_cannot_be_followed_is_passed_on(tmp_path, fake: FakeModel, uri):
    fake.script("a", Reply(Say("seen")))
    async with agent(tmp_path, fake.base_url) as a:
        (a.workspace / "circle").symlink_to(a.workspace / "circle")
        if uri == "file:circle":
            uri = f"file://{a.workspace}/circle"
        link = {"type": "resource_link", "uri": uri, "name": "x"}
        turn = await a.client.prompt(await a.session(), [{"type": "text", "text": "[[a]]"}, link])
        assert turn.stop_reason == "end_turn"
    assert uri in user_text(last_request(fake, "a"))
