"""Understands what a hook's command said by its exit code and output, and puts what several said together."""

import json
from collections.abc import Mapping, Sequence

from quillback.core.hooks import NOTHING, HookAnswer, HookCall, HookPoint
from quillback.core.process import Ran
from quillback.core.text import one_line
from quillback.hooks.files import Hook

CONTEXT_LIMIT = 10_000
"""Characters for the model that the hooks of one moment may add."""

REASON_LIMIT = 2_000
BLOCKED = 2
"""The exit code that says no."""

_SPEAKS = frozenset({HookPoint.SESSION_START, HookPoint.USER_PROMPT_SUBMIT})
"""The moments at which plain output is context."""

_OVER = frozenset({HookPoint.SESSION_END, HookPoint.TURN_COMPLETED})
_NO_REASON = "no reason was given"


class _BadAnswer(Exception):
    """The output is not what a hook may say; the text says why."""


def answer_of(hook: Hook, call: HookCall, ran: Ran) -> HookAnswer:
    """What one hook said. Raises nothing: what cannot be understood is a failure, and counts as the hook says."""
    if ran.code is None:
        return _failed(hook, call, ran.problem)
    if ran.code == BLOCKED:
        return _blocked(hook, call, _text(ran.err))
    if ran.code != 0:
        said = one_line(ran.err or ran.out)
        return _failed(hook, call, f"exit code {ran.code}" + (f": {said}" if said else ""))
    out = ran.out.strip()
    if not out.startswith("{"):
        return HookAnswer(context=_given(_text(out))) if hook.point in _SPEAKS else NOTHING
    try:
        return _read(hook, call, _object(out))
    except _BadAnswer as error:
        return _failed(hook, call, str(error))


def merged(hooks: Sequence[Hook], answers: Sequence[HookAnswer]) -> HookAnswer:
    """All of it, in order. One no is a no; two that want different arguments are one too."""
    blocked = [a.blocked for a in answers if a.blocked]
    rewrites = [(h, a.input) for h, a in zip(hooks, answers, strict=True) if a.input is not None]
    if other := next((h for h, wanted in rewrites if wanted != rewrites[0][1]), None):
        blocked.append(f"{rewrites[0][0].title} and {other.title} want different arguments for this call")
    return HookAnswer(
        blocked="; ".join(dict.fromkeys(blocked)),
        halt=next((a.halt for a in answers if a.halt), ""),
        ask="; ".join(dict.fromkeys(a.ask for a in answers if a.ask)),
        context=_bounded([text for a in answers for text in a.context]),
        notes=tuple(note for a in answers for note in a.notes),
        input=rewrites[0][1] if rewrites else None,
    )


# ---------------------------------------------------------------- one answer


def _read(hook: Hook, call: HookCall, said: Mapping[str, object]) -> HookAnswer:
    special = said.get("hookSpecificOutput", {})
    if not isinstance(special, dict):
        raise _BadAnswer("hookSpecificOutput must be an object")
    notes = _given(_string(said, "systemMessage"))
    halt = ""
    if said.get("continue") is False:
        halt = _string(said, "stopReason") or _NO_REASON
        if hook.point in _OVER:
            halt, notes = "", (*notes, halt)
    answer = HookAnswer(halt=halt, context=_given(_string(special, "additionalContext")), notes=notes)
    if _one_of(said, "decision", ("block", "deny"), ("approve", "allow")):
        return _and(answer, _blocked(hook, call, _string(said, "reason")))
    if hook.point is not HookPoint.PRE_TOOL_USE:
        return answer
    reason = _string(special, "permissionDecisionReason")
    match _one_of(special, "permissionDecision", ("deny", "ask"), ("allow",)):
        case "deny":
            return _and(answer, _blocked(hook, call, reason))
        case "ask":
            return _and(answer, HookAnswer(ask=reason or _NO_REASON, input=_input(special)))
        case _:
            return _and(answer, HookAnswer(input=_input(special)))


def _and(answer: HookAnswer, more: HookAnswer) -> HookAnswer:
    notes = (*answer.notes, *more.notes)
    return HookAnswer(more.blocked, answer.halt, more.ask, answer.context, notes, more.input)


def _blocked(hook: Hook, call: HookCall, reason: str) -> HookAnswer:
    """A no, where the moment can be stopped; elsewhere a word to the user."""
    reason = reason or _NO_REASON
    if _can_block(call):
        return HookAnswer(blocked=reason)
    return HookAnswer(notes=(f"{hook.title} says: {reason}",))


def _failed(hook: Hook, call: HookCall, what: str) -> HookAnswer:
    text = f"{hook.title} failed ({_text(what)})"
    if hook.strict and _can_block(call):
        return HookAnswer(blocked=f"{text}, and its on_failure is deny")
    return HookAnswer(notes=(f"{text} and was ignored",))


def _can_block(call: HookCall) -> bool:
    match call.point:
        case HookPoint.SESSION_START | HookPoint.SESSION_END | HookPoint.TURN_COMPLETED:
            return False
        case HookPoint.PRE_COMPACT:
            return call.fields.get("trigger") == "manual"
        case _:
            return True


# ---------------------------------------------------------------- values


def _object(out: str) -> dict[str, object]:
    try:
        value = json.loads(out)
    except (ValueError, RecursionError) as error:
        raise _BadAnswer(f"its output begins like JSON and is none: {error}") from None
    assert isinstance(value, dict)  # it begins with a brace
    return value


def _string(table: Mapping[str, object], key: str) -> str:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise _BadAnswer(f"{key} must be a string")
    return _text(value or "", CONTEXT_LIMIT)


def _one_of(table: Mapping[str, object], key: str, telling: tuple[str, ...], mute: tuple[str, ...]) -> str:
    """The value if it is one of `telling`, nothing if it is one of `mute` or not there."""
    value = table.get(key)
    if value is None or value in mute:
        return ""
    if value not in telling:
        raise _BadAnswer(f"{key} must be one of {', '.join((*telling, *mute))}")
    return str(value)


def _input(special: Mapping[str, object]) -> dict[str, object] | None:
    value = special.get("updatedInput")
    if value is not None and not isinstance(value, dict):
        raise _BadAnswer("updatedInput must be an object")
    return value


def _text(text: str, limit: int = REASON_LIMIT) -> str:
    """Without what a terminal would obey, and not too long."""
    text = "".join(c for c in text.strip() if c.isprintable() or c in "\n\t")
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} characters more were cut)"


def _given(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _bounded(texts: Sequence[str]) -> tuple[str, ...]:
    """As much of it as the model may get, in order."""
    kept: list[str] = []
    room = CONTEXT_LIMIT
    for text in dict.fromkeys(texts):
        if room > 0:
            kept.append(_text(text, room))
            room -= len(text)
    return tuple(kept)
