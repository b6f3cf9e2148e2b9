"""A turn's changes of files are taken back, turn by turn, and never over what somebody else has written since."""

import random
import stat
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from quillback.core import undo
from quillback.core.ports import EditorError, StoreError, ToolError
from quillback.core.undo import Left
from quillback.session.undo import GIVEN_UP, ONLY_OWN, undo_turn
from quillback.tools.restore import CHANGED, ELSEWHERE, GONE, TOO_LARGE, UNSAVED, Restorer
from support.stores import start
from support.undoing import Turns, turns

pytestmark = pytest.mark.anyio


@pytest.fixture
async def t(tmp_path):
    async with turns(tmp_path) as made:
        yield made


async def test_a_turn_is_taken_back_with_bytes_and_mode(t: Turns):
    run = t.room.file("run.sh", b"\xef\xbb\xbfecho \xc3\xa9\r\n", 0o751)
    await t.write("run.sh", "changed once\n")
    await t.write("run.sh", "changed twice\n")
    await t.write("new.txt", "new\n")
    run.chmod(0o600)  # as some editors leave it
    assert await t.undone() == {"prompt": "p1", "restored": ["run.sh"], "removed": ["new.txt"]}
    assert run.read_bytes() == b"\xef\xbb\xbfecho \xc3\xa9\r\n"
    assert stat.S_IMODE(run.stat().st_mode) == 0o751
    assert [f.name for f in t.room.workspace.iterdir()] == ["run.sh"]
    assert await t.undone() == {"prompt": ""}


async def test_undo_goes_back_turn_by_turn(t: Turns):
    file, other = t.room.file("a.txt", "zero\n"), t.room.file("b.txt", "b\n")
    for number in (1, 2, 3):
        t.prompt = f"p{number}"
        await t.write("a.txt", f"turn {number}\n")
    await t.write("b.txt", "changed\n")
    assert await t.undone() == {"prompt": "p3", "restored": ["a.txt", "b.txt"]}
    assert (file.read_text(), other.read_text()) == ("turn 2\n", "b\n")
    t.prompt = "p4"
    await t.write("a.txt", "turn 4\n")
    assert [(await t.undone())["prompt"] for _ in range(4)] == ["p4", "p2", "p1", ""]
    assert file.read_text() == "zero\n"


async def test_what_others_wrote_since_stays(t: Turns):
    ours, gone, fine = (t.room.file(name, "zero\n") for name in ("ours.txt", "gone.txt", "fine.txt"))
    for name in ("ours.txt", "gone.txt", "fine.txt", "new.txt"):
        await t.write(name, "one\n")
    (t.room.workspace / "new.txt").write_text("one\nand more\n")
    ours.write_text("by the user\n")
    gone.unlink()
    kept = {"gone.txt": GONE, "new.txt": CHANGED, "ours.txt": CHANGED}
    assert await t.undone() == {"prompt": "p1", "restored": ["fine.txt"], "kept": kept}
    assert ours.read_text() == "by the user\n"
    assert (t.room.workspace / "new.txt").read_text() == "one\nand more\n"
    assert not gone.exists()
    assert fine.read_text() == "zero\n"
    assert await t.undone() == {"prompt": ""}, "what is left alone does not keep undo from going further back"


async def test_what_the_user_has_taken_back_already_is_told_apart(t: Turns):
    mine = t.room.file("mine.txt", "zero\n")
    t.room.file("fine.txt", "zero\n")
    for name in ("mine.txt", "fine.txt", "gone.txt", "new.txt"):
        await t.write(name, "one\n")
    mine.write_text("zero\n")
    (t.room.workspace / "gone.txt").unlink()
    report = await t.undo()
    assert [Path(path).name for path in report.already] == ["gone.txt", "mine.txt"]
    assert [Path(path).name for path in report.removed] == ["gone.txt", "new.txt"]
    assert [Path(path).name for path in report.restored] == ["fine.txt", "mine.txt"]


async def test_changes_of_others_within_a_turn_or_between_turns_are_found_again(t: Turns):
    file = t.room.file("a.txt", "zero\n")
    await t.write("a.txt", "one\n")
    file.write_text("one, by the user\n")
    await t.write("a.txt", "two\n")
    assert await t.undone() == {"prompt": "p1", "kept": {"a.txt": ONLY_OWN}}
    assert file.read_text() == "one, by the user\n"
    t.prompt = "p2"
    await t.write("a.txt", "three\n")
    file.write_text("three, by the user\n")
    t.prompt = "p3"
    await t.write("a.txt", "four\n")
    assert await t.undone() == {"prompt": "p3", "restored": ["a.txt"]}
    assert file.read_text() == "three, by the user\n"
    assert await t.undone() == {"prompt": "p2", "kept": {"a.txt": CHANGED}}
    assert file.read_text() == "three, by the user\n"


async def test_links_stay_links(t: Turns):
    target = t.room.file("target.txt", "zero\n")
    link = t.room.workspace / "link.txt"
    link.symlink_to("target.txt")
    await t.write("link.txt", "one\n")
    assert target.read_text() == "one\n"
    assert await t.undone() == {"prompt": "p1", "restored": ["link.txt"]}
    assert link.is_symlink()
    assert target.read_text() == "zero\n"
    t.prompt = "p2"
    await t.write("link.txt", "two\n")
    other = t.room.file("other.txt", "two\n")
    link.unlink()
    link.symlink_to("other.txt")
    assert await t.undone() == {"prompt": "p2", "kept": {"link.txt": ELSEWHERE}}
    assert (other.read_text(), target.read_text()) == ("two\n", "two\n")


async def test_directories_that_were_made_go_when_they_are_empty(t: Turns):
    t.room.file("there/old.txt", "old\n")
    await t.write("there/deep/er/a.txt", "a\n")
    await t.write("there/deep/er/b.txt", "b\n")
    await t.write("mine/too/c.txt", "c\n")
    t.room.file("mine/theirs.txt", "theirs\n")
    assert (await t.undone())["removed"] == ["mine/too/c.txt", "there/deep/er/a.txt", "there/deep/er/b.txt"]
    left = sorted(str(p.relative_to(t.room.workspace)) for p in t.room.workspace.rglob("*"))
    assert left == ["mine", "mine/theirs.txt", "there", "there/old.txt"]


async def test_a_file_too_large_to_keep_is_changed_all_the_same(t: Turns, monkeypatch):
    monkeypatch.setattr("quillback.store.originals.KEPT_BYTES", 10)
    assert undo.KEPT_BYTES > 10
    file = t.room.file("large.txt", "more than ten bytes\n")
    t.room.file("small.txt", "small\n")
    await t.write("large.txt", "changed\n")
    await t.write("small.txt", "changed\n")
    assert await t.undone() == {"prompt": "p1", "restored": ["small.txt"], "kept": {"large.txt": TOO_LARGE}}
    assert file.read_text() == "changed\n"


async def test_a_file_that_cannot_be_kept_is_not_changed(t: Turns):
    file = t.room.file("a.txt", "zero\n")

    class Full:
        async def __call__(self, before, after):
            raise StoreError("the disk is full")

    t.room.context.keep_original = Full()
    await t.room.call("read_file", path="a.txt")
    assert "could not be kept for an undo: the disk is full" in await t.room.refused(
        "write_file", path="a.txt", content="one\n"
    )
    assert file.read_text() == "zero\n"


async def test_a_call_that_came_to_nothing_is_nothing_to_undo(t: Turns, monkeypatch):
    async def full(*_):
        raise ToolError("no space left on device")

    file = t.room.file("a.txt", "zero\n")
    await t.write("a.txt", "one\n")
    t.prompt = "p2"
    monkeypatch.setattr("quillback.tools.change.replace_file", full)
    assert "no space" in await t.room.refused("write_file", path="a.txt", content="two\n")
    assert await t.undone() == {"prompt": "p1", "restored": ["a.txt"]}
    assert file.read_text() == "zero\n"


@pytest.mark.parametrize("noted", [True, False])
async def test_a_kill_between_keep_write_and_note_leaves_what_undo_can_tell(t: Turns, noted):
    """A process that is killed before, or after, the file has changed; the note of it may not have come."""
    file = t.room.file("a.txt", "zero\n")
    await t.write("a.txt", "one\n")
    t.prompt = "p2"
    keep = t.room.context.keep_original
    killed = RuntimeError("killed")

    @asynccontextmanager
    async def dying(before_write: bool):
        class Dies:
            async def __call__(self, before, after):
                await keep(before, after)
                if before_write:
                    raise killed

            async def written(self, path, digest):
                if noted:
                    await keep.written(path, digest)
                raise killed

        t.room.context.keep_original = Dies()
        with pytest.raises(RuntimeError, match="killed"):
            yield
        t.room.context.keep_original = keep

    async with dying(before_write=True):
        await t.write("a.txt", "two\n")
    async with dying(before_write=False):
        await t.write("a.txt", "two\n")
    async with dying(before_write=True):
        await t.write("a.txt", "three\n")
    assert file.read_text() == "two\n"
    assert await t.undone() == {"prompt": "p2", "restored": ["a.txt"]}
    assert file.read_text() == "one\n"
    t.prompt = "p3"
    async with dying(before_write=True):
        await t.write("a.txt", "two\n")
    assert await t.undone() == {"prompt": "p1", "restored": ["a.txt"]}, "turn p3 has changed nothing"


async def test_after_a_kill_at_any_moment_all_can_be_undone(tmp_path):
    script = """
        from support.undoing import turns

        async def main():
            async with turns(path) as t:
                t.room.file("a.txt", "zero")
                for number in range(400):
                    t.prompt = f"p{number // 8}"
                    await t.write("a.txt", f"{number}")
                    if number == 0:
                        print("begun", flush=True)
                    await t.write(f"new/{number % 7}.txt", f"{number}")

        asyncio.run(main())
    """
    for number in range(4):
        home = (tmp_path / str(number)).resolve()
        home.mkdir()
        process = start(script, home)
        assert process.stdout.readline() == "begun\n"
        time.sleep(random.uniform(0.05, 0.3))
        process.kill()
        process.communicate(timeout=30)
        async with turns(home) as t:
            reports = []
            while (report := await t.undo()).prompt:
                assert report.kept == ()
                reports.append(report.prompt)
            assert len(reports) == len(set(reports)) > 0
            assert (t.room.workspace / "a.txt").read_text() == "zero"
            assert not (t.room.workspace / "new").exists()


async def test_an_undo_that_was_cut_off_goes_on_where_it_stopped(t: Turns):
    files = [t.room.file(f"{n}.txt", "zero\n") for n in range(4)]
    for file in files:
        await t.write(file.name, "one\n")
    t.prompt = "p2"
    await t.write("later.txt", "later\n")
    assert (await t.undone())["prompt"] == "p2"
    restore = Restorer(t.room.context)
    count = 0

    async def dies(original):
        nonlocal count
        count += 1
        if count == 3:
            await restore(original)
            raise RuntimeError("killed after the file was put back and before that was written down")
        return await restore(original)

    with pytest.raises(RuntimeError, match="killed"):
        await undo_turn(t.store.originals, "s1", dies)
    assert sorted(f.read_text() for f in files) == ["one\n", "zero\n", "zero\n", "zero\n"]
    files[2].write_text("by the user\n")
    restored = ["0.txt", "1.txt", "3.txt"]
    assert await t.undone() == {"prompt": "p1", "restored": restored, "kept": {"2.txt": CHANGED}}, "all of it is told"
    assert [f.read_text() for f in files] == ["zero\n", "zero\n", "by the user\n", "zero\n"]
    assert await t.undone() == {"prompt": ""}


async def test_what_failed_is_tried_once_more_and_then_given_up(t: Turns):
    first, second = t.room.file("a.txt", "zero\n"), t.room.file("b.txt", "zero\n")
    await t.write("b.txt", "old turn\n")
    t.prompt = "p2"
    await t.write("a.txt", "one\n")
    await t.write("b.txt", "one\n")
    restore = Restorer(t.room.context)

    async def failing(original):
        return Left("no", again=True) if original.path.endswith("a.txt") else await restore(original)

    report = await undo_turn(t.store.originals, "s1", failing)
    assert (report.prompt, report.restored, report.kept) == ("p2", (str(second),), ((str(first), "no"),))
    report = await undo_turn(t.store.originals, "s1", failing)
    assert (report.prompt, report.kept) == ("p2", ((str(first), "no" + GIVEN_UP),))
    report = await undo_turn(t.store.originals, "s1", failing)
    assert (report.prompt, report.restored) == ("p1", (str(second),))


async def test_a_read_only_file_can_be_put_back_later(t: Turns):
    file = t.room.file("a.txt", "zero\n")
    await t.write("a.txt", "one\n")
    file.chmod(0o444)
    assert await t.undone() == {"prompt": "p1", "kept": {"a.txt": "read-only (mode 0444)"}}
    file.chmod(0o644)
    assert await t.undone() == {"prompt": "p1", "restored": ["a.txt"]}


async def test_a_directory_in_its_place_is_left_alone(t: Turns):
    await t.write("a", "one\n")
    place = t.room.workspace / "a"
    place.unlink()
    place.mkdir()
    report = await t.undone()
    assert list(report["kept"]) == ["a"]
    assert place.is_dir()


# ---------------------------------------------------------------- through the editor


async def test_changes_through_the_editor_are_undone(t: Turns):
    t.room.editor.offer(read=True, write=True)
    file = t.room.file("a.txt", "a  zero\n", 0o640)
    await t.write("a.txt", "one\n")
    t.room.editor.formats = True
    await t.write("new.txt", "one  two\n")
    assert [content for _, content in t.room.editor.written] == ["one\n", "one  two\n"]
    assert (t.room.workspace / "new.txt").read_text() == "one two\n"
    assert await t.undone() == {"prompt": "p1", "restored": ["a.txt"], "removed": ["new.txt"]}
    assert file.read_text() == "a  zero\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    t.room.editor.write_error = EditorError("no")
    t.prompt = "p2"
    await t.write("a.txt", "by us\n")
    assert await t.undone() == {"prompt": "p2", "restored": ["a.txt"]}


async def test_unsaved_text_in_the_editor_is_left_and_named(t: Turns):
    t.room.editor.offer(read=True, write=True)
    file = t.room.file("a.txt", "zero\n")
    await t.write("a.txt", "one\n")
    t.room.editor.buffers[str(file)] = "one, typed on\n"
    assert await t.undone() == {"prompt": "p1", "kept": {"a.txt": UNSAVED}}
    assert file.read_text() == "one\n"
    assert t.room.editor.buffers == {str(file): "one, typed on\n"}
    del t.room.editor.buffers[str(file)]
    assert await t.undone() == {"prompt": "p1", "restored": ["a.txt"]}
    assert file.read_text() == "zero\n"


async def test_an_editor_that_holds_the_change_unsaved(t: Turns):
    t.room.editor.offer(read=True, write=True)
    t.room.editor.saves = False
    file = t.room.file("a.txt", "zero\n")
    await t.write("a.txt", "one\n")
    await t.write("a.txt", "two\n")
    assert await t.undone() == {"prompt": "p1", "kept": {"a.txt": UNSAVED}}
    file.write_text(t.room.editor.buffers.pop(str(file)))  # the user saves it
    assert await t.undone() == {"prompt": "p1", "restored": ["a.txt"]}
    assert file.read_text() == "zero\n"


async def test_what_the_user_had_not_saved_comes_back(t: Turns):
    """The change started from the unsaved text and saved it; the disk's older text is not what was there before."""
    t.room.editor.offer(read=True, write=True)
    file = t.room.file("a.txt", "zero\n")
    t.room.editor.buffers[str(file)] = "zero, and typed\n"
    await t.write("a.txt", "one\n")
    assert file.read_text() == "one\n"
    assert await t.undone() == {"prompt": "p1", "restored": ["a.txt"]}
    assert file.read_text() == "zero, and typed\n"
