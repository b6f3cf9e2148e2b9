"""How the calls of a step are run: side by side, in order where they meet, and given back in call order."""

import asyncio

import pytest

from quillback.core.event import MessageAdded, ToolProgressed, ToolStarted
from quillback.core.facts import last_plan
from quillback.core.message import FileSeen, Location, PlanEntry, Text, ToolKind, ToolResult
from quillback.core.ports import Mode, ToolError, ToolOutcome
from quillback.session.history import known_files
from support.fakes import FakeTool, Gate, outcome, progress, until
from support.replies import call, reply, say, spec
from support.session_kit import collect, completed, kit, shown_results
from support.turn_kit import text_of

pytestmark = pytest.mark.anyio

DONE = reply(say("done"))


def edits(*paths: str):
    return reply(*(call("edit", {"path": p}) for p in paths))


def edit_tool(body):
    return FakeTool(spec("edit", ["path"], path="string", kind=ToolKind.EDIT), body)


async def test_calls_run_side_by_side_and_their_results_go_back_in_call_order(tmp_path):
    """T13"""
    gates = {name: Gate() for name in "abc"}

    async def body(run):
        await gates[run.arguments["path"]]()
        if run.arguments["path"] == "c":
            raise ToolError("c fails")
        yield outcome(run.arguments["path"])

    async with kit(tmp_path, edits("a", "b", "c"), DONE, tools=[edit_tool(body)]) as k:
        running = collect(k.session.submit([Text("go")]))
        for gate in gates.values():
            await gate.wait()
        for name in "cba":
            gates[name].open()
            await until(lambda: len(k.tool_results()) == "cba".index(name) + 1)  # noqa: B023
        events = await running
        assert shown_results(events) == ["c fails", "b", "a"]
        (results,) = [m.parts for m in k.model.requests[1].messages if isinstance(m.parts[0], ToolResult)]
        assert [(text_of(r), r.is_error) for r in results] == [("a", False), ("b", False), ("c fails", True)]


async def test_each_result_is_shown_as_soon_as_it_is_there(tmp_path):
    gate = Gate()

    async def body(run):
        if run.arguments["path"] == "slow":
            await gate()
        yield outcome(run.arguments["path"])

    async with kit(tmp_path, edits("slow", "fast"), DONE, tools=[edit_tool(body)]) as k:
        async for event in k.session.submit([Text("go")]):
            if isinstance(event, MessageAdded) and event.message.tool_results():
                gate.open()  # it would hang here if the fast one waited for the slow one
        assert k.ended() == ["fast", "slow"]


async def test_calls_on_one_file_run_in_call_order_and_never_at_once(tmp_path):
    order = []

    async def body(run):
        order.append(f"start {run.call_id}")
        await asyncio.sleep(0.005 * (3 - len(order)))
        order.append(f"end {run.call_id}")
        yield outcome()

    async with kit(tmp_path, edits("a", "a", "a"), DONE, tools=[edit_tool(body)]) as k:
        await k.play()
        calls = [c.id for c in k.session.history[1].tool_uses()]
        assert order == [f"{what} {c}" for c in calls for what in ("start", "end")]


async def test_a_call_on_another_file_does_not_wait(tmp_path):
    gate = Gate()

    async def body(run):
        if run.call_id == first():
            await gate()
        yield outcome(run.arguments["path"])

    def first() -> str:
        return k.session.history[1].tool_uses()[0].id

    async with kit(tmp_path, edits("a", "a", "b"), DONE, tools=[edit_tool(body)]) as k:
        running = collect(k.session.submit([Text("go")]))
        await until(lambda: k.results() == ["b"])
        assert len(k.tools["edit"].started) == 2
        gate.open()
        await running
        assert k.ended() == ["b", "a", "a"]


async def test_a_failed_call_does_not_keep_the_next_on_its_file_from_running(tmp_path):
    async def body(run):
        if len(k.tools["edit"].started) == 1:
            raise ToolError("no")
        yield outcome("yes")

    async with kit(tmp_path, edits("a", "a"), DONE, tools=[edit_tool(body)]) as k:
        await k.play()
        assert k.results() == ["no", "yes"]


async def test_no_more_calls_run_at_once_than_allowed(tmp_path):
    running, most = 0, 0

    async def body(_):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.002)
        running -= 1
        yield outcome()

    async with kit(tmp_path, edits(*"abcdefgh"), DONE, tools=[edit_tool(body)], tool_concurrency=3) as k:
        await k.play()
        assert len(k.results()) == 8
        assert most == 3


async def test_the_progress_of_several_tools_is_one_stream(tmp_path):
    async def body(run):
        for n in range(3):
            yield progress(f"{run.arguments['path']}{n}")
            await asyncio.sleep(0.002)
        yield outcome()

    async with kit(tmp_path, edits("a", "b"), DONE, tools=[edit_tool(body)]) as k:
        shown = [e.shown[0].text for e in await k.play() if isinstance(e, ToolProgressed)]
        assert [s for s in shown if s[0] == "a"] == ["a0", "a1", "a2"]
        assert shown not in (["a0", "a1", "a2", "b0", "b1", "b2"], ["b0", "b1", "b2", "a0", "a1", "a2"])


async def test_everything_a_tool_brings_is_in_its_result(tmp_path):
    whole = ToolOutcome(
        content=(Text("for the model"),),
        is_error=True,
        shown=(Text("for the editor"),),
        locations=(Location("/x", 3),),
        raw_output={"exit": 1},
        plan=(PlanEntry("first"),),
        seen=(FileSeen("/x", "digest"),),
    )

    async def body(_):
        yield whole

    async with kit(tmp_path, edits("a"), DONE, tools=[edit_tool(body)]) as k:
        await k.play()
        (result,) = (await k.stored())[2].tool_results()
        assert result == ToolResult(
            k.session.history[1].tool_uses()[0].id,
            whole.content,
            True,
            whole.shown,
            whole.locations,
            whole.raw_output,
            whole.plan,
            whole.seen,
        )
        assert known_files(k.session.history) == {"/x": "digest"}
        assert last_plan(k.session.history) == (PlanEntry("first"),)


# ---------------------------------------------------------------- tools that misbehave


async def nothing(_):
    return
    yield


async def fails(_):
    raise ToolError("Do it in another way.")
    yield


async def breaks(_):
    raise KeyError("secret")
    yield


async def groups(_):
    async with asyncio.TaskGroup() as group:
        group.create_task(_raise())
    yield


async def _raise():
    raise ValueError("secret")


async def cancels(_):
    raise asyncio.CancelledError
    yield


async def twice(_):
    yield outcome("first")
    yield outcome("second")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (nothing, "edit ended without a result"),
        (fails, "Do it in another way."),
        (breaks, "edit failed inside: KeyError. Try another way."),
        (groups, "edit failed inside: ExceptionGroup. Try another way."),
        (cancels, "edit was interrupted from inside; it may have had effects."),
        (twice, "first"),
    ],
)
async def test_whatever_a_tool_does_there_is_one_result_and_the_turn_goes_on(tmp_path, body, said):
    async with kit(tmp_path, reply(call("edit", {"path": "a"}), call("ping")), DONE, tools=[edit_tool(body)]) as k:
        assert completed(await k.play()).text == "done"
        assert sorted(k.results()) == sorted([said, "ping"])
        assert "secret" not in str(k.session.history)


@pytest.mark.parametrize("error", [ToolError("not there"), ValueError("secret"), asyncio.CancelledError()])
async def test_a_call_that_cannot_be_prepared_is_answered_and_not_started(tmp_path, error):
    async def before(_):
        raise error

    tool = FakeTool(spec("edit", path="string"), before=before)
    async with kit(tmp_path, reply(call("edit")), DONE, tools=[tool]) as k:
        events = await k.play()
        assert completed(events).text == "done"
        assert k.tool_results()[0].is_error
        assert not any(isinstance(e, ToolStarted) for e in events)
        assert tool.started == []


async def test_a_tool_that_cannot_say_what_it_touches_still_gets_to_its_result(tmp_path):
    class Odd(FakeTool):
        def touches(self, arguments):
            raise ValueError("embedded null byte")

    async with kit(tmp_path, reply(call("odd"), call("ping")), DONE, tools=[Odd(spec("odd"))]) as k:
        assert completed(await k.play()).text == "done"
        assert sorted(k.results()) == ["odd", "ping"]


async def test_what_a_tool_opened_is_closed_when_it_gave_its_result(tmp_path):
    closed = []

    async def body(_):
        try:
            yield outcome()
        finally:
            closed.append(len(k.tool_results()))

    async with kit(tmp_path, edits("a"), DONE, tools=[edit_tool(body)]) as k:
        await k.play()
        assert closed == [0]


async def test_the_tools_there_are_may_change_from_step_to_step(tmp_path):
    async with kit(tmp_path, reply(call("late")), reply(call("late")), DONE) as k:
        box, tools = k.toolboxes[0], list(k.toolboxes[0].tools())

        async def ready():
            if len(k.model.requests) == 1:
                box._tools = (*tools, FakeTool(spec("late")))

        box.ready = ready
        await k.play()
        assert k.results()[0].startswith("there is no tool 'late'")
        assert k.results()[1] == "late"
        assert [len(r.tools) for r in k.model.requests] == [4, 5, 5]


async def test_a_call_that_waited_does_not_run_in_a_mode_that_forbids_it(tmp_path):
    gate = Gate()

    async def held(run):
        await gate()
        yield outcome("first")

    first, second = FakeTool(spec("first"), held), FakeTool(spec("second"))
    both = reply(call("first"), call("second"))
    async with kit(tmp_path, both, reply(say("ok")), tools=(first, second), tool_concurrency=1) as k:
        running = collect(k.session.submit([Text("go")]))
        await gate.wait()
        k.session.set_mode(Mode.CHAT)
        gate.open()
        await running
        results = k.results()
        assert results[0] == "first"
        assert "chat mode" in results[1]
        assert second.started == []
