"""The built-in commands: short answers for the user, and what is allowed where something else was typed."""

import pytest

from quillback.core.audit import AuditRecord, DecidedBy, Decision, Finding
from quillback.core.commands import Begin, Clear, Compact
from quillback.core.ports import Mode
from quillback.core.undo import UndoReport, undo_text
from quillback.core.verdict import Allow, Ask, Deny

pytestmark = pytest.mark.anyio
NAMES = ["help", "compact", "clear", "goal", "grind", "mode", "model", "undo", "fork", "cost", "audit", "doctor"]


async def test_all_are_advertised(room):
    assert room.names() == NAMES
    infos = {info.name: info for info in room.commands.available()}
    assert all(info.description for info in infos.values())
    assert [name for name in NAMES if not infos[name].hint] == ["clear", "undo", "fork", "cost", "doctor"]


async def test_help_lists_all_and_tells_of_one(room):
    text = await room.said("help")
    assert text.startswith("**Commands**\n\n- `/help [command]`: ")
    assert all(f"`/{name}" in text for name in NAMES)
    assert await room.said("help", "/cost") == "`/cost`: Show what the session has cost, and how full the context is"
    assert await room.refused("help", "comact") == (
        "There is no command `/comact`. Did you mean `/compact`? `/help` lists them."
    )


async def test_compact_and_clear(room):
    assert await room.run("compact") == Compact()
    assert await room.run("compact", "the plan") == Compact("the plan")
    assert isinstance(await room.run("clear"), Clear)


async def test_goal_begins_at_once_or_explains_itself(room):
    begun = await room.run("goal", "all tests pass")
    assert isinstance(begun, Begin)
    assert (begun.goal, begun.grind) == ("all tests pass", False)
    assert begun.confirmation == "Working towards this goal: all tests pass"
    assert "all tests pass" in begun.kickoff
    assert (await room.refused("goal")).startswith("`/goal TEXT` starts to work")


async def test_a_goal_with_braces_is_just_text(room):
    begun = await room.run("goal", "print {0} and {goal}")
    assert begun.kickoff.endswith("print {0} and {goal}")


async def test_grind_begins_with_or_without_a_task(room):
    for task in ("", "port it"):
        begun = await room.run("grind", task)
        assert isinstance(begun, Begin)
        assert (begun.goal, begun.grind) == ("", True)
        assert task in begun.confirmation
        assert (task or "the task of this conversation") in begun.kickoff


async def test_mode(room):
    shown = await room.said("mode")
    assert shown.startswith("The mode is `approve`. `/mode MODE` changes it:\n\n- `approve`: ")
    assert await room.said("mode", "Auto") == "The mode is `auto` now."
    assert room.desk.record.mode is Mode.AUTO
    wrong = await room.refused("mode", "yolo")
    assert wrong == "There is no mode `yolo`. The modes are `approve`, `smart`, `auto`, `chat`."
    assert room.desk.record.mode is Mode.AUTO


async def test_model(room):
    assert await room.said("model") == "The model is `m1`. `/model MODEL` changes it:\n\n- `m1`\n- `Big-Model-2`"
    assert await room.said("model", "big-model-2") == "The model is `Big-Model-2` now."
    assert room.desk.record.model == "Big-Model-2"
    assert await room.refused("model", "Big-Model-3") == (
        "There is no model `Big-Model-3`. Did you mean `Big-Model-2`? The models are `m1`, `Big-Model-2`."
    )


@pytest.mark.parametrize("name", ["scripted:demo", "openai:gpt-7", "brand-new-1"])
async def test_any_name_that_no_listed_model_is_like_may_be_a_model(room, name):
    assert await room.said("model", name) == f"The model is `{name}` now, which is not in the list of `/model`."
    assert room.desk.record.model == name
    assert f"- `{name}`" not in await room.said("model")


@pytest.mark.parametrize("slip", ["big", "MODEL-2", "m"])
async def test_a_part_of_a_name_is_rather_a_slip(room, slip):
    assert "Did you mean" in await room.refused("model", slip)
    assert room.desk.record.model == "m1"


async def test_cost(room):
    text = await room.said("cost")
    assert "This session has cost $0.1235." in text or "This session has cost $0.1234." in text
    assert "250 of 1,000 tokens (25 %)" in text


async def test_undo_says_what_it_did_with_each_file(room):
    assert (await room.said("undo")).startswith("There is nothing to undo")
    room.desk.report = UndoReport("msg1", ("/w/a.py",), ("/w/new.py",))
    assert await room.said("undo") == undo_text(room.desk.report, "/w", "Change it")
    room.desk.report = UndoReport("msg1", ("/w/a.py",), (), (("/w/b.py", "it was changed since"),))
    assert await room.refused("undo") == undo_text(room.desk.report, "/w", "Change it")


async def test_fork_names_the_new_session_and_a_command_line_that_works_as_it_stands(room):
    text = await room.said("fork")
    assert "`sess_fork`" in text
    assert text.endswith('your own words in place of YOUR PROMPT: `quillback run --session sess_fork "YOUR PROMPT"`')


def decision(number: int, decided: Decision, *findings: Finding, by: DecidedBy = DecidedBy.INSPECTORS) -> AuditRecord:
    return AuditRecord(
        "s1", f"c{number}", "shell", f'{{"command": "ls {number}"}}', decided, by, findings, Mode.AUTO, 0
    )


async def test_audit(room):
    assert await room.said("audit") == "Nothing has been decided in this session yet."
    bad = decision(0, Decision.DENY, Finding("security", Deny("it `deletes` all")), Finding("x", Allow()))
    asked = decision(1, Decision.ALLOW, Finding("permission", Ask("it writes")), by=DecidedBy.USER)
    room.desk.decisions = [bad, asked]
    assert await room.said("audit") == (
        "All decisions of this session, newest last:\n\n"
        '- **denied** by the inspectors: `shell {"command": "ls 0"}`: it `deletes` all\n'
        '- allowed by you: `shell {"command": "ls 1"}`: it writes'
    )
    room.desk.decisions = [decision(n, Decision.ALLOW) for n in range(30)]
    assert (await room.said("audit")).startswith("The last 10 of 30 decisions")
    few = await room.said("audit", "3")
    assert few.count("allowed by") == 3
    assert "ls 29" in few
    for wrong in ("0", "101", "-1", "many", "1.5", "9" * 5000, "³"):
        assert (await room.refused("audit", wrong)).startswith("`/audit` takes a number from 1 to 100, not ")


async def test_doctor(room):
    assert await room.said("doctor") == "Nothing to mend."


@pytest.mark.parametrize("name", ["clear", "undo", "fork", "cost", "doctor"])
async def test_what_takes_nothing_does_nothing_with_something(room, name):
    room.desk.problem = "it was run"
    assert await room.refused(name, "now") == f"`/{name}` takes nothing behind it, and was not run."


@pytest.mark.parametrize("line", ["mode auto", "model big-model-2", "undo", "fork", "audit"])
async def test_what_the_session_cannot_do_is_told(room, line):
    room.desk.problem = "The disk is full."
    name, _, argument = line.partition(" ")
    assert await room.refused(name, argument) == "The disk is full."
