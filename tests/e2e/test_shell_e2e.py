"""S01 S03 S05: commands, what they leave behind, what they may read, and where their output goes."""

import asyncio
import time

import pytest

from quillback_protocol.jsonrpc import RpcError
from quillback_protocol.outgoing import RemoteError
from support.agent import agent, calls, processes, result_of
from support.fake_model import FakeModel, Reply, Say, Use
from support.play import play, shell
from support.processes import until
from support.requests import last_request, result_text, results

pytestmark = pytest.mark.anyio
AUTO = {"QUILLBACK_MODE": "auto"}
SOON = 6.0  # two seconds are promised; slack for a busy machine


async def test_commands_that_leave_a_child_return_at_once(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session()
        commands = {
            "sleep 601.1 & echo started": "started",
            "nohup sleep 601.1 >/dev/null 2>&1 & echo started": "started",
            "setsid sleep 601.1 & echo started": "started",
            "(setsid sh -c 'trap \"\" INT TERM HUP; sleep 601.1; true' &) ; echo started": "started",
            "sleep 601.1 & disown; printf 'no newline'": "no newline",
        }
        for command, said in commands.items():
            begun = time.monotonic()
            (output,) = await shell(a, fake, session, command)
            assert time.monotonic() - begun < SOON, command
            assert said in output
        assert len(processes("sleep\x00601.1")) >= 4
        await a.client.request("session/close", {"sessionId": session})
        assert await until(lambda: not processes("601.1"), SOON)
        later = await a.session()
        await shell(a, fake, later, "setsid sleep 601.2 & true")
        assert processes("601.2")
    assert await until(lambda: not processes("601.2"), SOON)


async def test_commands_have_nothing_to_read(tmp_path, fake: FakeModel):
    other = "while [ ! -e go ]; do sleep 0.02; done; cat; echo END"
    reads = ("cat", "read x; echo got:$x", "python3 -c 'input()'", "cat <<E\nhi\nE\nread y; echo y:$y", "head -c1 <&0")
    fake.script("a", Reply(Use("shell", {"command": other})), Reply(Say("done")))
    fake.script("b", Reply(Say("other")))
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session, second = await a.session(), await a.session()
        begun = time.monotonic()
        nothing, got, python, here, head = await shell(a, fake, second, *reads)
        assert time.monotonic() - begun < 2 * SOON
        assert "(no output)" in nothing
        assert "got:" in got
        assert "EOFError" in python
        assert "hi\ny:" in here
        assert "(no output)" in head
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(lambda u: u.get("status") == "in_progress")
        assert (await a.client.prompt(second, "[[b]]")).text == "other"
        (a.workspace / "go").touch()
        await turn.finished()
    output = result_text(next(iter(results(last_request(fake, "a")).values())))
    assert output.strip() == "END"


async def test_a_deleted_directory_breaks_no_later_command(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session()
        outputs = await shell(a, fake, session, "mkdir d && cd d && pwd", "pwd", "rm -rf d; echo gone", "pwd; echo ok")
        assert outputs[0].strip().endswith("/d")
        assert outputs[1].strip() == str(a.workspace)  # a cd does not last
        assert outputs[3].split() == [str(a.workspace), "ok"]
        place = tmp_path / "place"
        place.mkdir()
        moved = await a.session(place)
        assert "hi" in (await shell(a, fake, moved, "echo hi"))[0]
        place.rmdir()
        (lost,) = await play(a, fake, moved, Use("shell", {"command": "echo hi"}))
        assert lost["is_error"]
        assert str(place) in result_text(lost)
        place.mkdir()
        assert "back" in (await shell(a, fake, moved, "echo back"))[0]
        (tmp_path / "file").touch()
        for cwd in ("relative/dir", str(tmp_path / "none"), str(tmp_path / "file"), "", "/no\0where"):
            with pytest.raises(RemoteError, match="cwd") as refused:
                await a.client.new_session(cwd)
            assert refused.value.code == -32602


async def test_jobs_run_behind_the_turn_and_end_with_the_session(tmp_path, fake: FakeModel):
    job = "echo up; while [ ! -e go ]; do sleep 0.02; done; echo went; sleep 602.1"
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session()
        started, first = await play(
            a,
            fake,
            session,
            Use("shell", {"command": job, "background": True}),
            Use("shell_output", {"job": "job_1", "wait": 10}),
        )
        assert "job_1" in result_text(started)
        assert "up" in result_text(first)
        assert "[running]" in result_text(first)
        (a.workspace / "go").touch()
        (second,) = await play(a, fake, session, Use("shell_output", {"job": "job_1", "wait": 10}))
        assert "went" in result_text(second)
        assert "up" not in result_text(second)
        polls = await play(a, fake, session, *[Use("shell_output", {"job": "job_1"}) for _ in range(5)])
        assert not any(r.get("is_error") for r in polls)  # asking again and again is what they are for
        ended, unknown = await play(
            a, fake, session, Use("shell_kill", {"job": "job_1"}), Use("shell_output", {"job": "job_9"})
        )
        assert not ended.get("is_error")
        assert await until(lambda: not processes("602.1"))
        assert unknown["is_error"]
        assert "job_1" in result_text(unknown)
        await play(a, fake, session, Use("shell", {"command": "sleep 602.2", "background": True}))
        other = await a.session()
        (foreign,) = await play(a, fake, other, Use("shell_kill", {"job": "job_2"}))
        assert foreign["is_error"]
        fake.script("hang", Reply(Use("shell", {"command": "sleep 602.3"})))
        turn = await a.client.start_prompt(session, "[[hang]]")
        await turn.until(lambda u: u.get("status") == "in_progress")
        a.client.cancel(session)
        await turn.finished()
        assert await until(lambda: not processes("602.3"))
        assert processes("602.2")  # a cancel ends the turn, not the jobs
        await a.client.request("session/close", {"sessionId": session})
        assert not processes("602.2")


async def test_much_output_is_shown_in_small_frames(tmp_path, fake: FakeModel):
    command = "for i in $(seq 20); do head -c 1000000 /dev/zero | tr '\\0' a; echo; sleep 0.05; done; echo THE-END"
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session()
        (outcome,) = await play(a, fake, session, Use("shell", {"command": command}))
        frames = [str(m) for d, m in a.client.log if d == "<-" and "tool_call_update" in str(m)[:300]]
        assert max(map(len, frames)) < 70_000
        assert sum(map(len, frames)) < 3_000_000
        text = result_text(outcome)
        assert len(text) <= 30_000
        assert "THE-END" in text
        kept = [p for p in (tmp_path / "home/quillback/outputs").rglob("*") if p.is_file()]
        assert [p.stat().st_size for p in kept] == [20 * 1_000_001 + len("THE-END\n")]
        assert str(kept[0]) in text
        assert kept[0].stat().st_mode & 0o077 == 0
        call = next(iter(calls(a.client.updates[session]).values()))
        assert call["seen"] == ["pending", "in_progress", "completed"]


async def test_output_is_shown_while_the_command_runs(tmp_path, fake: FakeModel):
    command = (
        "printf 'one\\r\\n'; printf '\\033[31mred\\033[0m \\xff\\n'; while [ ! -e go ]; do sleep 0.02; done; echo two"
    )
    fake.script("a", Reply(Use("shell", {"command": command})), Reply(Say("done")))
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        turn = await a.client.start_prompt(await a.session(), "[[a]]")
        await turn.until(lambda u: "red" in str(u.get("content")))
        assert turn.result is None
        (a.workspace / "go").touch()
        await turn.finished()
        (call,) = calls(turn.updates).values()
        assert result_of(call).splitlines() == ["one", "red �", "two"]
    output = result_text(next(iter(results(last_request(fake, "a")).values())))
    assert output.splitlines() == ["one", "red �", "two"]


class Terminals:
    """An editor's terminals: a command stays until `finish`."""

    def __init__(self, client) -> None:
        self.log: list[tuple[str, dict]] = []
        self.finish = asyncio.Event()
        self.refuse = False
        for name in ("create", "output", "wait_for_exit", "kill", "release"):
            client.on_request(f"terminal/{name}", lambda params, name=name: self._answer(name, params))

    def names(self) -> list[str]:
        return [name for name, _ in self.log]

    async def _answer(self, name: str, params: dict) -> object:
        self.log.append((name, params))
        match name:
            case "create" if self.refuse:
                raise RpcError(-32603, "no more terminals")
            case "create":
                return {"terminalId": "term-1"}
            case "output":
                done = {"exitStatus": {"exitCode": 3}} if self.finish.is_set() else {}
                return {"output": "from the editor\r\n", "truncated": False} | done
            case "wait_for_exit":
                await self.finish.wait()
                return {"exitCode": 3}
            case _:
                return None


async def test_the_editors_terminal_runs_commands_where_the_user_wants_it(tmp_path, fake: FakeModel):
    home = tmp_path / "home" / "quillback"
    home.mkdir(parents=True)
    (home / "config.toml").write_text("shell_in_editor = true\n")
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities={"terminal": True}) as a:
        session = await a.session()
        terminals = Terminals(a.client)
        fake.script("a", Reply(Use("shell", {"command": "make test"})), Reply(Say("done")))
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(lambda u: {"type": "terminal", "terminalId": "term-1"} in u.get("content", []))
        terminals.finish.set()
        await turn.finished()
        created = terminals.log[0][1]
        assert (created["command"], created["cwd"]) == ("make test", str(a.workspace))
        assert not created.get("args")
        assert terminals.names()[-1] == "release"
        assert "kill" not in terminals.names()
        output = result_text(next(iter(results(last_request(fake, "a")).values())))
        assert output == "from the editor\n[exit code 3]"
        terminals.log.clear()
        terminals.finish.clear()
        fake.script("b", Reply(Use("shell", {"command": "sleep 9"})))
        turn = await a.client.start_prompt(session, "[[b]]")
        await turn.until(lambda u: "terminal" in str(u.get("content")))
        begun = time.monotonic()
        a.client.cancel(session)
        assert (await turn.finished()).stop_reason == "cancelled"
        assert time.monotonic() - begun < SOON
        assert await until(lambda: terminals.names()[-2:] == ["kill", "release"])
        terminals.refuse = True
        (refused,) = await play(a, fake, session, Use("shell", {"command": "echo x"}))
        assert refused["is_error"]
        assert "no more terminals" in result_text(refused)
    async with agent(tmp_path, fake.base_url, env=AUTO) as b:  # not offered, so not used
        await b.client.load_session(session, b.workspace)
        assert "term-1" not in str(b.client.updates)
        assert (await shell(b, fake, session, "echo ours"))[0].strip() == "ours"


async def test_an_offered_terminal_is_left_alone_by_default(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities={"terminal": True}) as a:
        terminals = Terminals(a.client)
        terminals.finish.set()
        assert (await shell(a, fake, await a.session(), "echo ours"))[0].strip() == "ours"
        assert terminals.log == []
