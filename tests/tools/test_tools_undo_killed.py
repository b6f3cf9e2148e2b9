"""An undo whose process is killed, at whatever moment, is done and told by the next one."""

import random
import stat
from pathlib import Path

import pytest

from quillback.tools.restore import CHANGED
from support.stores import start
from support.undoing import Turns, turns

pytestmark = pytest.mark.anyio
ROUNDS = 20
UNDO = """
    import threading
    from support.undoing import turns
    from quillback.session.undo import undo_turn
    from quillback.tools.restore import Restorer

    async def main():
        async with turns(path) as t:
            async def tell(report):
                t.store.put(said("told", "\\n".join((*report.restored, *report.removed))))
                await t.store.flush()

            await t.store.originals.latest("s1")
            threading.Timer(float(arguments[0]), os.kill, (os.getpid(), signal.SIGKILL)).start()
            await undo_turn(t.store.originals, "s1", Restorer(t.room.context), tell)
            signal.pause()

    asyncio.run(main())
"""
"""Undoes one turn, writes down what it tells, and kills itself after so many seconds."""


async def made(t: Turns) -> tuple[list[Path], list[Path]]:
    """A turn before, and one that has changed the first of these files and made the others."""
    old = [t.room.file(f"{n}.txt", "zero\n", 0o640) for n in range(12)]
    new = [t.room.workspace / f"new/{n}.txt" for n in range(6)]
    t.prompt = "p0"
    await t.write("earlier.txt", "earlier\n")
    t.prompt = "p1"
    for file in (*old, *new):
        await t.write(str(file.relative_to(t.room.workspace)), "one\n")
    return old, new


async def test_an_undo_that_is_killed_at_any_moment_is_done_and_told_by_the_next(tmp_path):
    cut = 0
    for number in range(ROUNDS):
        home = (tmp_path / str(number)).resolve()
        home.mkdir()
        async with turns(home) as t:
            old, new = await made(t)
        process = start(UNDO, home, str(random.uniform(0.0, 0.12)))
        assert process.communicate(timeout=30)[1] == ""
        async with turns(home) as t:
            assert {f.read_text() for f in old} <= {"zero\n", "one\n"}
            cut += {f.read_text() for f in old} == {"zero\n", "one\n"}
            theirs = random.choice(old)
            theirs.write_text("by the user\n")
            before = [text for m in await t.store.messages("s1") for text in m.text().split("\n")]
            report, told = await t.undo(), list(before)
            assert before or report.prompt == "p1"
            if report.prompt == "p1":
                assert report.kept in ((), ((str(theirs), CHANGED),))
                told += [*report.restored, *report.removed]
                assert before or len(told) + len(report.kept) == len(old) + len(new)
                report = await t.undo()
            assert {str(f) for f in (*old, *new) if f != theirs} <= set(told), "each is told, before or after the kill"
            assert (report.prompt, report.removed) == ("p0", (str(t.room.workspace / "earlier.txt"),))
            assert theirs.read_text() == "by the user\n"
            assert {(f.read_text(), stat.S_IMODE(f.stat().st_mode)) for f in old if f != theirs} == {("zero\n", 0o640)}
            await t.write("last.txt", "last\n")  # takes along what a killed writer left beside it
            assert {f.name for f in t.room.workspace.iterdir()} == {f.name for f in old} | {"last.txt"}
    assert cut, "no undo was killed between two files"
