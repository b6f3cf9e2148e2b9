"""Tools that the editor runs: side by side with ours; whatever it makes of a call, the stream stays whole."""

import asyncio

import pytest

from quillback_protocol.jsonrpc import RpcError
from support.agent import calls
from support.demo_client import BUILD, OPEN_BUFFER, SELECTION, TOOLS, demo, text
from support.fake_model import FakeModel, Reply, Say, Use
from support.play import kill, play
from support.processes import until
from support.requests import last_request, result_text, results

pytestmark = pytest.mark.anyio


def script(fake: FakeModel, token: str, *uses: Use) -> list[str]:
    """A step with all of `uses`, then an end. The ids, in call order."""
    fake.script(token, Reply(Say("all at once"), *uses), Reply(Say("done")))
    return [use.id for use in uses]


async def test_calls_of_both_sides_run_at_once_and_come_back_in_order(tmp_path, fake: FakeModel):
    ids = script(
        fake,
        "a",
        Use("build", {"target": "all"}),
        Use("shell", {"command": "until [ -e go ]; do sleep 0.02; done; echo from the shell"}),
        Use("selection"),
        Use("list_dir", {"path": "."}),
        Use("read_buffer", {"path": "f.txt"}),
    )
    async with demo(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as (a, editor):
        (a.workspace / "f.txt").write_text("in the buffer\n")
        session = await a.session()
        gates = [editor.hold(name) for name in ("build", "selection", "read_buffer")]
        turn = await a.client.start_prompt(session, "[[a]]")
        build = await editor.called("build")
        await editor.called("selection")
        await editor.called("read_buffer")  # all three are with the editor while the shell waits, too
        editor.progress(build, "half way")
        await turn.until(lambda u: "half way" in str(u))
        shell = next(c for c in calls(turn.updates).values() if c["name"] == "shell")
        await turn.until(lambda u: u.get("toolCallId") == shell["toolCallId"] and u.get("status") == "in_progress")
        (a.workspace / "go").touch()
        for gate in reversed(gates):
            gate.set()
        await turn.finished()
        assert a.asked == []
        reported = list(calls(turn.updates).values())
        assert [c["name"] for c in reported] == ["build", "shell", "selection", "list_dir", "read_buffer"]
        assert [c["seen"] for c in reported] == [["pending", "in_progress", "completed"]] * 5
        assert [c["title"] for c in reported[::2]] == ["Build", "Read the selection", "Read buffer f.txt"]
        assert [c["kind"] for c in reported[::2]] == ["execute", "read", "read"]
        assert reported[0]["rawInput"] == {"target": "all"}
        assert reported[4]["locations"] == [{"path": str(a.workspace / "f.txt")}]
        assert [c["toolCallId"] for c in editor.calls] == [reported[n]["toolCallId"] for n in (0, 2, 4)]
        assert len({c["messageId"] for c in editor.calls}) == 1
        assert {c["sessionId"] for c in editor.calls} == {session}
    found = results(last_request(fake, "a"))
    assert list(found) == ids
    told = [result_text(r) for r in found.values()]
    assert [told[0], told[2], told[4]] == ["built", "def chosen(): ...", "in the buffer\n"]
    assert "from the shell" in told[1]
    assert "f.txt" in told[3]
    offered = [t["name"] for t in fake.requests[0].body["tools"]]
    assert {"build", "selection", "read_buffer"} <= set(offered)
    assert "read_file" not in offered
    assert offered == sorted(offered)


async def test_calls_are_replayed_as_they_were_shown(tmp_path, fake: FakeModel):
    async with demo(tmp_path, fake.base_url) as (a, editor):
        session = await a.session()
        editor.answers["build"] = {
            **text("3 warnings"),
            "structuredContent": {"warnings": 3},
            "locations": [{"path": str(a.workspace / "main.c"), "line": 4}, {"path": "relative.c"}],
        }
        editor.answers["selection"] = RpcError(-32603, "nothing is open")
        await play(a, fake, session, Use("build", {"fast": True}), Use("selection"), together=True)
        live = calls(a.client.updates[session])
    async with demo(tmp_path, fake.base_url) as (b, _):
        await b.client.load_session(session, b.workspace)
        again = calls(b.client.updates[session])
    build = next(iter(live.values()))
    assert build["rawOutput"] == {"warnings": 3}
    assert build["locations"] == [{"path": str(tmp_path / "workspace" / "main.c"), "line": 4}]
    assert list(again) == list(live)
    for call_id, call in live.items():
        assert {**again[call_id], "seen": []} == {**call, "seen": []}
    assert [c["seen"][-1] for c in again.values()] == ["completed", "failed"]


async def test_a_cancel_withdraws_the_calls_and_late_answers_are_dropped(tmp_path, fake: FakeModel):
    script(fake, "a", Use("build"), Use("selection"))
    async with demo(tmp_path, fake.base_url) as (a, editor):
        session = await a.session()
        editor.stubborn = True
        gates = [editor.hold("build"), editor.hold("selection")]
        turn = await a.client.start_prompt(session, "[[a]]")
        build = await editor.called("build")
        await editor.called("selection")
        a.client.cancel(session)
        await turn.finished()
        assert turn.stop_reason == "cancelled"
        assert [c["seen"][-1] for c in calls(turn.updates).values()] == ["failed", "failed"]
        assert await until(lambda: sorted(editor.withdrawn) == ["build", "selection"])
        editor.progress(build, "still building")
        for gate in gates:
            gate.set()
        (result,) = await play(a, fake, session, Use("selection"))
        assert result_text(result) == "def chosen(): ..."
        before = results(last_request(fake, next(r.token for r in reversed(fake.requests))))
        assert ["cancelled" in result_text(r) for r in before.values()] == [True, True, False]


async def test_a_second_answer_changes_nothing(tmp_path, fake: FakeModel):
    async with demo(tmp_path, fake.base_url) as (a, editor):
        session = await a.session()
        (result,) = await play(a, fake, session, Use("build"))
        editor.answer_again(editor.calls[0], text("another answer"))
        gate = editor.hold("selection")
        playing = asyncio.ensure_future(play(a, fake, session, Use("selection")))
        pending = await editor.called("selection")
        editor.answer_again(editor.calls[0], text("and another"))
        editor.answer_again(pending, text("first"))
        gate.set()
        assert [result_text(r) for r in await playing] == ["first"]
        assert result_text(result) == "built"
        answers = results(last_request(fake, fake.requests[-1].token)).values()
        assert [result_text(r) for r in answers] == ["built", "first"]


async def test_a_disconnect_ends_the_call_as_failed(tmp_path, fake: FakeModel):
    script(fake, "a", Use("build"), Use("shell", {"command": "true"}))
    async with demo(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}, polite=False) as (a, editor):
        session = await a.session()
        editor.hold("build")
        turn = await a.client.start_prompt(session, "[[a]]")
        await editor.called("build")
        await turn.until(lambda u: u.get("status") == "completed")
        turn.task.cancel()
        assert await a.client.close() == 0
    async with demo(tmp_path, fake.base_url) as (b, _):
        await b.client.load_session(session, b.workspace)
        replayed = calls(b.client.updates[session])
        assert [c["seen"][-1] for c in replayed.values()] == ["failed", "completed"]
        await play(b, fake, session, Use("build"))


async def test_a_kill_in_mid_call_leaves_a_stream_that_goes_on(tmp_path, fake: FakeModel):
    script(fake, "a", Use("build"))
    async with demo(tmp_path, fake.base_url, polite=False) as (a, editor):
        session = await a.session()
        editor.hold("build")
        turn = await a.client.start_prompt(session, "[[a]]")
        await editor.called("build")
        await kill(a, turn)
    async with demo(tmp_path, fake.base_url) as (b, _):
        await b.client.load_session(session, b.workspace)
        assert [c["seen"][-1] for c in calls(b.client.updates[session]).values()] == ["failed"]
        await play(b, fake, session, Use("build"))


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ODD = {
    "null": (None, False, "(no output)"),
    "empty": ({}, False, "(no output)"),
    "content null": ({"content": None}, False, "(no output)"),
    "no content": ({"content": []}, False, "(no output)"),
    "blank": (text("", "  \n"), False, "(no output)"),
    "bare text": ("as it is", False, "as it is"),
    "text for content": ({"content": "as it is"}, False, "as it is"),
    "texts for blocks": ({"content": ["one", {"type": "text", "text": "two"}]}, False, "one"),
    "structured": ({"structuredContent": {"answer": 42}}, False, '"answer": 42'),
    "structured list": ({"structuredContent": [1, 2]}, False, "1"),
    "said to be an error": ({**text("no such target"), "isError": True}, True, "no such target"),
    "error without words": ({"content": [], "isError": True}, True, "(no output)"),
    "escapes": (text("\x1b[31mred\x1b[0m \x00 end\r\nnext"), False, "red  end\nnext"),
    "half a character": (text("half \ud83d"), False, "half \ufffd"),
    "link": ({"content": [{"type": "resource_link", "name": "spec", "uri": "file:///s"}]}, False, "spec: file:///s"),
    "resource": ({"content": [{"type": "resource", "resource": {"uri": "x://1", "text": "memo"}}]}, False, "memo"),
    "audio": ({"content": [{"type": "audio", "data": "", "mimeType": "audio/wav"}]}, False, "audio, left out"),
    "bad image": ({"content": [{"type": "image", "data": "%%", "mimeType": "image/png"}]}, False, "left out"),
    "no image": ({"content": [{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]}, False, "left out"),
    "mislabelled image": ({"content": [{"type": "image", "data": PNG, "mimeType": "image/jpeg"}]}, False, ""),
    "number": (7, True, "cannot be read"),
    "list": ([], True, "cannot be read"),
    "true": (True, True, "cannot be read"),
    "content of a wrong type": ({"content": 5}, True, "cannot be read"),
    "block of a wrong type": ({"content": [5]}, True, "cannot be read"),
    "unknown block": ({"content": [{"type": "hologram"}]}, True, "hologram"),
    "isError of a wrong type": ({"content": [], "isError": "no"}, True, "cannot be read"),
    "error": (RpcError(-32603, "the build server is down"), True, "the build server is down"),
    "method not found": (RpcError(-32601, "no such method"), True, "no such method"),
    "cancelled": (RpcError(-32800, "by the user"), True, "by the user"),
}


async def test_odd_answers_become_results(tmp_path, fake: FakeModel):
    async with demo(tmp_path, fake.base_url) as (a, editor):
        session = await a.session()
        for number, (name, (answer, is_error, told)) in enumerate(ODD.items()):
            editor.answers["build"] = answer
            (result,) = await play(a, fake, session, Use("build", {"number": number}))
            assert result.get("is_error", False) is is_error, name
            assert told in result_text(result), name
        seen = [c["seen"][-1] for c in calls(a.client.updates[session]).values()]
        assert seen == ["failed" if is_error else "completed" for _, is_error, _ in ODD.values()]
        assert "Traceback" not in a.client.stderr


async def test_a_large_answer_is_bounded_and_kept(tmp_path, fake: FakeModel):
    large = "START" + "x" * 5_000_000 + "END"
    async with demo(tmp_path, fake.base_url) as (a, editor):
        session = await a.session()
        editor.answers["build"] = {**text(large), "structuredContent": {"log": large}}
        (result,) = await play(a, fake, session, Use("build"))
        told = result_text(result)
        assert len(told) <= 30_000
        assert told.startswith("START")
        assert told.endswith("END")
        (call,) = calls(a.client.updates[session]).values()
        assert len(str(call)) < 40_000
        (kept,) = (tmp_path / "home" / "quillback" / "outputs" / session).iterdir()
        assert str(kept) in told
        assert kept.read_text() == large
        assert kept.stat().st_mode & 0o777 == 0o600


async def test_progress_is_the_running_calls_alone(tmp_path, fake: FakeModel):
    script(fake, "a", Use("build"))
    async with demo(tmp_path, fake.base_url) as (a, editor):
        session = await a.session()
        gate = editor.hold("build")
        turn = await a.client.start_prompt(session, "[[a]]")
        build = await editor.called("build")
        editor.progress({**build, "toolCallId": "call_unknown"}, "of no call")
        editor.progress({**build, "sessionId": "sess_unknown"}, "of no session")
        for params in ({}, {"sessionId": session}, {**build, "toolCallId": 5}):
            a.client.notify("_quillback/tool/progress", params)
        editor.progress(build, "\x1b[1mloud\x1b[0m", content=[5, {"type": "text", "text": "and quiet"}])
        await turn.until(lambda u: "loud" in str(u))
        editor.progress(build, "z" * 1_000_000)
        await turn.until(lambda u: "zz" in str(u))
        gate.set()
        await turn.finished()
        editor.progress(build, "after the end")
        (result,) = await play(a, fake, session, Use("selection"))
        assert result_text(result)
    shown = [u for u in turn.updates if "content" in u and u["sessionUpdate"] == "tool_call_update"]
    blocks = [[c["content"]["text"] for c in u["content"]] for u in shown]
    assert blocks[0] == ["and quiet", "loud"]
    assert len(blocks[1][0]) <= 16_000
    assert blocks[-1] == ["built"]
    assert "of no" not in str(a.client.updates)
    assert "after the end" not in str(a.client.updates)


async def test_frontend_calls_count_as_repetitions(tmp_path, fake: FakeModel):
    async with demo(tmp_path, fake.base_url) as (a, editor):
        session = await a.session()
        found = await play(a, fake, session, *(Use("selection") for _ in range(4)))
        assert [r.get("is_error", False) for r in found] == [False, False, False, True]
        assert len(editor.calls) == 3
        editor.answers["build"] = RpcError(-32603, "no compiler")
        found = await play(a, fake, session, *(Use("build", {"n": n}) for n in range(6)))
        assert len(editor.calls) == 8
        assert "5 times in a row" in result_text(found[-1])


async def test_no_frontend_tool_runs_in_chat_mode(tmp_path, fake: FakeModel):
    async with demo(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "chat"}) as (a, editor):
        session = await a.session()
        found = await play(a, fake, session, Use("build"), Use("read_buffer", {"path": "f"}), together=True)
        assert all("chat mode" in result_text(r) and r["is_error"] for r in found)
        assert editor.calls == []
        await a.client.request("session/set_mode", {"sessionId": session, "modeId": "approve"})
        (result,) = await play(a, fake, session, Use("build"))
        assert result_text(result) == "built"


async def test_a_time_limit_where_one_is_set(tmp_path, fake: FakeModel):
    home = tmp_path / "home" / "quillback"
    home.mkdir(parents=True)
    (home / "config.toml").write_text("frontend_timeout = 0.3\n")
    async with demo(tmp_path, fake.base_url) as (a, editor):
        session = await a.session()
        editor.hold("build")
        (result,) = await play(a, fake, session, Use("build"))
        assert result["is_error"]
        assert "within 0.3 s" in result_text(result)
        assert await until(lambda: editor.withdrawn == ["build"])


def edit(path: str, old: str, new: str) -> Use:
    return Use("edit_file", {"path": path, "old_text": old, "new_text": new})


async def test_a_file_read_by_the_editor_may_be_edited(tmp_path, fake: FakeModel):
    async with demo(tmp_path, fake.base_url) as (a, editor):
        (a.workspace / "f.txt").write_text("one\n")
        (a.workspace / "g.txt").write_text("one\n")
        session = await a.session()
        (unread,) = await play(a, fake, session, edit("f.txt", "one", "two"))
        assert unread["is_error"]
        read = Use("read_buffer", {"path": "f.txt"})
        _, edited = await play(a, fake, session, read, edit("f.txt", "one", "two"))
        assert not edited.get("is_error"), result_text(edited)
        assert (a.workspace / "f.txt").read_text() == "two\n"
        editor.answers["read_buffer"] = RpcError(-32603, "cannot open it")
        read = Use("read_buffer", {"path": "g.txt"})
        _, refused = await play(a, fake, session, read, edit("g.txt", "one", "two"))
        assert refused["is_error"]


async def test_the_editors_unsaved_text_may_be_edited_after_its_own_read(tmp_path, fake: FakeModel):
    files = {"fs": {"readTextFile": True, "writeTextFile": True}}
    async with demo(tmp_path, fake.base_url, capabilities=files) as (a, editor):
        (a.workspace / "f.txt").write_text("saved\n")
        buffers = {str(a.workspace / "f.txt"): "unsaved\n"}

        async def read(params):
            return {"content": buffers[params["path"]]}

        async def write(params):
            buffers[params["path"]] = params["content"]

        a.client.on_request("fs/read_text_file", read)
        a.client.on_request("fs/write_text_file", write)
        editor.answers["read_buffer"] = lambda call: text(buffers[str(a.workspace / call["arguments"]["path"])])
        session = await a.session()
        read = Use("read_buffer", {"path": "f.txt"})
        _, edited = await play(a, fake, session, read, edit("f.txt", "unsaved", "changed"))
        assert not edited.get("is_error"), result_text(edited)
        assert buffers == {str(a.workspace / "f.txt"): "changed\n"}


def test_the_demo_has_one_tool_of_each_kind():
    assert SELECTION["readOnly"]
    assert OPEN_BUFFER["replaces"] == "read_file"
    assert TOOLS == [SELECTION, BUILD, OPEN_BUFFER]
