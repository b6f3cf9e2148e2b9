import asyncio
import json
import os
import re
import time

import pytest

from quillback.core.mcp_server import StdioServer
from quillback.core.message import ToolKind
from quillback.core.ports import Access, ToolError
from quillback.core.validate import check
from quillback.mcp import calls, connection
from quillback.mcp.server import ServerState
from support.processes import running, until

pytestmark = pytest.mark.anyio
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def states(room):
    return {status.name: status.state for status in room.box.status()}


async def test_nothing_happens_before_the_start(room, stdio, tmp_path):
    made = room(stdio("a"))
    await made.box.ready(5)
    assert made.box.tools() == ()
    assert states(made) == {"a": ServerState.NEW}
    assert made.log("a") == []
    await made.box.close()


async def test_a_call_reaches_the_server_and_comes_back(open_room, stdio, said):
    made = await open_room(stdio("files"))
    assert made.names() == sorted(made.names())
    assert json.loads(said(await made.call("files_echo", q="hi"))) == {"q": "hi"}
    assert made.log("files")[0]["cwd"] == str(made.path)
    assert states(made) == {"files": ServerState.READY}
    assert made.notices == []


async def test_a_tool_is_announced_as_one_that_may_do_anything(open_room, stdio):
    made = await open_room(stdio("files"))
    tool = next(tool for tool in made.box.tools() if tool.spec.name == "files_echo")
    prepared = await tool.prepare("c", {})
    assert tool.spec.describe({}).title == "files: echo"
    assert (tool.spec.kind, tool.spec.read_only, tool.spec.description) == (ToolKind.OTHER, False, "does it")
    assert (prepared.access, prepared.shown, tool.touches({})) == (Access(), (), frozenset())


async def test_bad_servers_hold_up_nobody_and_are_told_of_once(room, stdio, said, monkeypatch):
    monkeypatch.setattr(connection, "START_LIMIT", 1.0)
    made = room(
        stdio("hung", "hang"),
        StdioServer("gone", "/no/such/program"),
        stdio("broken", "exit", STORE_TOKEN="s3cret-token"),
        stdio("good"),
    )
    made.box.start()
    assert await until(lambda: "good_echo" in made.names(), 5)
    assert said(await made.call("good_echo")) == "{}"
    await made.box.ready(5)
    assert states(made) == {
        "hung": ServerState.FAILED,
        "gone": ServerState.FAILED,
        "broken": ServerState.FAILED,
        "good": ServerState.READY,
    }
    told = {notice.split('"')[1]: notice for notice in made.notices}
    assert len(made.notices) == len(told) == 3
    assert "did not answer within 1 s" in told["hung"]
    assert "/no/such/program" in told["gone"]
    assert "exit status 3; its last words: cannot open the store of ***" in told["broken"]


async def test_ready_waits_no_longer_than_asked(room, stdio):
    made = room(stdio("hung", "hang"))
    made.box.start()
    begun = time.monotonic()
    await made.box.ready(0.2)
    assert time.monotonic() - begun < 1
    assert states(made) == {"hung": ServerState.STARTING}


async def test_the_loop_goes_on_while_servers_start(room, stdio):
    made = room(*(stdio(f"s{i}") for i in range(3)))
    late = [0.0]

    async def beat():
        while True:
            begun = time.monotonic()
            await asyncio.sleep(0.01)
            late[0] = max(late[0], time.monotonic() - begun - 0.01)

    made.box.start()
    beating = asyncio.create_task(beat())
    await made.box.ready(10)
    beating.cancel()
    assert late[0] < 0.5


async def test_the_environment_is_the_small_one(open_room, stdio, said, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "provider-key")
    made = await open_room(stdio("s", MYVAR="mine", API_TOKEN="hide-me"))
    env = json.loads(said(await made.call("s_env")))
    assert "provider-key" not in json.dumps(env)
    assert env["MYVAR"] == "mine"
    assert env["API_TOKEN"] == "***"
    assert env["PATH"] == os.environ["PATH"]
    assert env.keys() <= {
        *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LC_CTYPE"),
        *("MYVAR", "API_TOKEN", "QUILLBACK_MCP_SERVER"),
    }


async def test_garbage_on_stdout_is_skipped(open_room, stdio, said):
    made = await open_room(stdio("s"))
    assert said(await made.call("s_garbage")) == "half ?"
    assert said(await made.call("s_echo")) == "{}"


async def test_a_huge_result_is_bounded_and_kept(open_room, stdio, said):
    made = await open_room(stdio("s"))
    shown = said(await made.call("s_big"))
    (kept,) = (made.path / "outputs").iterdir()
    assert len(shown) <= 30_000
    assert shown.startswith("BIGb")
    assert shown.endswith("bEND")
    assert kept.stat().st_size == 5_000_006


async def test_odd_blocks_and_errors_of_a_tool(open_room, stdio, said):
    made = await open_room(stdio("s"))
    outcome = await made.call("s_blocks")
    assert outcome.is_error
    assert "colour red and nul  end" in said(outcome)
    assert '"hologram"' in said(outcome)
    assert "loose text" in said(outcome)


async def test_a_refusal_is_an_error_for_the_model_without_secrets(open_room, stdio):
    made = await open_room(stdio("s", API_KEY="key-12345"))
    with pytest.raises(ToolError, match=r"s answered with an error: not with \*\*\*$"):
        await made.call("s_refuse")
    assert states(made) == {"s": ServerState.READY}


# ------------------------------------------------------------ names and schemas


async def test_odd_names_are_sent_cleaned_and_called_as_they_are(open_room, room, stdio):
    made = await open_room(stdio("s" * 60, "names"))
    names = made.names()
    assert len(names) == len(set(names)) == 7
    assert all(NAME.fullmatch(name) for name in names)
    for name in names:
        await made.call(name)
    assert sorted(made.calls("s" * 60)) == sorted(["a.b", "a/b", "a b", "x" * 90, "größe", "検索", "plain"])
    again = await open_room(stdio("s" * 60, "names"))
    assert again.names() == names


async def test_two_servers_of_one_name_keep_apart(open_room, stdio):
    made = await open_room(stdio("s"), stdio("s"), reserved={"s_echo"})
    assert "s-2_echo" in made.names()
    assert "s_echo" not in made.names()
    assert len(made.names()) == len(set(made.names()))


async def test_schemas_are_adapted_or_their_tools_left_out(open_room, stdio, said):
    made = await open_room(stdio("s", "schemas"))
    specs = {tool.spec.name: tool.spec for tool in made.box.tools()}
    assert set(specs) == {"s_untyped", "s_choice", "s_missing", "s_broken"}
    assert all(spec.input_schema["type"] == "object" for spec in specs.values())
    assert check({"q": "x"}, specs["s_untyped"].input_schema) == ""
    assert "(a)" in specs["s_choice"].description
    (notice,) = made.notices
    assert "string (its arguments are not an object)" in notice
    assert said(await made.call("s_untyped")) == "called untyped"


async def test_a_schema_that_is_nested_too_deeply_costs_its_own_tool_only(open_room, stdio, said):
    made = await open_room(stdio("s", "deep"))
    assert made.names() == ["s_fine"]
    (notice,) = made.notices
    assert all(f"{name} (its input schema is nested" in notice for name in ("deep", "deeper", "deepest"))
    assert said(await made.call("s_fine")) == "called fine"


async def test_a_changed_list_is_taken_over(open_room, stdio, said):
    made = await open_room(stdio("s"))
    assert said(await made.call("s_grow", q="sprout")) == "grown"
    assert await until(lambda: "s_sprout" in made.names())
    assert said(await made.call("s_sprout")) == "called sprout"


async def test_a_server_of_the_newest_revision(open_room, stdio, said):
    made = await open_room(stdio("s", "modern"))
    assert json.loads(said(await made.call("s_echo", q="hi"))) == {"q": "hi"}
    assert await until(lambda: any("listen" in entry for entry in made.log("s")))
    await made.call("s_grow", q="sprout")
    assert await until(lambda: "s_sprout" in made.names())


# ------------------------------------------------------------ death


async def test_a_server_that_dies_in_a_call_gets_one_restart(open_room, stdio, said):
    made = await open_room(stdio("s"))
    names = made.names()
    begun = time.monotonic()
    with pytest.raises(ToolError, match="exit status 5; its last words: giving up"):
        await made.call("s_die")
    assert time.monotonic() - begun < 2
    assert states(made) == {"s": ServerState.DEAD}
    assert made.names() == names
    assert said(await made.call("s_echo")) == "{}"
    assert states(made) == {"s": ServerState.READY}
    assert made.names() == names
    assert made.notices == []


async def test_one_that_dies_again_is_given_up(open_room, stdio):
    made = await open_room(stdio("s"))
    for _ in range(2):
        with pytest.raises(ToolError, match="was lost during the call"):
            await made.call("s_die")
    assert made.names() == []
    (notice,) = made.notices
    assert '"s" did not stay up after a restart' in notice
    assert states(made) == {"s": ServerState.FAILED}


async def test_one_that_cannot_be_started_again_loses_its_tools(open_room, stdio):
    made = await open_room(stdio("s", "once"))
    tool = next(tool for tool in made.box.tools() if tool.spec.name == "s_echo")
    with pytest.raises(ToolError):
        await made.call("s_die")
    assert "s_echo" in made.names()
    with pytest.raises(ToolError, match=r"not available.*exit status 4"):
        await made.call("s_echo")
    assert made.names() == []
    assert len(made.notices) == 1
    with pytest.raises(ToolError, match="not available"):
        await anext((await tool.prepare("c", {})).run())


async def test_calls_that_come_together_share_a_restart(open_room, stdio, said):
    made = await open_room(stdio("s"))
    with pytest.raises(ToolError):
        await made.call("s_die")
    outcomes = await asyncio.gather(*(made.call("s_echo") for _ in range(4)))
    assert [said(outcome) for outcome in outcomes] == ["{}"] * 4
    assert len([entry for entry in made.log("s") if "start" in entry]) == 2


async def test_all_open_calls_end_with_the_server(open_room, stdio):
    made = await open_room(stdio("s"))
    waiting = asyncio.create_task(made.call("s_wait"))
    assert await until(lambda: "wait" in made.calls("s"))
    begun = time.monotonic()
    with pytest.raises(ToolError):
        await made.call("s_die", q="held")
    with pytest.raises(ToolError):
        await waiting
    assert time.monotonic() - begun < 2


async def test_a_server_that_dies_idle_is_started_by_the_next_call(open_room, stdio, said):
    made = await open_room(stdio("s"))
    os.kill(made.log("s")[0]["start"], 9)
    assert await until(lambda: states(made) == {"s": ServerState.DEAD})
    assert said(await made.call("s_echo")) == "{}"


# ------------------------------------------------------------ limits and cancel


async def test_a_cancel_returns_at_once_and_is_told(open_room, stdio, said):
    made = await open_room(stdio("s"))
    waiting = asyncio.create_task(made.call("s_wait"))
    assert await until(lambda: "wait" in made.calls("s"))
    begun = time.monotonic()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert time.monotonic() - begun < 0.2
    assert await until(lambda: any("cancelled" in entry for entry in made.log("s")))
    assert said(await made.call("s_echo")) == "{}"


async def test_a_call_without_progress_is_given_up(open_room, stdio, monkeypatch):
    monkeypatch.setattr(calls, "CALL_IDLE", 0.3)
    made = await open_room(stdio("s"))
    with pytest.raises(ToolError, match=r"no sign of progress for 0\.3 s"):
        await made.call("s_wait")
    assert await until(lambda: any("cancelled" in entry for entry in made.log("s")))


async def test_progress_keeps_a_call_alive_and_is_shown(open_room, stdio, said, monkeypatch):
    monkeypatch.setattr(calls, "CALL_IDLE", 0.45)
    made = await open_room(stdio("s"))
    assert said(await made.call("s_progress")) == "worked"
    assert "2/4 working" in made.shown


async def test_progress_does_not_help_for_ever(open_room, stdio, monkeypatch):
    monkeypatch.setattr(calls, "CALL_LIMIT", 0.3)
    made = await open_room(stdio("s"))
    with pytest.raises(ToolError, match=r"did not end within 0\.3 s"):
        await made.call("s_progress")


# ------------------------------------------------------------ close


async def test_close_leaves_no_process(open_room, stdio):
    made = await open_room(stdio("s"))
    mark = f"offspring-{os.getpid()}"
    await made.call("s_offspring", q=mark)
    assert await until(lambda: len(running(f"sleep 60; : {mark}")) >= 3)
    begun = time.monotonic()
    await made.box.close()
    assert time.monotonic() - begun < 1.5
    assert running(mark) == []
    assert running(str(made.path / "s.log")) == []
    assert made.names() == []
    assert states(made) == {"s": ServerState.CLOSED}


async def test_close_ends_open_calls_and_later_ones(open_room, stdio):
    made = await open_room(stdio("s"))
    tool = next(tool for tool in made.box.tools() if tool.spec.name == "s_echo")
    waiting = asyncio.create_task(made.call("s_stubborn"))
    await waiting
    waiting = asyncio.create_task(made.call("s_wait"))
    await asyncio.sleep(0)
    begun = time.monotonic()
    await asyncio.gather(made.box.close(), made.box.close())
    assert time.monotonic() - begun < 2
    with pytest.raises(ToolError, match="closed"):
        await waiting
    with pytest.raises(ToolError, match="closed"):
        await anext((await tool.prepare("c", {})).run())


async def test_close_while_servers_start(room, stdio):
    made = room(stdio("hung", "hang"), stdio("good"), StdioServer("gone", "/no/such/program"))
    made.box.start()
    assert await until(lambda: made.log("hung"), 5)
    begun = time.monotonic()
    await made.box.close()
    assert time.monotonic() - begun < 1.5
    assert running(str(made.path / "hung.log")) == []


async def test_close_right_after_the_start(room, stdio):
    made = room(stdio("s"))
    made.box.start()
    await made.box.close()
    await made.box.ready(1)
    assert made.log("s") == []
    assert states(made) == {"s": ServerState.CLOSED}
