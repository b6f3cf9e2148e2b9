"""After an undo the model and the user know of it, and no turn runs beside one."""

from pathlib import Path

import pytest
from attrs import evolve

from quillback.core.message import Role, Text, Thinking
from quillback.core.ports import SessionBusyError
from quillback.core.undo import Before, UndoReport, digest_of
from quillback.session.session import Session
from quillback.session.undo import NOTHING, UndoBusyError, undo_messages, undo_stored, undo_text
from support.fakes import Body, FakeTool, Gate, outcome
from support.replies import call, reply, say, spec, think
from support.session_kit import collect, kit
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
        assert "restored a.txt" in model.text()
        assert "restored a.txt" in user.text()
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
        assert ["removed new.txt" in m.text() for m in session.history[-2:]] == [True, True]


def test_what_is_said():
    report = UndoReport("u1", ("/w/a", "/other/b"), ("/w/c",), (("/w/d\n", "changed"),))
    text = undo_text(report, "/w", "Do this\nand that")
    assert text.startswith(
        "Undid the file changes of the turn “Do this and that”:\n\n- restored a\n- restored /other/b\n"
    )
    assert "\n- removed c\n- left alone d: changed\n" in text
    assert "shell commands" in text
    assert undo_text(UndoReport(""), "/w") == NOTHING
    assert "were not undone" in undo_text(UndoReport("u1", kept=(("/w/a", "changed"),)), "/w")
    given = {"cwd": "/w", "session_id": "s1", "new_id": str, "now": lambda: 1}
    assert undo_messages(UndoReport(""), [], **given) == []
    (only,) = undo_messages(report, [message("u9", seq=9)], **given, for_user=False)
    assert (only.seq, only.visible_to_user, only.thoughts_end) == (10, False, True)
