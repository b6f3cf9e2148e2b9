"""Undo and fork over the wire of a real process."""

import pytest

from quillback_protocol.outgoing import RemoteError
from support.agent import agent, texts
from support.fake_model import FakeModel, Hang, Reply, Say, Think, Use
from support.play import play
from support.requests import last_request, result_text

pytestmark = pytest.mark.anyio
AUTO = {"QUILLBACK_MODE": "auto"}
BOTH = {"fs": {"readTextFile": True, "writeTextFile": True}}
UNDO = "_quillback/session/undo"


def write(path: str, content: str) -> Use:
    return Use("write_file", {"path": path, "content": content})


def edit(path: str, old: str, new: str) -> Use:
    return Use("edit_file", {"path": path, "old_text": old, "new_text": new})


def read(path: str) -> Use:
    return Use("read_file", {"path": path})


async def test_undo_over_the_wire(tmp_path, fake: FakeModel):
    fake.script("next", Reply(Say("I see")))
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        assert UNDO in a.initialized["agentCapabilities"]["_meta"]["quillback.dev"]["methods"]
        session = await a.session()
        file, new = a.workspace / "a.txt", a.workspace / "deep" / "new.txt"
        file.write_bytes(b"zero\r\n")
        file.chmod(0o755)
        await play(a, fake, session, read("a.txt"), edit("a.txt", "zero", "one"), write("deep/new.txt", "new\n"))
        await play(a, fake, session, edit("a.txt", "one", "two"))
        assert file.read_bytes() == b"two\r\n"
        answer = await a.client.request(UNDO, {"sessionId": session})
        assert (answer["restored"], answer["removed"], answer["kept"]) == ([str(file)], [], [])
        assert answer["messageId"].startswith("msg_")
        assert "restored `a.txt`" in answer["text"]
        assert file.read_bytes() == b"one\r\n"
        file.write_bytes(b"mine\r\n")
        answer = await a.client.request(UNDO, {"sessionId": session})
        assert (answer["restored"], answer["removed"]) == ([], [str(new)])
        assert answer["kept"] == [{"path": str(file), "reason": "changed since the agent wrote it"}]
        assert file.read_bytes() == b"mine\r\n"
        assert not new.parent.exists()
        answer = await a.client.request(UNDO, {"sessionId": session})
        assert "nothing to undo" in answer["text"]
        assert "messageId" not in answer
        await a.client.prompt(session, "[[next]]")
        asked = str(last_request(fake, "next")["messages"])
        assert asked.count("The user undid") == 2
        assert "Undid the file changes" not in asked
        (stale,) = await play(a, fake, session, edit("a.txt", "mine", "ours"))
        assert "changed since it was last read" in result_text(stale)
        a.client.updates[session].clear()
        await a.client.load_session(session, a.workspace)
        assert str(texts(a.client.updates[session])).count("Undid the file changes") == 2
        for unknown in ("sess_nobody", ""):
            with pytest.raises(RemoteError) as refused:
                await a.client.request(UNDO, {"sessionId": unknown})
            assert refused.value.code == -32002


async def test_no_undo_while_a_turn_runs_and_the_slash_command(tmp_path, fake: FakeModel):
    fake.script("hang", Reply(Say("working "), Hang()))
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session()
        await play(a, fake, session, write("a.txt", "one\n"))
        turn = await a.client.start_prompt(session, "[[hang]]")
        await turn.until(lambda u: "working" in str(u.get("content")))
        with pytest.raises(RemoteError, match="a turn is running") as refused:
            await a.client.request(UNDO, {"sessionId": session})
        assert refused.value.code == -32600
        assert (a.workspace / "a.txt").exists()
        a.client.cancel(session)
        await turn.finished()
        turn = await a.client.prompt(session, "/undo")
        assert "a.txt" in turn.text
        assert not (a.workspace / "a.txt").exists()


async def test_undo_after_a_kill(tmp_path, fake: FakeModel):
    fake.script("work", Reply(write("a.txt", "one\n")), Reply(Say("thinking "), Hang()))
    async with agent(tmp_path, fake.base_url, env=AUTO, polite=False) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[work]]")
        await turn.until(lambda u: "thinking" in str(u.get("content")))
        a.kill()
    async with agent(tmp_path, fake.base_url, env=AUTO) as b:
        await b.client.load_session(session, b.workspace)
        assert (b.workspace / "a.txt").read_text() == "one\n"
        answer = await b.client.request(UNDO, {"sessionId": session})
        assert answer["removed"] == [str(b.workspace / "a.txt")]
        assert not (b.workspace / "a.txt").exists()


async def test_unsaved_text_in_the_editor_is_left(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=BOTH) as a:
        session = await a.session()
        file, unsaved = a.workspace / "a.txt", {}
        file.write_text("zero\n")

        async def reading(params: dict) -> dict:
            return {"content": unsaved.get(params["path"]) or file.read_text()}

        async def writing(params: dict) -> dict:
            file.write_text(params["content"])
            return {}

        a.client.on_request("fs/read_text_file", reading)
        a.client.on_request("fs/write_text_file", writing)
        await play(a, fake, session, read("a.txt"), edit("a.txt", "zero", "one"))
        unsaved[str(file)] = "one, and typed\n"
        answer = await a.client.request(UNDO, {"sessionId": session})
        assert [kept["path"] for kept in answer["kept"]] == [str(file)]
        assert file.read_text() == "one\n"
        unsaved.clear()
        answer = await a.client.request(UNDO, {"sessionId": session})
        assert answer["restored"] == [str(file)]
        assert file.read_text() == "zero\n"


async def test_fork_over_the_wire(tmp_path, fake: FakeModel):
    declared = {"_meta": {"quillback.dev": {"sessionFork": True}}}
    fake.script("a", Reply(Think("hm"), Say("said a")))
    fake.script("b", Reply(Say("said b")))
    fake.script("c", Reply(Say("said c")))
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=declared) as a:
        assert a.initialized["agentCapabilities"]["sessionCapabilities"]["fork"] == {}
        session = await a.session()
        first = await a.client.prompt(session, "[[a]]")
        await a.client.prompt(session, "[[b]]")
        at = first.result["_meta"]["quillback.dev"]["messageId"]
        params = {"sessionId": session, "cwd": str(a.workspace), "mcpServers": []}
        whole = await a.client.request("session/fork", params)
        part = await a.client.request("session/fork", {**params, "_meta": {"quillback.dev": {"messageId": at}}})
        assert len({session, whole["sessionId"], part["sessionId"]}) == 3
        assert part["modes"]["currentModeId"] == "auto"
        assert {o["id"] for o in part["configOptions"]} >= {"mode", "model", "thinking"}
        assert (await a.client.prompt(part["sessionId"], "[[c]]")).text == "said c"
        asked = str(last_request(fake, "c")["messages"])
        assert "said a" in asked
        assert "said b" not in asked
        assert "hm" not in asked
        await a.client.wait_for(lambda: a.client.updates.get(whole["sessionId"]))
        (update,) = a.client.updates[whole["sessionId"]]
        assert update["sessionUpdate"] == "available_commands_update"
        a.client.updates[whole["sessionId"]].clear()
        await a.client.load_session(whole["sessionId"], a.workspace)
        replayed = a.client.updates[whole["sessionId"]]
        assert list(texts(replayed).values()) == ["said a", "said b"]
        assert list(texts(replayed, "agent_thought_chunk").values()) == ["hm"]
        listed = (await a.client.request("session/list"))["sessions"]
        assert sorted(s["title"] for s in listed) == ["[[a]]", "[[a]] (fork)", "[[a]] (fork)"]
        for wrong, code in (
            ({"sessionId": "sess_nobody"}, -32002),
            ({"cwd": "relative"}, -32602),
            ({"_meta": {"quillback.dev": {"messageId": "msg_nobody"}}}, -32602),
        ):
            with pytest.raises(RemoteError) as refused:
                await a.client.request("session/fork", {**params, **wrong})
            assert refused.value.code == code
    async with agent(tmp_path, fake.base_url) as b:
        assert "fork" not in b.initialized["agentCapabilities"]["sessionCapabilities"]


async def test_undo_back_to_a_message(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session()
        file = a.workspace / "a.txt"
        await play(a, fake, session, write("a.txt", "one\n"))
        fake.script("said", Reply(Say("It says one.")))
        here = (await a.client.prompt(session, "[[said]]")).result["_meta"]["quillback.dev"]["messageId"]
        await play(a, fake, session, edit("a.txt", "one", "two"))
        await play(a, fake, session, edit("a.txt", "two", "three"))
        back = {"sessionId": session, "afterMessageId": here}
        answers = [await a.client.request(UNDO, back) for _ in range(3)]
        assert ["messageId" in answer for answer in answers] == [True, True, False]
        assert file.read_text() == "one\n"
        with pytest.raises(RemoteError, match="there is no message 'msg_other'"):
            await a.client.request(UNDO, back | {"afterMessageId": "msg_other"})
        assert "messageId" in await a.client.request(UNDO, {"sessionId": session})
        assert not file.exists()
