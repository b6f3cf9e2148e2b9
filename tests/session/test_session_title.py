"""A session's title: the prompt's beginning at once, the small model's when it comes, the user's whenever it is set."""

import asyncio

import pytest
from attrs import evolve

from quillback.core.commands import Clear, Compact, Expand, Say, refusal
from quillback.core.event import Retitled, TurnCompleted
from quillback.core.hooks import HookAnswer, HookPoint
from quillback.core.message import Text
from quillback.core.model import Failure, ProviderError
from quillback.core.usage import cost
from quillback.session.services import Titled
from quillback.session.side import SmallModel
from quillback.session.title import LENGTH, PROMPT_LENGTH, title_of, title_writer
from support.fakes import FakeModel, Gate, until
from support.replies import MODEL, USAGE, call, partial, reply, say, think
from support.session_kit import collect, drain, kit

pytestmark = pytest.mark.anyio

DONE = reply(say("done"))


class Writer:
    """Finds `title` for every prompt, behind a gate."""

    def __init__(self, title="A better title", paid=0.5, *, opened=True):
        self.prompts = []
        self.gate = Gate()
        self._title = Titled(title, paid)
        if opened:
            self.gate.open()

    async def __call__(self, prompt):
        self.prompts.append(prompt)
        await self.gate()
        return self._title


def titles(events):
    return [e.title for e in events if isinstance(e, Retitled)]


# ---------------------------------------------------------------- in a session


async def test_it_comes_inside_the_turn(tmp_path):
    gate, writer = Gate(), Writer()
    async with kit(tmp_path, [gate, *DONE], title=writer) as k:
        events = collect(k.session.submit([Text("  fix the\nbug ")]))
        await until(lambda: k.session.record.title == "A better title")
        gate.open()
        found = await events
        assert titles(found) == ["fix the bug", "A better title"]
        assert k.editor.titles == []
        assert writer.prompts == ["fix the\nbug"]
        assert k.session.record.cost == pytest.approx(0.5 + cost(MODEL, USAGE))
        await k.store.flush()
        assert (await k.store.session(k.session.record.id)).title == "A better title"


async def test_it_comes_after_the_turn_which_did_not_wait(tmp_path):
    writer = Writer(opened=False)
    async with kit(tmp_path, DONE, title=writer) as k:
        events = await k.play("fix the bug")
        assert titles(events) == ["fix the bug"]
        assert isinstance(events[-1], TurnCompleted)
        writer.gate.open()
        await until(lambda: k.editor.titles)
        assert k.editor.titles == [(k.session.record.id, "A better title")]


@pytest.mark.parametrize("title", ["", "fix the bug"])
async def test_none_leaves_the_plain_one_and_is_paid(tmp_path, title):
    async with kit(tmp_path, DONE, title=Writer(title)) as k:
        assert titles(await k.play("fix the bug")) == ["fix the bug"]
        await until(lambda: k.session.record.cost > 0.5)
        assert k.session.record.title == "fix the bug"


async def test_one_that_was_set_meanwhile_stays(tmp_path):
    writer = Writer(opened=False)
    async with kit(tmp_path, DONE, title=writer) as k:
        await k.play("fix the bug")
        k.session.change(evolve(k.session.record, title="mine"))
        writer.gate.open()
        await until(lambda: k.session.record.cost > 0.5)
        assert (k.session.record.title, k.editor.titles) == ("mine", [])


async def test_it_is_asked_for_once(tmp_path):
    writer = Writer()
    async with kit(tmp_path, DONE, DONE, title=writer) as k:
        await k.play("one")
        await k.play("two")
        assert writer.prompts == ["one"]


class Answers:
    """Commands that stand for what a test says."""

    def __init__(self, **results):
        self.results = results

    def available(self):
        return ()

    async def run(self, name, argument, desk):
        return self.results[name]

    async def changed(self):
        await asyncio.Event().wait()


ANSWERED = {
    "cost": Say("$0"),
    "foo": refusal("There is no command."),
    "clear": Clear("Forgotten."),
    "compact": Compact(),
}


async def test_a_command_that_is_only_answered_is_no_title(tmp_path):
    writer = Writer()
    async with kit(tmp_path, DONE, commands=Answers(**ANSWERED), title=writer) as k:
        for name in ANSWERED:
            assert titles(await k.play(f"/{name}")) == []
        assert k.session.record.title == ""
        await k.sessions.close(k.session.record.id)
        session = await k.sessions.open(k.session.record.id, k.cwd)  # as with `quillback run --continue`
        events = await k.play("fix the bug", session)
        assert titles(events)[0] == "fix the bug"
        await until(lambda: session.record.title == "A better title")
        assert writer.prompts == ["fix the bug"]


async def test_nor_is_a_prompt_that_a_hook_did_not_let_through(tmp_path):
    class Guards:
        def any(self, point):
            return point is HookPoint.USER_PROMPT_SUBMIT

        async def fire(self, call):
            return HookAnswer(blocked="no secrets")

    async with kit(tmp_path, hooks=Guards(), title=Writer()) as k:
        assert titles(await k.play("the key is 42")) == []


async def test_a_command_that_begins_a_turn_is_the_title_and_no_better_one_is_asked_for(tmp_path):
    writer = Writer()
    commands = Answers(fix=Expand((Text("Fix it all"),)))
    async with kit(tmp_path, DONE, DONE, commands=commands, title=writer) as k:
        assert titles(await k.play("/fix it")) == ["/fix it"]
        assert titles(await k.play("thanks")) == []
        assert (k.session.record.title, writer.prompts) == ("/fix it", [])


async def test_a_failure_inside_costs_the_turn_nothing(tmp_path):
    async def broken(prompt):
        raise ValueError(prompt)

    async with kit(tmp_path, DONE, title=broken) as k:
        events = await drain(k.session.submit([Text("fix")]))
        assert titles(events) == ["fix"]
        assert not events[-1].error


async def test_a_session_that_closes_stops_asking(tmp_path):
    writer = Writer(opened=False)
    async with kit(tmp_path, DONE, title=writer) as k:
        await k.play("fix")
        await writer.gate.wait()
        await k.sessions.close(k.session.record.id)
        assert k.session.record.title == "fix"


# ---------------------------------------------------------------- what the small model is asked


async def written(*script, provider="fake", prompt="fix the bug", seconds=5.0):
    model = FakeModel(*script)
    small = SmallModel(lambda: evolve(MODEL, provider=provider), lambda _: model, seconds)
    return await title_writer(small)(prompt), model.requests


async def test_the_prompt_is_bounded_and_the_cost_told():
    found, (request,) = await written(reply(think(), say("Fix the ", "bug\n")), prompt="p" * 9_000)
    assert found == Titled("Fix the bug", cost(MODEL, USAGE))
    (message,) = request.messages
    assert message.parts[0].text.count("p") == PROMPT_LENGTH
    assert (request.side, request.tools) == (True, ())


@pytest.mark.parametrize(
    ("script", "paid"),
    [
        (reply(say("cut"), stop="max_tokens"), True),
        (reply(call("ping")), False),
        ([ProviderError(Failure.NO_CREDENTIALS, "There is no key.")], False),
        (partial(say("Fix"), usage=USAGE), True),
        ([*partial(say("Fix"), usage=USAGE), Gate()], True),
    ],
)
async def test_no_answer_is_no_title(script, paid):
    found, _ = await written(script, seconds=0.2)
    assert found == Titled("", cost(MODEL, USAGE) if paid else 0.0)


async def test_a_script_is_not_asked():
    assert await written(provider="scripted") == (Titled(""), [])


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Fix the bug", "Fix the bug"),
        ("\n\n  Fix\tthe   bug.\nBecause it is one.", "Fix the bug"),
        ("<think>The user wants\na title</think>\n\nFix the bug", "Fix the bug"),
        ("<thinking>never ends", ""),
        ('Title: "Fix the bug"', "Fix the bug"),
        ("**Fix the bug**", "Fix the bug"),
        ("# Fix the bug", "Fix the bug"),
        ("“Fix the bug”", "Fix the bug"),
        ('""\nFix', "Fix"),
        ("Fix \x1b[31mred\x07", "Fix [31mred"),
        ("", ""),
        (" \n`` \n", ""),
    ],
)
def test_the_title_in_an_answer(answer, title):
    assert title_of(answer) == title


def test_a_title_turns_nothing_round():
    assert title_of("\u202eMend\u2066 the\u200b parser\U000e0041\x1b\n") == "Mend the parser"
    assert title_of("Zoë 👩‍💻") == "Zoë 👩‍💻"


def test_a_title_is_short():
    assert len(title_of("word " * 100)) <= LENGTH
