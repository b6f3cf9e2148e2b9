"""What the chat completions API refuses of every request, checked as strictly as it does; pure."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

Body = Mapping[str, Any]

NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
DATA_URL = re.compile(r"^data:(image/(?:png|jpeg|gif|webp));base64,(.+)$", re.S)
TOP = {"model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "tools", "tool_choice"}
TOP |= {"parallel_tool_calls", "reasoning_effort", "temperature", "top_p", "n", "stop", "seed", "user", "metadata"}
KEYS = {
    "system": {"content"},
    "user": {"content"},
    "assistant": {"content", "tool_calls", "reasoning_content", "reasoning"},
    "tool": {"content", "tool_call_id"},
}
ID_LENGTH = 40


def check(body: Body) -> list[str]:
    """The complaints about a request, empty for a valid one."""
    found = list(_top(body))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*found, "[] is too short - 'messages'"]
    found += _tools(body.get("tools"))
    for i, message in enumerate(messages):
        found += _message(f"messages.[{i}]", message)
    found += _order(messages)
    found += _answers(messages)
    return list(dict.fromkeys(found))


def _top(body: Body) -> Iterator[str]:
    yield from (f"Unrecognized request argument supplied: {key}" for key in sorted(body.keys() - TOP))
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "you must provide a model parameter"
    limits = [body[key] for key in ("max_tokens", "max_completion_tokens") if key in body]
    if len(limits) > 1:
        yield "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    if any(not isinstance(n, int) or isinstance(n, bool) or n < 1 for n in limits):
        yield "Invalid 'max_tokens': integer below minimum value"
    options = body.get("stream_options")
    if options is not None and (not body.get("stream") or set(options) - {"include_usage"}):
        yield "The 'stream_options' parameter is only allowed when 'stream' is enabled, with 'include_usage'"
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        yield "We could not parse the JSON body of your request: lone surrogate"


def _tools(tools: object) -> Iterator[str]:
    if tools is None:
        return
    if not isinstance(tools, list) or not tools:
        yield "[] is too short - 'tools'"
        return
    names = [str((t.get("function") or {}).get("name")) for t in tools]
    yield from (f"tools: function names must be unique ({n})" for n in set(names) if names.count(n) > 1)
    for i, tool in enumerate(tools):
        at, function = f"tools[{i}]", tool.get("function") or {}
        if tool.keys() != {"type", "function"} or tool.get("type") != "function":
            yield f"{at}: must be a type and a function"
        if function.keys() - {"name", "description", "parameters", "strict"}:
            yield f"{at}.function: unknown keys {sorted(function)}"
        if not NAME.match(names[i]):
            yield f"Invalid '{at}.function.name': string does not match pattern {NAME.pattern}"
        schema = function.get("parameters")
        if not isinstance(schema, Mapping) or schema.get("type") != "object":
            yield f"Invalid schema for function {names[i]!r}: schema must be a JSON Schema of 'type: \"object\"'"
        elif schema.keys() & {"anyOf", "oneOf", "allOf", "enum", "not"}:
            yield f"Invalid schema for function {names[i]!r}: no 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level"


# ---------------------------------------------------------------- messages


def _message(at: str, message: Body) -> Iterator[str]:
    role = message.get("role")
    if role not in KEYS:
        yield f"Invalid value: {role!r} at {at}.role"
        return
    yield from (f"Unknown parameter: '{at}.{key}'." for key in sorted(message.keys() - KEYS[role] - {"role"}))
    calls, content = message.get("tool_calls"), message.get("content")
    if content is None and not (role == "assistant" and calls):
        yield f"Invalid value for 'content': expected a string, got null ({at})"
    elif content is not None:
        yield from _content(at, role, content)
    if "tool_calls" in message:
        yield from _calls(at, calls)
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        yield f"Missing parameter '{at}.tool_call_id'"


def _content(at: str, role: str, content: object) -> Iterator[str]:
    if isinstance(content, str):
        if not content.strip():
            yield f"{at}.content: must not be empty"
        return
    if not isinstance(content, list) or not content:
        yield f"{at}.content: must be a string or a list of parts"
        return
    for j, part in enumerate(content):
        kind = part.get("type")
        if kind == "text" and not str(part.get("text") or "").strip():
            yield f"{at}.content[{j}].text: must not be empty"
        elif kind == "image_url" and role == "user":
            yield from _image(f"{at}.content[{j}]", part)
        elif kind != "text":
            yield f"Invalid value: {kind!r} at {at}.content[{j}].type in a {role} message"


def _image(at: str, part: Body) -> Iterator[str]:
    holder = part.get("image_url")
    if part.keys() != {"type", "image_url"} or not isinstance(holder, Mapping) or holder.keys() - {"url", "detail"}:
        yield f"{at}: expected an image_url with a url"
        return
    found = DATA_URL.match(str(holder.get("url")))
    if found is None:
        yield f"{at}: You uploaded an unsupported image. Supported are png, jpeg, gif and webp as data URLs."
        return
    try:
        base64.b64decode(found[2], validate=True)
    except binascii.Error:
        yield f"{at}: Invalid base64 image_url."


def _calls(at: str, calls: object) -> Iterator[str]:
    if not isinstance(calls, list) or not calls:
        yield f"[] is too short - '{at}.tool_calls'"
        return
    ids = [call.get("id") for call in calls]
    if len(set(ids)) != len(ids):
        yield f"{at}.tool_calls: ids must be unique"
    for j, call in enumerate(calls):
        where, function = f"{at}.tool_calls[{j}]", call.get("function") or {}
        if call.keys() != {"id", "type", "function"} or call.get("type") != "function":
            yield f"{where}: must be an id, a type and a function"
        if not isinstance(ids[j], str) or not 1 <= len(ids[j]) <= ID_LENGTH:
            yield f"Invalid '{where}.id': string too long. Expected a string with maximum length {ID_LENGTH}"
        if function.keys() != {"name", "arguments"} or not NAME.match(str(function.get("name"))):
            yield f"Invalid '{where}.function.name'"
        yield from _arguments(where, function.get("arguments"))


def _arguments(where: str, arguments: object) -> Iterator[str]:
    try:
        whole = json.loads(arguments) if isinstance(arguments, str) else None
    except ValueError:
        whole = None
    if not isinstance(whole, dict):
        yield f"{where}.function.arguments: must be a string that holds a JSON object"


# ---------------------------------------------------------------- order


def _order(messages: Sequence[Body]) -> Iterator[str]:
    """A system message first or not at all; then the user, and then both in turns, tool messages being the user's."""
    roles = [str(m.get("role")) for m in messages]
    rest = roles[1:] if roles[0] == "system" else roles
    if "system" in rest:
        yield "System message must be at the beginning."
    if rest[:1] != ["user"]:
        yield "The first message after the system's must be the user's."
    for before, after in pairwise(rest):
        if before == after and before in ("user", "assistant"):
            yield f"Conversation roles must alternate: {before} after {before}"
    if rest[-1:] == ["assistant"]:
        yield "The last message must be the user's or a tool's."


def _answers(messages: Sequence[Body]) -> Iterator[str]:
    due: list[str] = []
    for i, message in enumerate(messages):
        if message.get("role") == "tool":
            id_ = str(message.get("tool_call_id"))
            if id_ not in due:
                yield f"messages with role 'tool' must be a response to a preceding message with 'tool_calls' ([{i}])."
            else:
                due.remove(id_)
            continue
        if due:
            yield (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(due)}"
            )
        due = [str(call.get("id")) for call in message.get("tool_calls") or []]
    if due:
        yield f"The following tool_call_ids did not have response messages: {', '.join(due)}"
