"""Tools that work in turns whose changes can be undone, on a real store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from attrs import define

from quillback.core.undo import UndoReport
from quillback.session.undo import Keeper, undo_turn
from quillback.store.sqlite import SqliteStore
from quillback.tools.restore import Restorer
from support.stores import opened
from support.toolroom import Room


@define
class Turns:
    """`prompt` is the turn that the tools of `room` work in."""

    room: Room
    store: SqliteStore
    prompt: str = "p1"

    async def write(self, name: str, content: str) -> None:
        if (self.room.workspace / name).exists():
            await self.room.call("read_file", path=name)
        await self.room.call("write_file", path=name, content=content)

    async def undo(self) -> UndoReport:
        return await undo_turn(self.store.originals, "s1", Restorer(self.room.context))

    async def undone(self) -> dict[str, object]:
        """The report with paths relative to the workspace, without what is empty."""
        report = await self.undo()

        def short(path: str) -> str:
            return str(Path(path).relative_to(self.room.workspace))

        said: dict[str, object] = {"restored": [*map(short, report.restored)], "removed": [*map(short, report.removed)]}
        said["kept"] = {short(path): reason for path, reason in report.kept}
        return {"prompt": report.prompt, **{name: value for name, value in said.items() if value}}


@asynccontextmanager
async def turns(home: Path) -> AsyncIterator[Turns]:
    known = (home / "q.db").exists()
    async with opened(home / "q.db", *([] if known else ["s1"])) as store:
        room = Room(home)
        made = Turns(room, store)
        room.keep_original = Keeper(store.originals, "s1", lambda: made.prompt)
        room.open()
        yield made
