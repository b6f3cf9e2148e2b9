"""A fork is a copy of a session up to a message: whole steps, ids of its own, and the original stays as it was."""

from itertools import count

import pytest
from attrs import evolve

from quillback.core.message import Message, MessageState, Role, Summary, Text, Thinking, ToolResult, ToolUse
from quillback.core.model import Thinking as ThinkingLevel
from quillback.core.ports import Mode
from quillback.core.repair import unanswered, visible
from quillback.session.fork import CUT_OFF, ForkError, copied
from quillback.session.registry import BadDirectoryError, UnknownSessionError
from support.fakes import Gate
from support.replies import call, partial, reply, say, think
from support.session_kit import collect, kit
from support.stores import message

pytestmark = pytest.mark.anyio


def use(id_: str) -> ToolUse:
    return ToolUse(id_, id_, "read", {"path": id_})


def result(id_: str) -> ToolResult:
    return ToolResult(id_, (Text(f"result of {id_}"),))


STREAM = [
    message("u1", Text("go"), seq=1, role=Role.USER),
    message("a1", Thinking("hm", "sig", "think1"), Text("first", "run1"), use("c1"), use("c2"), seq=2, model="m1"),
    message("t1", result("c2"), seq=3, role=Role.TOOL),
    message("t2", result("c1"), seq=4, role=Role.TOOL),
    message("a2", Text("second", "run2"), seq=5, model="m1", cost=0.5),
    message("u2", Text("more"), seq=6, role=Role.USER),
    message("a3", use("c3"), seq=7, model="m1"),
]


def fork_of(messages: list[Message], through: str = "") -> list[Message]:
    numbers = count(1)
    return copied(messages, through, "s2", lambda prefix: f"{prefix}_{next(numbers)}")


@pytest.mark.parametrize(
    ("through", "length"),
    [("u1", 1), ("a1", 4), ("run1", 4), ("think1", 4), ("t1", 4), ("t2", 4), ("a2", 5), ("run2", 5), ("u2", 6)],
)
def test_a_step_stays_whole(through, length):
    copies = fork_of(STREAM, through)
    assert len(copies) == length
    assert unanswered(copies) == []
    assert [m.parts[-1] for m in copies[2:4]] == [m.parts[-1] for m in STREAM[2:4]][: max(0, length - 2)]


def test_a_copy_has_ids_of_its_own():
    copies = fork_of(STREAM, "u2")
    assert {m.session_id for m in copies} == {"s2"}
    assert [m.seq for m in copies] == [1, 2, 3, 4, 5, 6]
    mine = [m.id for m in copies] + [p.run_id for m in copies for p in m.parts if isinstance(p, Text | Thinking)]
    assert len({i for i in mine if i}) == 6 + 3
    assert not {"u1", "a1", "run1", "think1", "run2"} & set(mine)
    assert [c.id for m in copies for c in m.tool_uses()] == ["c1", "c2"]
    assert [m.text() for m in copies] == [m.text() for m in STREAM[:6]]
    assert sum(m.cost for m in copies) == 0


@pytest.mark.parametrize("through", ["", "a3"])
def test_calls_that_still_run_get_a_result_that_says_so(through):
    waiting = message("q1", Text("queued"), seq=0, role=Role.USER, state=MessageState.QUEUED)
    copies = fork_of([*STREAM, waiting], through)
    assert unanswered(copies) == []
    (last,) = copies[-1].tool_results()
    assert (last.call_id, last.is_error, last.content) == ("c3", True, (Text(CUT_OFF),))
    assert len(copies) == 8


def test_what_grows_is_left_out_and_cannot_be_forked_at():
    growing = message("a4", Text("not yet", "run4"), seq=8, state=MessageState.STREAMING)
    assert len(fork_of([*STREAM[:6], growing])) == 6
    for unknown in ("a4", "run4", "nobody"):
        with pytest.raises(ForkError, match=unknown):
            fork_of([*STREAM, growing], unknown)
    assert fork_of([]) == []


def test_thinking_of_before_is_shown_and_not_sent():
    copies = fork_of(STREAM, "a2")
    assert any(isinstance(p, Thinking) and p.text == "hm" for m in copies for p in m.parts)
    later = message("a9", Thinking("new", "sig"), Text("third"), seq=9, model="m1")
    sent = [p for m in visible([*copies, later], "m1") for p in m.parts if isinstance(p, Thinking)]
    assert sent == [Thinking("new", "sig")]
    assert any(isinstance(p, Thinking) and p.text == "hm" for m in visible(STREAM, "m1") for p in m.parts)


def test_a_fork_before_a_compaction_sees_all_there_was():
    summary = message("s1", Summary("what was"), seq=8, role=Role.USER, visible_to_user=False)
    stream = [*STREAM[:6], summary, message("a5", Text("third", "run5"), seq=9)]
    assert len(visible(fork_of(stream, "a2"), "m1")) == 5
    assert next(m.parts for m in visible(fork_of(stream), "m1")) == (Text("what was"),)


# ---------------------------------------------------------------- sessions


async def test_both_go_on_by_themselves(tmp_path):
    scripts = (reply(think("hm"), say("one")), reply(say("two")), reply(say("three")), reply(say("four")))
    async with kit(tmp_path, *scripts) as k:
        await k.play("first")
        await k.play("second")
        original = k.session
        original.set_mode(Mode.APPROVE)
        original.set_thinking(ThinkingLevel.HIGH)
        before = await k.stored()
        fork = await k.sessions.fork(original.record.id, k.cwd, through=before[1].id)
        assert fork.record.id != original.record.id
        assert fork.record.title == "first (fork)"
        assert (fork.record.cwd, fork.record.mode, fork.record.thinking) == (k.cwd, Mode.APPROVE, ThinkingLevel.HIGH)
        assert fork.record.cost == 0 < original.record.cost
        assert [m.text() for m in fork.history] == ["first", "one"]
        assert await k.stored() == before
        await k.play("third", fork)
        said = [p.text for m in k.model.requests[-1].messages for p in m.parts if isinstance(p, Text)]
        assert said == ["first", "one", "third"]
        assert not [p for m in k.model.requests[-1].messages for p in m.parts if isinstance(p, Thinking)]
        await k.play("fourth")
        said = [p.text for m in k.model.requests[-1].messages for p in m.parts if isinstance(p, Text)]
        assert said == ["first", "one", "second", "two", "fourth"]
        again = await k.sessions.fork(fork.record.id, k.cwd)
        assert again.record.title == "first (fork)"
        stored = await k.store.messages(again.record.id)
        assert [m.text() for m in stored] == ["first", "one", "third", "three"]


async def test_a_session_can_be_forked_while_its_turn_runs(tmp_path):
    gate = Gate()
    scripts = (
        reply(say("I look. "), call("read", {"path": "a"})),
        [*partial(say("growing")), gate],
        reply(say("here")),
    )
    async with kit(tmp_path, *scripts) as k:
        running = collect(k.session.submit([Text("go")]))
        await gate.wait()
        fork = await k.sessions.fork(k.session.record.id, k.cwd)
        assert [m.role for m in fork.history] == [Role.USER, Role.ASSISTANT, Role.TOOL]
        k.session.cancel()
        await running
        await k.play("go on", fork)
        assert fork.history[-1].text() == "here"


async def test_one_that_is_not_open_can_be_forked(tmp_path):
    async with kit(tmp_path, reply(say("one")), reply(say("two"))) as k:
        await k.play("first")
        await k.sessions.close(k.session.record.id)
        fork = await k.sessions.fork(k.session.record.id, k.cwd)
        await k.play("second", fork)
        assert [m.text() for m in fork.history] == ["first", "one", "second", "two"]


async def test_what_cannot_be_forked_makes_no_session(tmp_path):
    (tmp_path / "other").mkdir()
    async with kit(tmp_path, reply(say("one"))) as k:
        await k.play("first")
        known = await k.sessions.listed(cwd=None, before=None, limit=9)
        with pytest.raises(UnknownSessionError):
            await k.sessions.fork("sess_nobody", k.cwd)
        with pytest.raises(BadDirectoryError, match="belongs to"):
            await k.sessions.fork(k.session.record.id, str(tmp_path / "other"))
        with pytest.raises(BadDirectoryError, match="additionalDirectories"):
            await k.sessions.fork(k.session.record.id, k.cwd, ["relative"])
        with pytest.raises(ForkError, match="nobody"):
            await k.sessions.fork(k.session.record.id, k.cwd, through="nobody")
        assert await k.sessions.listed(cwd=None, before=None, limit=9) == known


async def test_an_untitled_fork_gets_its_title_from_its_first_prompt(tmp_path):
    async with kit(tmp_path, reply(say("one"))) as k:
        fork = await k.sessions.fork(k.session.record.id, k.cwd)
        assert fork.record == evolve(fork.record, title="", parent="")
        await k.play("a title", fork)
        assert fork.record.title == "a title"
