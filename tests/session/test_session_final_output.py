"""The final_output tool: which form the model is offered, what it takes, and the text that comes of it."""

import asyncio
import json

import pytest

from quillback.core.message import Text
from quillback.core.ports import Access, ToolError, ToolOutcome
from quillback.core.validate import check
from quillback.core.verdict import Allow
from quillback.inspectors.permission import PermissionInspector
from quillback.session.final_output import FinalOutput, compact
from support.agent import processes
from support.inspecting import inspection
from support.processes import until

pytestmark = pytest.mark.anyio

PLAIN = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 2}, "n": {"type": "integer", "maximum": 3}},
    "required": ["name"],
    "additionalProperties": False,
}


async def outcome_of(tool: FinalOutput, arguments: dict) -> ToolOutcome:
    assert check(arguments, tool.spec.input_schema) == ""
    prepared = await tool.prepare("c1", arguments)
    assert prepared.access == Access()
    (outcome,) = [item async for item in prepared.run()]
    assert isinstance(outcome, ToolOutcome)
    return outcome


async def test_the_schema_of_the_recipe_is_that_of_the_tool():
    tool = FinalOutput(PLAIN)
    assert (tool.spec.name, tool.spec.input_schema, tool.touches({})) == ("final_output", PLAIN, frozenset())
    outcome = await outcome_of(tool, {"name": "Zoë", "n": 3})
    assert (outcome.content, outcome.final) == ((Text("recorded"),), '{"name":"Zoë","n":3}')
    assert not outcome.is_error
    assert not outcome.stop_turn


async def test_what_does_not_fit_is_an_error_that_names_all_of_it():
    tool = FinalOutput(PLAIN)
    with pytest.raises(ToolError) as refused:
        await tool.prepare("c1", {"name": "x", "n": 4, "more": 1})
    said = str(refused.value)
    assert said.startswith("the output does not fit its schema:\n- ")
    assert "name: 'x' is too short" in said
    assert "n: 4 is greater than the maximum of 3" in said
    assert "'more' was unexpected" in said
    with pytest.raises(ToolError) as refused:
        await FinalOutput({"type": "object", "additionalProperties": {"type": "null"}}).prepare(
            "c1", {f"k{i}": "v" * 2000 for i in range(50)}
        )
    assert len(str(refused.value)) < 2500


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "array", "items": {"type": "integer"}}, [1, 2]),
        ({"type": "string"}, "text"),
        ({"type": ["object", "null"]}, None),
        ({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1}),
        ({"type": "object", "properties": {"not a key!": {}}}, {"not a key!": 1}),
        ({"enum": ["yes", "no"]}, "yes"),
        ({}, {"anything": True}),
    ],
)
async def test_what_is_no_plain_object_is_wrapped_and_unwrapped(schema, value):
    tool = FinalOutput(schema)
    offered = tool.spec.input_schema
    assert (offered["type"], offered["required"], list(offered["properties"])) == ("object", ["value"], ["value"])
    outcome = await outcome_of(tool, {"value": value})
    assert json.loads(outcome.final) == value
    with pytest.raises(ToolError):
        await tool.prepare("c1", {})


async def test_references_of_a_wrapped_schema_lead_to_where_its_parts_are_now():
    schema = {
        "$defs": {"leaf": {"type": "integer"}},
        "type": "array",
        "items": {"anyOf": [{"$ref": "#/$defs/leaf"}, {"$ref": "#"}]},
        "examples": [{"$ref": "#"}],
    }
    tool = FinalOutput(schema)
    inner = tool.spec.input_schema["properties"]["value"]
    assert [a["$ref"] for a in inner["items"]["anyOf"]] == ["#/properties/value/$defs/leaf", "#/properties/value"]
    assert inner["examples"] == [{"$ref": "#"}], "data stays as it is"
    assert (await outcome_of(tool, {"value": [1, [2, []]]})).final == "[1,[2,[]]]"
    with pytest.raises(ToolError, match="the output"):
        await tool.prepare("c1", {"value": ["x"]})


async def test_it_needs_no_permission():
    tool = FinalOutput(PLAIN)
    assert tool.spec.read_only
    asked = inspection("final_output", read_only=True)
    assert await PermissionInspector().inspect(asked) == Allow()


def test_the_text_is_one_line_that_means_the_same_and_steers_nothing():
    value = {"a": "x\n\x1b[2J\x9b\u2028\u202e\ufeff", "b": "Zoë 👩‍💻"}
    text = compact(value)
    assert json.loads(text) == value
    assert text == '{"a":"x\\n\\u001b[2J\\u009b\\u2028\\u202e\\ufeff","b":"Zoë 👩‍💻"}'
    assert len(text.splitlines()) == 1


async def test_a_pattern_that_takes_for_ever_holds_nothing_up(monkeypatch):
    monkeypatch.setattr("quillback.session.final_output.CHECK_SECONDS", 0.3)
    pattern = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}, "required": ["a"]}
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    with pytest.raises(ToolError, match="longer than"):
        await FinalOutput(pattern).prepare("c1", {"a": "a" * 40 + "b"})
    ticking.cancel()
    assert ticks > 5


async def test_a_pattern_is_checked():
    pattern = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^v[0-9]+$"}}}
    await FinalOutput(pattern).prepare("c1", {"a": "v12"})
    with pytest.raises(ToolError, match="does not match"):
        await FinalOutput(pattern).prepare("c1", {"a": "twelve"})


async def test_a_check_that_is_cancelled_leaves_no_process():
    pattern = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    checking = asyncio.create_task(FinalOutput(pattern).prepare("c1", {"a": "a" * 40 + "b"}))
    assert await until(lambda: processes("schema_check.py"))
    checking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await checking
    assert await until(lambda: not processes("schema_check.py"))


async def test_references_that_lead_round_in_circles_end():
    with pytest.raises(ToolError, match="failed inside"):
        await FinalOutput({"$ref": "#"}).prepare("c1", {"value": 1})
