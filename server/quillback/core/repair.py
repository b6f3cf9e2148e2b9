"""Makes any stream of messages a request that the model's service accepts; pure and idempotent.

The stored stream is never changed by it.
"""

import re
from collections.abc import Iterable, Sequence

from attrs import evolve, frozen

from quillback.core.message import (
    Message,
    MessageState,
    Notice,
    Part,
    RedactedThinking,
    Role,
    Summary,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from quillback.core.model import RequestMessage
from quillback.core.stream import since_summary

NO_OUTPUT = "(no output)"
INTERRUPTED = "interrupted before a result came; the call may have had effects"
PLACEHOLDER = "(continue)"
_PROVIDER_ID = re.compile(r"[a-zA-Z0-9_-]+")


@frozen
class Repaired:
    """`done` names each kind of repair that was needed."""

    messages: tuple[RequestMessage, ...]
    done: tuple[str, ...]


def visible(messages: Iterable[Message], model: str, *, thinking: bool = True) -> list[RequestMessage]:
    """What the model may see of a stream, from its last summary on. Thinking of other models, from before an undo or
    a fork, or all of it, is left out."""
    out: list[RequestMessage] = []
    stream = since_summary(list(messages))
    silent = max((i for i, message in enumerate(stream) if message.thoughts_end), default=-1)
    for i, message in enumerate(stream):
        if not message.visible_to_model or message.state in (MessageState.QUEUED, MessageState.NOT_RUN):
            continue
        own = thinking and i > silent and message.model == model
        parts = tuple(_as_sent(p) for p in message.parts if not isinstance(p, Notice) and (own or not _is_thinking(p)))
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        out.append(RequestMessage(role, parts))
    return out


def unanswered(messages: Iterable[Message]) -> list[ToolUse]:
    """The calls of a stream that have no result, in order."""
    calls: dict[str, ToolUse] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolUse):
                calls[part.id] = part
            elif isinstance(part, ToolResult):
                calls.pop(part.call_id, None)
    return list(calls.values())


def repair(messages: Sequence[RequestMessage], *, continuing: bool = False) -> Repaired:
    """`messages` as a valid request. `continuing` lets it end with the assistant's own words (pause_turn)."""
    done: list[str] = []
    cleaned = [evolve(m, parts=_clean(m.parts, done)) for m in messages]
    own = [evolve(m, parts=_without_last_thoughts(m.parts, done)) for m in _unique_ids(cleaned, done)]
    merged = _merge([m for m in own if m.parts])
    if len(merged) != len(messages):
        done.append("messages of one role merged or empty ones left out")
    paired = _merge([m for m in _pair(merged, done) if m.parts])
    return Repaired(tuple(_ends(paired, done, continuing=continuing)), tuple(dict.fromkeys(done)))


def _as_sent(part: Part) -> Part:
    return Text(part.text) if isinstance(part, Summary) else part


def _is_thinking(part: Part) -> bool:
    return isinstance(part, Thinking | RedactedThinking)


def _clean(parts: Iterable[Part], done: list[str]) -> tuple[Part, ...]:
    kept: list[Part] = []
    for part in parts:
        if isinstance(part, Text) and not part.text.strip():
            done.append("blank text left out")
        elif isinstance(part, Thinking) and not part.signature:
            done.append("unsigned thinking left out")
        elif isinstance(part, ToolResult):
            kept.append(_with_content(part, done))
        else:
            kept.append(part)
    return tuple(kept)


def _with_content(result: ToolResult, done: list[str]) -> ToolResult:
    content = tuple(c for c in result.content if not (isinstance(c, Text) and not c.text.strip()))
    if content and content == result.content:
        return result
    done.append("blank text left out")
    return evolve(result, content=content or (Text(NO_OUTPUT),))


def _without_last_thoughts(parts: tuple[Part, ...], done: list[str]) -> tuple[Part, ...]:
    """A message may not end with a thought, nor be one; beside a call nothing of what was thought is touched."""
    if any(isinstance(p, ToolUse) for p in parts):
        return parts
    end = len(parts)
    while end and _is_thinking(parts[end - 1]):
        end -= 1
    if end < len(parts):
        done.append("thoughts that led to nothing left out")
    return parts[:end]


def _merge(messages: Iterable[RequestMessage]) -> list[RequestMessage]:
    out: list[RequestMessage] = []
    for message in messages:
        if out and out[-1].role == message.role:
            out[-1] = evolve(out[-1], parts=out[-1].parts + message.parts)
        else:
            out.append(message)
    return out


def _unique_ids(messages: Sequence[RequestMessage], done: list[str]) -> list[RequestMessage]:
    """Calls in the assistant's messages only, with ids of their own; results follow their call by our id."""
    seen_ours: set[str] = set()
    seen_theirs: set[str] = set()
    out: list[RequestMessage] = []
    for message in messages:
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolUse):
                if message.role != "assistant" or part.id in seen_ours:
                    done.append("misplaced or doubled call left out")
                    continue
                seen_ours.add(part.id)
                part = _own_id(part, seen_theirs, done)
                seen_theirs.add(part.provider_id)
            elif isinstance(part, ToolResult) and message.role == "assistant":
                done.append("misplaced result left out")
                continue
            parts.append(part)
        out.append(evolve(message, parts=tuple(parts)))
    return out


def _own_id(call: ToolUse, taken: set[str], done: list[str]) -> ToolUse:
    if call.provider_id not in taken and _PROVIDER_ID.fullmatch(call.provider_id):
        return call
    done.append("tool id renamed")
    base = re.sub(r"[^a-zA-Z0-9_-]", "_", call.id) or "call"
    name, n = base, 1
    while name in taken:
        n += 1
        name = f"{base}_{n}"
    return evolve(call, provider_id=name)


def _results(messages: Iterable[RequestMessage], done: list[str]) -> dict[str, ToolResult]:
    """The one result of each call that came before it."""
    called: set[str] = set()
    results: dict[str, ToolResult] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolUse):
                called.add(part.id)
            elif isinstance(part, ToolResult):
                if part.call_id in called and part.call_id not in results:
                    results[part.call_id] = part
                else:
                    done.append("result without its call left out")
    return results


def _pair(messages: Sequence[RequestMessage], done: list[str]) -> list[RequestMessage]:
    """Each call answered at the head of the next message, in call order. Roles alternate in `messages`."""
    results = _results(messages, done)
    out: list[RequestMessage] = []
    due: list[ToolUse] = []
    for message in messages:
        if message.role == "assistant":
            due = [p for p in message.parts if isinstance(p, ToolUse)]
            out.append(message)
            continue
        rest = tuple(p for p in message.parts if not isinstance(p, ToolResult))
        answers = _answers(due, results, done).parts
        if tuple(p for p in message.parts if isinstance(p, ToolResult)) != answers or message.parts != answers + rest:
            done.append("results put in order")
        out.append(evolve(message, parts=answers + rest))
        due = []
    return [*out, _answers(due, results, done)] if due else out


def _answers(calls: Sequence[ToolUse], results: dict[str, ToolResult], done: list[str]) -> RequestMessage:
    parts: list[Part] = []
    for call in calls:
        if call.id not in results:
            done.append("missing result added")
        parts.append(results.get(call.id) or ToolResult(call.id, (Text(INTERRUPTED),), is_error=True))
    return RequestMessage("user", tuple(parts))


def _ends(messages: list[RequestMessage], done: list[str], *, continuing: bool) -> list[RequestMessage]:
    filler = RequestMessage("user", (Text(PLACEHOLDER),))
    if not messages or messages[0].role != "user":
        done.append("first user message added")
        messages = [filler, *messages]
    if messages[-1].role != "user" and not continuing:
        done.append("last user message added")
        messages = [*messages, filler]
    return messages
