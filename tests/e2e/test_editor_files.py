"""T05 T09: the editor's own text of a file, read and written through `fs/*` where it offers that, and only there."""

import asyncio
import time

import pytest

from quillback_protocol.jsonrpc import RpcError
from support.agent import Agent, agent
from support.fake_model import FakeModel, Reply, Say, Use
from support.play import Desk, by_kind, play
from support.requests import result_text

pytestmark = pytest.mark.anyio
AUTO = {"QUILLBACK_MODE": "auto"}
BOTH = {"fs": {"readTextFile": True, "writeTextFile": True}}


def read(path: str, **more: object) -> Use:
    return Use("read_file", {"path": path, **more})


def write(path: str, content: str) -> Use:
    return Use("write_file", {"path": path, "content": content})


def edit(path: str, old: str, new: str) -> Use:
    return Use("edit_file", {"path": path, "old_text": old, "new_text": new})


class Buffers:
    """An editor's files: `unsaved` by path; all else is on disk, and saved there at once unless `saves` is False."""

    def __init__(self, a: Agent) -> None:
        self.unsaved: dict[str, str] = {}
        self.saves = True
        self.reads: list[dict] = []
        self.writes: list[tuple[str, str]] = []
        self.refusal: RpcError | None = None
        self.hang = False
        self._workspace = a.workspace
        a.client.on_request("fs/read_text_file", self._read)
        a.client.on_request("fs/write_text_file", self._write)

    async def _read(self, params: dict) -> dict:
        self.reads.append(params)
        if self.hang:
            await asyncio.Event().wait()
        if self.refusal:
            raise self.refusal
        path = params["path"]
        if path in self.unsaved:
            return {"content": self.unsaved[path]}
        try:
            return {"content": (self._workspace / path).read_bytes().decode().removeprefix("\ufeff")}
        except OSError:
            raise RpcError(-32002, "no such file") from None

    async def _write(self, params: dict) -> object:
        self.writes.append((params["path"], params["content"]))
        if self.refusal:
            raise self.refusal
        if self.saves:
            (self._workspace / params["path"]).write_bytes(params["content"].encode())
            self.unsaved.pop(params["path"], None)
        else:
            self.unsaved[params["path"]] = params["content"]
        return None


async def test_unsaved_text_is_what_the_agent_reads_and_changes(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=BOTH) as a:
        session = await a.session()
        editor = Buffers(a)
        file = a.workspace / "a.txt"
        file.write_text("saved\n")
        editor.unsaved[str(file)] = "unsaved one\nunsaved two\n"
        editor.saves = False
        shown, changed = await play(a, fake, session, read("a.txt"), edit("a.txt", "unsaved two", "third"))
        assert "unsaved one" in result_text(shown)
        assert not changed.get("is_error")
        assert editor.writes == [(str(file), "unsaved one\nthird\n")]
        assert "unsaved" in result_text(changed)  # the model is told that commands see another text
        assert file.read_text() == "saved\n"
        again, own = await play(a, fake, session, read("a.txt"), edit("a.txt", "third", "fourth"))
        assert "third" in result_text(again)
        assert not own.get("is_error")
        editor.unsaved[str(file)] = "typed by the user\n"
        (lost,) = await play(a, fake, session, write("a.txt", "mine\n"))
        assert lost["is_error"]
        assert editor.unsaved[str(file)] == "typed by the user\n"
        assert all(r["sessionId"] == session for r in editor.reads)


async def test_text_typed_while_the_question_was_open_is_kept(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, capabilities=BOTH) as a:
        session = await a.session()
        editor = Buffers(a)
        file = a.workspace / "a.txt"
        file.write_text("one\n")

        def typing(question):
            editor.unsaved[str(file)] = "one, and more\n"
            return by_kind("allow_once")(question)

        Desk(a, typing)
        _, outcome = await play(a, fake, session, read("a.txt"), edit("a.txt", "one", "two"))
        assert outcome["is_error"]
        assert editor.writes == []
        assert (file.read_text(), editor.unsaved[str(file)]) == ("one\n", "one, and more\n")


async def test_writes_go_through_an_editor_that_keeps_every_byte(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=BOTH) as a:
        session = await a.session()
        editor = Buffers(a)
        ws = a.workspace
        (ws / "plain.txt").write_text("é\n")
        (ws / "bom.txt").write_bytes(b"\xef\xbb\xbfa\n")
        (ws / "crlf.txt").write_bytes(b"a\r\nb\r\n")
        (ws / "target.txt").write_text("t\n")
        (ws / "link.txt").symlink_to("target.txt")
        names = ("plain.txt", "bom.txt", "crlf.txt", "link.txt")
        changes = (edit("plain.txt", "é", "è"), edit("bom.txt", "a", "b"), edit("crlf.txt", "b", "c"))
        others = (write("link.txt", "u\n"), write("fresh/new.txt", "n\n"))
        outcomes = await play(a, fake, session, *map(read, names), *changes, *others)
        assert not any(r.get("is_error") for r in outcomes), [result_text(r) for r in outcomes]
        assert [path for path, _ in editor.writes] == [str(ws / "plain.txt"), str(ws / "fresh/new.txt")]
        assert (ws / "plain.txt").read_text() == "è\n"
        assert (ws / "bom.txt").read_bytes() == b"\xef\xbb\xbfb\n"
        assert (ws / "crlf.txt").read_bytes() == b"a\r\nc\r\n"
        assert (ws / "link.txt").is_symlink()
        assert (ws / "target.txt").read_text() == "u\n"
        editor.unsaved[str(ws / "bom.txt")] = "typed\n"
        _, refused = await play(a, fake, session, read("bom.txt"), edit("bom.txt", "typed", "mine"))
        assert refused["is_error"]
        assert (ws / "bom.txt").read_bytes() == b"\xef\xbb\xbfb\n"
        assert editor.unsaved[str(ws / "bom.txt")] == "typed\n"


async def test_an_editor_that_refuses_or_answers_oddly_is_no_obstacle(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=BOTH) as a:
        session = await a.session()
        editor = Buffers(a)
        file = a.workspace / "a.txt"
        file.write_text("one\n")
        editor.refusal = RpcError(-32603, "no buffer")
        shown, changed = await play(a, fake, session, read("a.txt"), edit("a.txt", "one", "two"))
        assert "one" in result_text(shown)
        assert not changed.get("is_error")
        assert file.read_text() == "two\n"
        for odd in ([], None, "two\n", {"content": None}, {"text": "two\n"}, 7):

            async def answer(_, odd=odd):
                return odd

            a.client.on_request("fs/read_text_file", answer)
            (shown,) = await play(a, fake, session, read("a.txt"))
            assert "two" in result_text(shown), odd


async def test_an_editor_that_never_answers_holds_up_nothing_else(tmp_path, fake: FakeModel):
    fake.script("a", Reply(read("a.txt")))
    fake.script("b", Reply(Say("other")))
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=BOTH) as a:
        editor = Buffers(a)
        editor.hang = True
        (a.workspace / "a.txt").write_text("one\n")
        session, other = await a.session(), await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        await a.client.wait_for(lambda: editor.reads or None)
        assert (await a.client.prompt(other, "[[b]]")).text == "other"
        begun = time.monotonic()
        a.client.cancel(session)
        assert (await turn.finished()).stop_reason == "cancelled"
        assert time.monotonic() - begun < 5
        editor.hang = False
        (shown,) = await play(a, fake, session, read("a.txt"))
        assert "one" in result_text(shown)


@pytest.mark.parametrize("offered", [{}, {"fs": {"readTextFile": True}}, {"fs": {"writeTextFile": True}}])
async def test_what_is_not_offered_is_not_called(tmp_path, fake: FakeModel, offered):
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=offered) as a:
        (a.workspace / "a.txt").write_text("one\n")
        uses = (read("a.txt"), edit("a.txt", "one", "two"), write("b.txt", "new\n"))
        if offered.get("fs", {}).get("readTextFile"):
            Buffers(a)
        assert not any(r.get("is_error") for r in await play(a, fake, await a.session(), *uses))
        called = {m["method"] for d, m in a.client.log if d == "<-" and "method" in m and "id" in m}
        assert called == ({"fs/read_text_file"} if offered.get("fs", {}).get("readTextFile") else set())
        assert ((a.workspace / "a.txt").read_text(), (a.workspace / "b.txt").read_text()) == ("two\n", "new\n")
