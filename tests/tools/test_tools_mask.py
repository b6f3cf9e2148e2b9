"""Tools: keys are masked in what is kept and told while a command runs, and never by way of a mask in a file."""

import asyncio
from pathlib import Path

import pytest

from quillback.core.mask import Mask, masks_in
from quillback.core.message import Text
from quillback.core.ports import EditorCapabilities, TerminalOutput, ToolOutcome, ToolProgress
from quillback.tools.environment import secret_values
from support.keys import KEYS, PRIVATE_KEY
from support.toolroom import Room, text

pytestmark = pytest.mark.anyio
KEY, OTHER = KEYS["Anthropic"], KEYS["GitHub"]


def mask_of(room: Room, key: str) -> str:
    return room.context.mask.hide(key)


def kept(room: Room) -> str:
    return "".join(path.read_text() for path in room.context.outputs.rglob("*") if path.is_file())


@pytest.mark.parametrize("key", [KEY, PRIVATE_KEY])
async def test_a_command_that_prints_a_key_shows_a_mask(room: Room, key):
    room.file("key", key)
    assert await room.text("shell", command="cat key") == mask_of(room, key)


async def test_a_key_that_comes_in_two_pieces_is_never_shown_in_part(room: Room):
    room.file("go")
    head, tail = KEY[:20], KEY[20:]
    command = f"printf 'key=%s' {head}; until [ -e more ]; do sleep 0.01; done; printf '%s\\nend' {tail}; sleep 0.3"
    shown: list[str] = []
    running = (await room.prepare("shell", command=command)).run()
    async for step in running:
        match step:
            case ToolProgress(shown=(Text(text=so_far),)):
                shown.append(so_far)
                (room.workspace / "more").touch()
            case ToolOutcome():
                assert text(step) == f"key={mask_of(room, KEY)}\nend"
    assert shown
    assert not [line for line in shown if head in line or head[:12] in line]


async def test_a_job_that_is_asked_in_the_middle_of_a_key_holds_it_back(room: Room):
    command = f"printf 'key=%s' {KEY[:20]}; until [ -e more ]; do sleep 0.01; done; printf '%s\\n' {KEY[20:]}"
    await room.call("shell", command=command, background=True)
    first = await room.text("shell_output", job="job_1", wait=10)
    assert first == "key=\n[running]"
    room.file("more")
    rest = ""
    async with asyncio.timeout(5):
        while "exit code 0" not in rest:
            rest += await room.text("shell_output", job="job_1", wait=5)
    assert rest.startswith(mask_of(room, KEY))


async def test_whole_outputs_are_kept_without_keys(room: Room):
    room.file("many", f"{KEY}\n{PRIVATE_KEY}\n" + "x" * 80 + "\n" + (f"{OTHER} line\n" * 3000))
    for shown in (await room.text("shell", command="cat many"), await room.text("grep", pattern="line")):
        assert masks_in(shown)
    room.editor.capabilities = EditorCapabilities(terminal=True)
    room.shell_in_editor = True
    room.editor.terminal = TerminalOutput(f"{KEY}\n" * 3000, False, True, 0)
    room.editor.terminal_done.set()
    room.open()
    assert "omitted" in await room.text("shell", command="anything")
    whole = kept(room)
    assert len(whole) > 100_000
    assert masks_in(whole) == {mask_of(room, key) for key in (KEY, OTHER, PRIVATE_KEY)}
    assert not [key for key in (KEY, OTHER, "MIIE") if key in whole]


async def test_a_line_that_is_cut_does_not_show_half_a_key(room: Room):
    room.file("long", "word " * 398 + KEY + " and on\n")
    shown = await room.text("read_file", path="long")
    assert KEY[:8] not in shown
    assert "line cut" in shown
    room.file("wide", "word " * 98 + KEY + " and on\n")
    shown = await room.text("grep", pattern="word", path="wide")
    assert KEY[:8] not in shown
    assert "word …" in shown or shown.endswith("…")


# ---------------------------------------------------------------- files


async def known(room: Room, content: str) -> Path:
    path = room.file("config", content)
    await room.call("read_file", path="config")
    return path


async def test_a_file_with_a_key_can_be_edited_beside_the_key(room: Room):
    path = await known(room, f"name = a\nkey = {KEY}\n")
    await room.call("edit_file", path="config", old_text="name = a", new_text="name = b")
    assert path.read_text() == f"name = b\nkey = {KEY}\n"


async def test_a_key_that_the_model_writes_is_written(room: Room):
    path = await known(room, f"key = {KEY}\n")
    await room.call("write_file", path="config", content=f"key = {OTHER}\n")
    assert path.read_text() == f"key = {OTHER}\n"
    await room.call("edit_file", path="config", old_text=OTHER, new_text=KEY)
    assert path.read_text() == f"key = {KEY}\n"


async def test_a_mask_is_never_written_in_the_place_of_the_secret(room: Room):
    path = await known(room, before := f"name = a\nkey = {KEY}\n")
    mask = mask_of(room, KEY)
    why = await room.refused("edit_file", path="config", old_text=f"key = {mask}", new_text="key = x")
    assert f"{mask}, which stands for a secret that you are not shown: give a passage beside it" in why
    why = await room.refused("edit_file", path="config", old_text="name = a", new_text=f"name = {mask}")
    assert f"new_text holds {mask}, which stands for a secret" in why
    why = await room.refused("write_file", path="config", content=f"name = b\nkey = {mask}\n")
    assert f"content holds {mask}, which stands for a secret" in why
    assert path.read_text() == before
    for name, arguments in (("write_file", {"content": mask}), ("edit_file", {"old_text": "", "new_text": mask})):
        assert "stands for a secret" in await room.refused(name, path="new", **arguments)
    assert not (room.workspace / "new").exists()


async def test_a_mask_that_stands_in_the_file_itself_is_text(room: Room):
    mask = Mask().hide(KEY)
    path = await known(room, f"docs: {mask}\n")
    await room.call("edit_file", path="config", old_text=f"docs: {mask}", new_text=f"docs: shown as {mask}")
    await room.call("write_file", path="config", content=f"see {mask}\n")
    assert path.read_text() == f"see {mask}\n"


def test_the_values_of_held_back_variables_are_known(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "value-of-openai")
    monkeypatch.setenv("MY_PASSPHRASE", "value-of-my-own")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://localhost:1234")
    found = secret_values(frozenset({"MY_PASSPHRASE", "NOT_THERE"}))
    assert {"value-of-openai", "value-of-my-own"} <= found
    assert "http://localhost:1234" not in found
