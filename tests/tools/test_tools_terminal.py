import asyncio

import pytest

from quillback.core.message import Terminal, Text
from quillback.core.ports import EditorError, TerminalOutput
from support.toolroom import Room, text

pytestmark = pytest.mark.anyio


@pytest.fixture
def room(room: Room) -> Room:
    room.editor.offer(terminal=True)
    room.shell_in_editor = True
    room.open()
    return room


async def test_the_terminal_is_shown_first_and_its_text_stays(room: Room):
    room.editor.terminal = TerminalOutput("\x1b[1mhi\x1b[0m\r\nthere\r\n", False, True, 0)
    room.editor.terminal_done.set()
    outcome = await room.call("shell", command="echo hi; echo there")
    assert room.progress[0].shown == (Terminal("term_1"),)
    assert outcome.content == outcome.shown == (Text("hi\nthere"),)
    command, cwd, environment = room.editor.created[0]
    assert (command, cwd) == ("echo hi; echo there", str(room.workspace))
    assert environment["PAGER"] == "cat"
    assert room.editor.ended == [("term_1", False)]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (TerminalOutput("x", False, True, 3), "x\n[exit code 3]"),
        (TerminalOutput("", False, True, None, "SIGTERM"), "(no output)\n[ended by signal SIGTERM]"),
        (TerminalOutput("tail", True, True, 0), "[the editor kept only the end of the output]\ntail"),
    ],
)
async def test_how_it_ended(room: Room, end: TerminalOutput, expected: str):
    room.editor.terminal = end
    room.editor.terminal_done.set()
    outcome = await room.call("shell", command="x")
    assert text(outcome) == expected
    assert outcome.is_error == (end.exit_code != 0)


async def test_a_time_out_reads_the_output_and_kills(room: Room):
    room.editor.terminal = TerminalOutput("so far", False, False)
    outcome = await room.call("shell", command="x", timeout=0.05)
    assert text(outcome) == "so far\n[timed out after 0.05 s and was ended]"
    assert outcome.is_error
    assert room.editor.ended == [("term_1", True)]


async def test_a_cancel_kills_without_waiting(room: Room):
    task = asyncio.ensure_future(room.call("shell", command="x"))
    while not room.editor.created:
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert room.editor.ended == [("term_1", True)]


async def test_an_editor_that_gives_no_terminal(room: Room):
    room.editor.terminal_error = EditorError("none left", -32603)
    assert "none left" in await room.refused("shell", command="x")


async def test_jobs_are_ours_all_the_same(room: Room):
    await room.call("shell", command="echo mine", background=True)
    assert "mine" in await room.text("shell_output", job="job_1", wait=5)
    assert room.editor.created == []


@pytest.mark.parametrize(("offered", "wanted"), [(False, True), (True, False)])
async def test_only_when_offered_and_wanted(room: Room, offered: bool, wanted: bool):
    room.editor.offer(terminal=offered)
    room.shell_in_editor = wanted
    room.open()
    assert await room.text("shell", command="echo ours") == "ours"
    assert room.editor.created == []
