"""When a client is told of a session's commands: after the answer that opened it, and never between two chunks."""

import asyncio

import pytest
from attrs import define, field

from quillback.core.commands import CommandInfo
from quillback.edge import advertising
from quillback.edge.advertising import Advertising
from quillback_protocol import acp

pytestmark = pytest.mark.anyio


@define
class Record:
    id: str = "s1"


@define
class FakeCommands:
    names: list[str] = field(factory=lambda: ["help"])
    news: asyncio.Event = field(factory=asyncio.Event)
    broken: bool = False

    def available(self):
        if self.broken:
            raise RuntimeError("a source fails")
        return tuple(CommandInfo(name, "d", "h" if name == "hinted" else "") for name in self.names)

    async def changed(self):
        await self.news.wait()
        self.news.clear()

    def change(self, *names: str) -> None:
        self.names = list(names)
        self.news.set()


@define
class FakeSession:
    record: Record = field(factory=Record)
    commands: FakeCommands = field(factory=FakeCommands)


class Room:
    def __init__(self) -> None:
        self.sent: list[list[str]] = []
        self.updates: list[acp.AvailableCommandsUpdate] = []
        self.session = FakeSession()
        self.busy = False
        self.advertising = Advertising(self._send, lambda _: self.busy)

    def _send(self, session_id: str, update: acp.AvailableCommandsUpdate) -> None:
        assert session_id == "s1"
        self.updates.append(update)
        self.sent.append([c.name for c in update.available_commands])

    async def settle(self) -> None:
        """Whatever can happen now has happened."""
        for _ in range(10):
            await asyncio.sleep(0)


@pytest.fixture
async def room(monkeypatch):
    monkeypatch.setattr(advertising, "PAUSE", 0)
    room = Room()
    yield room
    room.advertising.end_all()
    await room.settle()


async def test_the_list_is_sent_once_and_again_when_it_changes(room):
    room.advertising.begin(room.session)
    assert room.sent == []
    await room.settle()
    assert room.sent == [["help"]]
    room.session.commands.news.set()
    await room.settle()
    assert room.sent == [["help"]]
    room.session.commands.change("help", "hinted")
    await room.settle()
    assert room.sent[1:] == [["help", "hinted"]]
    plain, hinted = room.updates[-1].available_commands
    assert (plain.input, hinted.input) == (None, acp.UnstructuredCommandInput("h"))


async def test_a_change_in_a_turn_waits_for_a_break(room):
    room.advertising.begin(room.session)
    await room.settle()
    room.busy = True
    room.session.commands.change("help", "new")
    await room.settle()
    room.advertising.before_prompt(room.session)
    room.advertising.after_prompt(room.session)
    assert room.sent == [["help"]]
    room.advertising.at_a_break(room.session)
    assert room.sent[1:] == [["help", "new"]]
    room.session.commands.change("help")
    await room.settle()
    room.busy = False
    room.advertising.after_prompt(room.session)
    assert room.sent[2:] == [["help"]]
    room.advertising.at_a_break(room.session)
    assert len(room.sent) == 3


async def test_a_prompt_looks_at_the_files_again(room):
    room.advertising.before_prompt(room.session)
    assert room.sent == []
    room.advertising.begin(room.session)
    room.advertising.before_prompt(room.session)
    assert room.sent == [["help"]]
    room.session.commands.names = ["help", "file"]
    room.advertising.before_prompt(room.session)
    assert room.sent[1:] == [["help", "file"]]


async def test_a_session_that_is_loaded_again_is_told_again(room):
    for _ in range(2):
        room.advertising.begin(room.session)
        await room.settle()
    assert room.sent == [["help"], ["help"]]


async def test_nothing_is_said_of_a_closed_session(room):
    room.advertising.begin(room.session)
    await room.settle()
    room.advertising.end("s1")
    room.advertising.end("s1")
    room.session.commands.change("other")
    await room.settle()
    room.advertising.before_prompt(room.session)
    room.advertising.after_prompt(room.session)
    assert room.sent == [["help"]]


async def test_a_source_that_fails_costs_no_prompt(room):
    room.session.commands.broken = True
    room.advertising.begin(room.session)
    await room.settle()
    room.advertising.before_prompt(room.session)
    assert room.sent == []
    room.session.commands.broken = False
    room.session.commands.change("help")
    await room.settle()
    assert room.sent == [["help"]]
