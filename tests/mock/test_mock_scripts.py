"""The format of mock scripts, and what comes on the wire for each step."""

import pytest

from quillback.mock.expand import expand, merged
from quillback.mock.library import built_in, by_name, command_list, read
from quillback.mock.parse import ScriptError, parse
from quillback.mock.script import PROMPT, Answer, Ask, Chunk, Fail, If, Message, Raw, Update, Wait


def steps(text: str, method: str = PROMPT):
    (scenario,) = parse(text, "x")
    return scenario.blocks[method]


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("say: Hello", Chunk("agent_message", "Hello")),
        ("say*3: a\\sb\\n", Chunk("agent_message", "a b\n", 3)),
        ("think: Hm", Chunk("agent_thought", "Hm")),
        ("user: Hi", Chunk("user_message", "Hi")),
        ("raw: \\xff\\u0041\\x1b", Raw("\udcffA\x1b")),
        ('update: plan {"entries": []}', Update({"sessionUpdate": "plan", "entries": []})),
        ('update: {"odd": 1}', Update({"odd": 1})),
        ('<- {"a": 1}', Message({"a": 1})),
        ("ask: fs/read_text_file", Ask("fs/read_text_file", {})),
        ("send: _x {}", Ask("_x", {}, wait=False)),
        ("answer: refusal", Answer({"stopReason": "refusal"})),
        ("answer: null", Answer(None)),
        ('answer: {"a": 1}', Answer({"a": 1})),
        ("error: -32603 It broke", Fail({"code": -32603, "message": "It broke"})),
        ('error: 7 It broke {"why": 1}', Fail({"code": 7, "message": "It broke", "data": {"why": 1}})),
        ("wait: 200ms", Wait(0.2)),
        ("wait: 2s", Wait(2.0)),
        ("if allow_once: say: x", If("choice", "allow_once", True, Chunk("agent_message", "x"))),
        ("if params.cwd!=/x: say: x", If("params.cwd", "/x", False, Chunk("agent_message", "x"))),
    ],
)
def test_a_step(line, step):
    assert steps(f"# a comment\n\n  {line}  ") == (step,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no step in it"),
        ("say: a\nsing: b", "s.mock, line 2: unknown step sing; there are <-, answer, ask,"),
        ("update: plan {", "line 1: not JSON"),
        ("update: plan []", "a JSON object is needed"),
        ("update:", "write `update: KIND {fields}`"),
        ("wait: soon", "write a time such as 200ms or 2s"),
        ("error: oops", "write `error: CODE MESSAGE`"),
        ("exit: now", "write `exit: CODE`"),
        ("if x", "write `if CHOICE: STEP`"),
        ("say: \\q", "unknown escape \\q"),
        ("hang: now", "hang stands alone"),
        ("wait*2: 1s", "only say, think, user and raw can be repeated"),
        ("say*9999999: x", "1000000 times at most"),
        ("ask:", "name the method"),
        ("on", "name a method after `on`"),
        ("scenario", "write `scenario NAME: what it shows`"),
        ("scenario a\nsay: x\nscenario a\nsay: y", "there are two scenarios of the name a"),
        ("Hello there", "a step is `keyword: what`"),
    ],
)
def test_what_cannot_be_read_is_named(text, said):
    with pytest.raises(ScriptError) as caught:
        parse(text, "s", "s.mock")
    assert said in str(caught.value)


def test_scenarios_and_blocks():
    first, second = parse("say: a\nscenario b: The second\nsay: x\non session/new\ndefault\n", "s")
    assert (first.name, first.title, list(first.blocks)) == ("s", "", [PROMPT])
    assert not first.must_be_started
    assert (second.name, second.title, list(second.blocks)) == ("b", "The second", [PROMPT, "session/new"])
    assert second.must_be_started


def test_placeholders():
    names = {"id": 7, "params": {"prompt": [{"text": "hi"}]}, "cwd": "/w"}
    assert expand({"id": "${id}", "a": ["x ${cwd}/y ${id}"]}, names) == {"id": 7, "a": ["x /w/y 7"]}
    assert expand("${params.prompt.0.text}", names) == "hi"
    assert expand("${params.prompt.1.text} ${nothing}", names) == "${params.prompt.1.text} ${nothing}"


def test_a_patch_is_merged():
    assert merged({"a": 1, "b": {"c": 2, "d": 3}}, {"a": None, "b": {"c": 5}, "e": [1]}) == {
        "b": {"c": 5, "d": 3},
        "e": [1],
    }


def test_the_built_in_scenarios_have_names_and_titles_of_their_own():
    every = [scenario for scenarios in built_in().values() for scenario in scenarios]
    assert len({scenario.name for scenario in every}) == len(every) > 90
    assert all(scenario.title for scenario in every)


def test_every_update_kind_and_every_error_code_has_a_scenario():
    from quillback_protocol.acp import SessionUpdate
    from quillback_protocol.acp.unions import TAGGED

    kinds = next(set(union.members) for union in TAGGED if union.union == SessionUpdate)
    shown = {kind for s in built_in()["updates"] for step in s.blocks[PROMPT] for kind in _kinds(step)}
    assert shown == kinds
    codes = {
        step.error["code"] for s in built_in()["errors"] for step in s.blocks.get(PROMPT, ()) if isinstance(step, Fail)
    }
    assert codes >= {-32700, -32600, -32601, -32602, -32603, -32800, -32000, -32002}


def _kinds(step):
    match step:
        case Update(update=update):
            return [update["sessionUpdate"]]
        case Chunk(kind=kind):
            return [f"{kind}_chunk"]
    return []


def test_a_file_goes_before_what_is_built_in(tmp_path):
    file = tmp_path / "mine.mock"
    file.write_text("say: mine\nscenario permission: my own\nsay: own\n")
    own = read(str(file))
    assert [scenario.name for scenario in own] == ["mine", "permission"]
    assert by_name(own)["permission"].title == "my own"
    assert read("permission")[0].title != "my own"
    with pytest.raises(ScriptError, match="no file and no built-in scenario"):
        read("no-such-thing")


def test_the_slash_commands_are_the_scenarios_that_a_prompt_can_play():
    names = {command["name"] for command in command_list()}
    assert "permission" in names
    assert "wrong-version" not in names
