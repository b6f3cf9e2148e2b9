"""The rules between messages: every call answered at once and in order, thoughts sent back as they came; pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field

Body = Mapping[str, Any]
Turn = tuple[str, list[Body]]

THOUGHTS = ("thinking", "redacted_thinking")


@define
class Issued:
    """What the server has sent: signatures with their text, redacted data, and the blocks of each reply."""

    signatures: dict[str, str] = field(factory=dict)
    redacted: set[str] = field(factory=set)
    replies: list[list[Body]] = field(factory=list)


def merged(messages: Sequence[Body]) -> list[Turn]:
    """Messages as the API sees them: neighbours of one role are one."""
    turns: list[Turn] = []
    for message in messages:
        if turns and turns[-1][0] == message.get("role"):
            turns[-1][1].extend(blocks(message.get("content")))
        else:
            turns.append((str(message.get("role")), list(blocks(message.get("content")))))
    return turns


def blocks(content: object) -> list[Body]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, Mapping)] if isinstance(content, list) else []


def pairs(turns: Sequence[Turn]) -> Iterator[str]:
    seen: set[str] = set()
    called: list[str] = []
    for i, (role, parts) in enumerate(turns):
        answered = [str(b.get("tool_use_id")) for b in parts if b.get("type") == "tool_result"]
        if role == "user":
            yield from _answers(i, parts, called, answered)
        elif called:
            yield f"messages.{i}: `tool_use` ids without `tool_result` blocks immediately after: {', '.join(called)}"
        called = [str(b.get("id")) for b in parts if b.get("type") == "tool_use"]
        yield from (
            f"messages: `tool_use` ids must be unique ({c})" for c in called if c in seen or called.count(c) > 1
        )
        seen |= set(called)
    if called:
        yield f"messages: the last message leaves calls unanswered: {', '.join(called)}"


def _answers(i: int, parts: Sequence[Body], called: Sequence[str], answered: Sequence[str]) -> Iterator[str]:
    if missing := [c for c in called if c not in answered]:
        yield f"messages.{i}: `tool_use` ids without `tool_result` blocks immediately after: {', '.join(missing)}"
    if strange := [a for a in answered if a not in called]:
        yield f"messages.{i}: unexpected `tool_use_id` in `tool_result` blocks: {', '.join(strange)}"
    if len(set(answered)) != len(answered):
        yield f"messages.{i}: each tool_use must have a single result"
    elif not missing and not strange and list(answered) != list(called):
        yield f"messages.{i}: tool_result blocks are not in the order of the calls"
    if any(b.get("type") != "tool_result" for b in parts[: len(answered)]):
        yield f"messages.{i}: `tool_result` blocks must come first in the user message"


def last_thoughts(body: Body, turns: Sequence[Turn], issued: Issued) -> Iterator[str]:
    """While calls are being answered, the thoughts of the last reply must come back as they were served."""
    thinking = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
    if not thinking or len(turns) < 2 or turns[-1][0] != "user":
        return
    sent = turns[-2][1]
    calls = {b.get("id") for b in sent if b.get("type") == "tool_use"}
    served = next((r for r in reversed(issued.replies) if calls & {b.get("id") for b in r}), None)
    if served is None or not any(b["type"] in THOUGHTS for b in served):
        return
    want, have = _shape(served), _shape(sent)
    if not any(have[at : at + len(want)] == want for at in range(len(have) - len(want) + 1)):
        yield "messages: `thinking` blocks in the latest assistant message cannot be modified"


def _shape(parts: Sequence[Body]) -> list[tuple[str, Any]]:
    kept = [b for b in parts if b["type"] in THOUGHTS or b["type"] == "tool_use"]
    return [(b["type"], b.get("signature") or b.get("data")) for b in kept]
