"""What a model service insists on in a request, written down independently of the code that sees to it."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from quillback.core.message import (
    Image,
    Part,
    RedactedThinking,
    Resource,
    ResourceLink,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from quillback.core.model import ModelRequest, RequestMessage

THOUGHT = (Thinking, RedactedThinking)
ALLOWED = {
    "user": (Text, Image, Resource, ResourceLink, ToolResult),
    "assistant": (Text, *THOUGHT, ToolUse),
}


def faults(messages: Sequence[RequestMessage], *, continuing: bool = False) -> list[str]:
    """Everything that is wrong with the messages of a request."""
    return list(_faults(messages, continuing))


def _faults(messages: Sequence[RequestMessage], continuing: bool) -> Iterator[str]:
    if not messages:
        yield "no messages"
        return
    if messages[0].role != "user":
        yield "the first message is not the user's"
    if messages[-1].role != "user" and not continuing:
        yield "the last message is not the user's"
    for number, (one, two) in enumerate(pairwise(messages)):
        if one.role == two.role:
            yield f"{number} and the next have the same role"
    for number, message in enumerate(messages):
        yield from (f"{number}: {what}" for what in _in_message(message))
    yield from _ids(messages)
    yield from _pairs(messages)


def _in_message(message: RequestMessage) -> Iterator[str]:
    if not message.parts:
        yield "no parts"
    for part in message.parts:
        if not isinstance(part, ALLOWED[message.role]):
            yield f"{type(part).__name__} in a message of the {message.role}"
        if _blank(part):
            yield "blank text"
        if isinstance(part, Thinking) and not part.signature:
            yield "unsigned thinking"
        if isinstance(part, ToolResult) and (not part.content or any(_blank(c) for c in part.content)):
            yield "an empty result"
    if message.role == "assistant" and all(isinstance(p, THOUGHT) for p in message.parts):
        yield "thoughts alone"
    ranks = [0 if isinstance(p, ToolResult) else 1 for p in message.parts]
    if message.role == "user" and ranks != sorted(ranks):
        yield "a result behind something else"


def _blank(part: Part) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _ids(messages: Sequence[RequestMessage]) -> Iterator[str]:
    calls = [p for m in messages for p in m.parts if isinstance(p, ToolUse)]
    for ids in ([c.id for c in calls], [c.provider_id for c in calls]):
        if len(set(ids)) < len(ids):
            yield f"ids come twice: {ids}"
    yield from (f"bad id {c.provider_id!r}" for c in calls if not re.fullmatch("[A-Za-z0-9_-]+", c.provider_id))


def _pairs(messages: Sequence[RequestMessage]) -> Iterator[str]:
    due: list[str] = []
    for number, message in enumerate(messages):
        results = [p.call_id for p in message.parts if isinstance(p, ToolResult)]
        if results != due:
            yield f"{number}: results of {results} where those of {due} are due"
        due = [p.id for p in message.parts if isinstance(p, ToolUse)]
    if due:
        yield f"no results of {due}"


def wrong_marks(request: ModelRequest) -> list[str]:
    """Cache marks that are too many, or sit where none may be."""
    wrong = ["too many marks"] if len(request.marks) > 2 else []
    for message, part in request.marks:
        marked = request.messages[message].parts[part]
        if isinstance(marked, THOUGHT) or _blank(marked):
            wrong.append(f"a mark on {marked}")
    return wrong


def continues(before: ModelRequest, after: ModelRequest) -> bool:
    """Whether all that `before` sent stands unchanged at the head of `after`, so that a prompt cache holds."""
    *head, last = before.messages
    place = len(head)
    if (before.system, before.tools) != (after.system, after.tools) or after.messages[:place] != tuple(head):
        return False
    grown = after.messages[place]
    return grown.role == last.role and grown.parts[: len(last.parts)] == last.parts


def user_texts(messages: Sequence[RequestMessage]) -> list[str]:
    """What the user said, without results."""
    return [p.text for m in messages if m.role == "user" for p in m.parts if isinstance(p, Text)]


def is_subsequence(wanted: Sequence[str], found: Sequence[str]) -> bool:
    """Whether `wanted` is in `found`, in order."""
    rest = iter(found)
    return all(any(w == f for f in rest) for w in wanted)
