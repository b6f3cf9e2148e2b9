"""The fake chat completions are worth something only if they refuse what the API refuses."""

import pytest

from support.fake_openai import rules

USER = {"role": "user", "content": "Hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
STEP = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}


def check(*messages, **more):
    return rules.check({"model": "m", "messages": list(messages), "stream": True, **more})


def changed(message, **fields):
    return {**message, **fields}


@pytest.mark.parametrize(
    "messages",
    [
        (USER,),
        ({"role": "system", "content": "S"}, USER, {"role": "assistant", "content": "Yes"}, USER),
        (USER, STEP, RESULT),
        (USER, STEP, RESULT, changed(USER, content=[{"type": "text", "text": "See"}, PICTURE])),
        (USER, changed(STEP, reasoning_content="hm"), RESULT),
    ],
)
def test_what_is_right_is_accepted(messages):
    options = {"stream_options": {"include_usage": True}, "tools": [TOOL], "max_tokens": 5}
    assert check(*messages, **options) == []


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ((), "too short"),
        ((STEP,), "first message"),
        ((USER, STEP), "did not have response messages: c1"),
        ((USER, STEP, USER), "did not have response messages: c1"),
        ((USER, RESULT), "must be a response to a preceding message"),
        ((USER, STEP, RESULT, RESULT), "must be a response to a preceding message"),
        ((USER, STEP, changed(RESULT, tool_call_id="c2")), "must be a response to a preceding message"),
        ((USER, USER), "must alternate"),
        ((USER, {"role": "assistant", "content": "a"}), "last message"),
        ((USER, {"role": "system", "content": "late"}), "at the beginning"),
        ((changed(USER, content=""),), "must not be empty"),
        ((changed(USER, content=None),), "got null"),
        ((changed(USER, content=[]),), "list of parts"),
        ((changed(USER, content=[{"type": "text", "text": " "}]),), "must not be empty"),
        ((changed(USER, name="bob"),), "Unknown parameter"),
        ((USER, STEP, changed(RESULT, content=[PICTURE])), "in a tool message"),
        ((USER, STEP, changed(RESULT, content="")), "must not be empty"),
        ((USER, changed(STEP, tool_calls=[])), "too short"),
        ((USER, changed(STEP, tool_calls=[CALL, CALL]), RESULT), "ids must be unique"),
        ((USER, changed(STEP, tool_calls=[changed(CALL, id="x" * 41)]), changed(RESULT, tool_call_id="x" * 41)), "40"),
        (
            (changed(USER, content=[{"type": "image_url", "image_url": {"url": "http://h/a.png"}}]),),
            "unsupported image",
        ),
        ((changed(USER, content=[{"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}}]),), "base64"),
    ],
)
def test_what_is_wrong_with_messages_is_refused(messages, words):
    assert words in "\n".join(check(*messages))


@pytest.mark.parametrize("arguments", ["", "{", "[]", '"x"', {"path": "a"}, None])
def test_arguments_must_be_a_text_that_holds_an_object(arguments):
    call = {**CALL, "function": {"name": "read", "arguments": arguments}}
    assert "must be a string that holds a JSON object" in str(check(USER, changed(STEP, tool_calls=[call]), RESULT))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_output": 5}, "Unrecognized request argument supplied: max_output"),
        ({"max_tokens": 5, "max_completion_tokens": 5}, "at the same time"),
        ({"max_tokens": 0}, "below minimum"),
        ({"stream_options": {"include_usage": True, "x": 1}}, "stream_options"),
        ({"stream_options": {"include_usage": True}, "stream": False}, "stream_options"),
        ({"tools": []}, "too short"),
        ({"tools": [TOOL, TOOL]}, "must be unique"),
        ({"tools": [{**TOOL, "function": {"name": "a b", "parameters": {"type": "object"}}}]}, "does not match"),
        ({"tools": [{**TOOL, "function": {"name": "a", "parameters": {"type": "array"}}}]}, "must be a JSON Schema"),
        ({"tools": [{**TOOL, "function": {"name": "a", "parameters": {"type": "object", "anyOf": []}}}]}, "top level"),
        ({"tools": [{**TOOL, "function": {"name": "a"}}]}, "JSON Schema"),
        ({"tools": [{"name": "a", **TOOL}]}, "must be a type and a function"),
    ],
)
def test_what_is_wrong_with_parameters_is_refused(options, words):
    assert words in "\n".join(check(USER, **options))
