"""After an undo the model and the user know of it, and no turn runs beside one."""

import asyncio
from operator import attrgetter
from pathlib import Path

import pytest
from attrs import evolve

from quillback.core.commands import CommandResult, Desk, Say
from quillback.core.event import StopReason
from quillback.core.message import Message, Role, Text, Thinking
from quillback.core.ports import Editor, SessionBusyError, SessionRecord, StoreError
from quillback.core.undo import NOTHING, Before, Fate, Original, RestoreFile, UndoReport, digest_of, undo_text
from quillback.session.session import Session
from quillback.session.subagent_parts import NoCommands
from quillback.session.undo import CUT_OFF, Keeper, UndoBusyError, undo_messages, undo_stored
from quillback.tools.restore import restorer
from support.fakes import Body, FakeTool, Gate, outcome, until
from support.replies import call, reply, say, spec, think
from support.session_kit import Kit, collect, completed, kit
from support.stores import message, new_store

pytestmark = pytest.mark.anyio


async def changed(session: Session, path: Path, text: str) -> None:
    """What a tool does with a file."""
    before = path.read_bytes() if path.exists() else None
    given = Before(str(path), str(path), before, None if before is None else 0o644)
    await session.request.keep_original(given, digest_of(text.encode()))
    path.write_text(text)
    await session.request.keep_original.written(str(path), digest_of(text.encode()))


def waits_at(gate: Gate) -> Body:
    async def body(_):
        await gate()
        yield outcome()

    return body


async def test_model_and_user_are_told(tmp_path):
    gate = Gate()
    scripts = (reply(think("a plan"), call("work")), reply(say("done")), reply(say("I see")))
    tool = FakeTool(spec("work"), waits_at(gate))
    async with kit(tmp_path, *scripts, tools=[tool]) as k:
        file = Path(k.cwd) / "a.txt"
        file.write_text("zero")
        running = collect(k.session.submit([Text("Change a.txt")]))
        await gate.wait()
        with pytest.raises(UndoBusyError, match="a turn is running"):
            await k.session.undo()
        await changed(k.session, file, "one")
        gate.open()
        await running
        report = await k.session.undo()
        assert (report.prompt, report.restored) == (k.session.history[0].id, (str(file),))
        assert file.read_text() == "zero"
        model, user = k.session.history[-2:]
        assert (model.role, model.visible_to_user, model.visible_to_model) == (Role.USER, False, True)
        assert (user.role, user.visible_to_user, user.visible_to_model) == (Role.ASSISTANT, True, False)
        assert "restored `a.txt`" in model.text()
        assert "restored `a.txt`" in user.text()
        assert "“Change a.txt”" in user.text()
        assert await k.stored() == k.session.history
        await k.play("And now?")
        parts = [p for m in k.model.requests[-1].messages for p in m.parts]
        assert model.parts[0] in parts
        assert user.parts[0] not in parts
        assert not [p for p in parts if isinstance(p, Thinking)]
        assert await k.session.undo() == UndoReport("")
        assert len(k.session.history) == len(await k.stored()) == 8


async def test_a_session_that_is_not_open_is_undone_and_given_back(tmp_path):
    gate = Gate()
    tool = FakeTool(spec("work"), waits_at(gate))
    async with kit(tmp_path, reply(call("work")), tools=[tool]) as k:
        file = Path(k.cwd) / "new.txt"
        running = collect(k.session.submit([Text("Make new.txt")]))
        await gate.wait()
        await changed(k.session, file, "one")
        other = new_store(tmp_path / "quillback.db")
        elsewhere = evolve(k.services, store=other)
        record = k.session.record
        with pytest.raises(SessionBusyError, match="is open in another"):
            await undo_stored(elsewhere, record, k.editor)
        assert file.exists()
        k.session.cancel()
        await running
        await k.sessions.close(record.id)
        report, prompt = await undo_stored(elsewhere, record, k.editor)
        assert (report.removed, prompt) == ((str(file),), "Make new.txt")
        assert not file.exists()
        assert await undo_stored(elsewhere, record, k.editor) == (UndoReport(""), "")
        await other.close()
        session = await k.sessions.open(record.id, k.cwd)
        assert ["removed `new.txt`" in m.text() for m in session.history[-2:]] == [True, True]


class Undoes(NoCommands):
    """Knows `/undo`."""

    async def run(self, name: str, argument: str, desk: Desk) -> CommandResult | None:
        report, prompt = await desk.undo()
        return Say(undo_text(report, desk.record.cwd, prompt))


async def many(k: Kit, count: int) -> list[Path]:
    """Files that the latest turn has made."""
    files = [Path(k.cwd) / f"{n}.txt" for n in range(count)]
    keeper = Keeper(k.store.originals, k.session.record.id, lambda: "p1")
    for file in files:
        await keeper(Before(str(file), str(file), None, None), digest_of(b"one"))
        file.write_text("one")
        await keeper.written(str(file), digest_of(b"one"))
    return files


def told_of(k: Kit, files: list[Path], words: str) -> None:
    """Model and user know of each file."""
    texts = [[m.text() for m in k.session.history if f(m)] for f in (attrgetter("visible_to_model"), _only_user)]
    for heard in texts:
        for file in files:
            assert any(words.format(file.name) in text for text in heard), (words, file.name, heard)


def _only_user(message: Message) -> bool:
    return message.visible_to_user and not message.visible_to_model


@pytest.mark.parametrize("left", [59, 58, 30, 1, 0])
async def test_an_undo_that_is_cancelled_comes_to_its_end_and_is_told(tmp_path, left):
    async with kit(tmp_path, reply(say("I see")), commands=Undoes()) as k:
        files = await many(k, 60)
        running = collect(k.session.submit([Text("/undo")]))
        await until(lambda: sum(f.exists() for f in files) <= left)
        k.session.cancel()
        end = completed(await running)
        assert (end.stop_reason, end.error) in ((StopReason.CANCELLED, ""), (StopReason.END_TURN, ""))
        assert not [f for f in files if f.exists()]
        told_of(k, files, "- removed `{}`")
        assert await k.stored() == k.session.history
        await k.play("And now?")
        asked = "".join(p.text for m in k.model.requests[-1].messages for p in m.parts if isinstance(p, Text))
        assert asked.count("- removed ") == 60
        assert await k.session.undo() == UndoReport("")


async def test_a_request_to_undo_that_is_cancelled_comes_to_its_end_too(tmp_path):
    async with kit(tmp_path) as k:
        files = await many(k, 20)
        undoing = asyncio.create_task(k.session.undo())
        await until(lambda: not files[-1].exists())
        undoing.cancel()
        await asyncio.sleep(0)
        undoing.cancel()
        assert len((await undoing).removed) == 20
        assert not [f for f in files if f.exists()]
        told_of(k, files, "- removed `{}`")


async def test_a_cancelled_undo_that_hangs_is_cut_off_and_says_how_far_it_came(tmp_path, monkeypatch):
    monkeypatch.setattr("quillback.session.undo.AFTER_CANCEL", 0.05)
    gate, hangs = Gate(), [True]

    def restore(record: SessionRecord, editor: Editor) -> RestoreFile:
        real = restorer(record, editor)

        async def one(original: Original) -> Fate:
            if hangs and original.name.endswith("/1.txt"):
                await gate()
            return await real(original)

        return one

    async with kit(tmp_path, commands=Undoes()) as k:
        k.session.past = evolve(k.session.past, services=evolve(k.services, restore=restore))
        files = await many(k, 4)
        running = collect(k.session.submit([Text("/undo")]))
        await gate.wait()
        k.session.cancel()
        assert completed(await running).stop_reason is StopReason.CANCELLED
        assert [f.exists() for f in files] == [True, True, False, False]
        told_of(k, files[2:], "- removed `{}`")
        told_of(k, files[:2], "- left alone `{}`: " + CUT_OFF)
        hangs.clear()
        assert (await k.session.undo()).removed == tuple(map(str, files))
        assert not [f for f in files if f.exists()]


async def test_a_database_that_fails_in_the_middle_hides_nothing(tmp_path, monkeypatch, caplog):
    async with kit(tmp_path) as k:
        files = await many(k, 4)
        originals = k.store.originals
        real, settle, count = originals.original, originals.settle, iter(range(100))

        async def fails(number: int) -> Original | None:
            if next(count) == 2:
                raise StoreError("the disk is gone")
            return await real(number)

        async def never(number: int) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(originals, "original", fails)
        with pytest.raises(StoreError, match=r"undo again to go on\. the disk is gone"):
            await k.session.undo()
        assert [f.exists() for f in files] == [True, True, False, False]
        told_of(k, files[2:], "- removed `{}`")
        monkeypatch.setattr(originals, "settle", never)
        assert len((await k.session.undo()).removed) == 4
        assert "the disk is full" in caplog.text
        monkeypatch.setattr(originals, "settle", settle)
        again = await k.session.undo()
        assert len(again.removed) == len(again.already) == 4, "done over: nothing else is touched"
        assert await k.session.undo() == UndoReport("")


def test_what_is_said():
    report = UndoReport("u1", ("/w/a", "/other/b"), ("/w/c",), (("/w/d\n", "changed"),))
    text = undo_text(report, "/w", "Do this\nand that")
    assert text.startswith(
        "Undid the file changes of the turn “Do this and that”:\n\n- restored `a`\n- restored `/other/b`\n"
    )
    assert "\n- removed `c`\n- left alone `d`: changed\n" in text
    assert "shell commands" in text
    assert undo_text(UndoReport(""), "/w") == NOTHING
    assert "were not undone" in undo_text(UndoReport("u1", kept=(("/w/a", "changed"),)), "/w")
    some = UndoReport("u1", ("/w/a", "/w/b"), ("/w/c", "/w/d"), already=("/w/b", "/w/d"))
    assert (
        undo_text(some, "/w")
        .partition("\n\n")[2]
        .startswith("- restored `a`\n- already as it was before: `b`\n- removed `c`\n- already gone: `d`\n")
    )
    assert "were undone already:" in undo_text(UndoReport("u1", removed=("/w/c",), already=("/w/c",)), "/w")
    assert "were not undone:" in undo_text(UndoReport("u1", (), ("/w/c",), (("/w/a", "x"),), ("/w/c",)), "/w")
    assert "- restored `__init__.py`" in undo_text(UndoReport("u1", ("/w/__init__.py",)), "/w")
    given = {"cwd": "/w", "session_id": "s1", "new_id": str, "now": lambda: 1}
    assert undo_messages(UndoReport(""), [], **given) == []
    (only,) = undo_messages(report, [message("u9", seq=9)], **given, for_user=False)
    assert (only.seq, only.visible_to_user, only.thoughts_end) == (10, False, True)
