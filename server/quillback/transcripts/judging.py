"""Whether what came is what a line of a transcript expects. The text of a message may still grow while it is asked."""

from collections.abc import Mapping

from attrs import evolve, frozen

from quillback.transcripts.inbox import Arrived, Line
from quillback.transcripts.pattern import Kind, Obj, Pattern, Words, fits
from quillback.transcripts.steps import Step

_TEXT = ("params", "update", "content", "text")


@frozen
class Fits:
    """`names` with the new ones; `length` is how much of a text was meant, None for all of the message."""

    names: Mapping[str, object]
    length: int | None = None


@frozen
class Wait:
    """More of the text has to come first."""


Verdict = Fits | Wait | None


def judge(step: Step, arrived: Arrived, names: Mapping[str, object], *, begins: bool) -> Verdict:
    """None where it does not fit.

    `begins` is for a line after which something is sent, or more of the message is expected: its text is the
    beginning of the message's text. Otherwise it is the whole text, wherever the agent cut it in pieces.
    """
    if step.message is None or isinstance(arrived.value, Line):
        raw = isinstance(arrived.value, Line) and step.message is None and arrived.value.text == step.raw
        return Fits(names) if raw else None
    if arrived.chunk is None:
        return _whole(step.message, arrived, names)
    text = text_of(step.message)
    found = fits(without_text(step.message), arrived.value, names)
    if found is None:
        return None
    if not begins:
        return Wait() if arrived.open else _whole(step.message, arrived, names)
    return _beginning(text, step.message, arrived, found, names)


def _beginning(
    text: Pattern, message: Pattern, arrived: Arrived, found: Mapping[str, object], names: Mapping[str, object]
) -> Verdict:
    if isinstance(text, Words):
        wanted = text.text(found)
        if arrived.text.startswith(wanted):
            return Fits(found, len(wanted))
        return Wait() if arrived.open and wanted.startswith(arrived.text) else None
    whole = _whole(message, arrived, names)
    return Wait() if whole is None and arrived.open else whole


def _whole(message: Pattern, arrived: Arrived, names: Mapping[str, object]) -> Verdict:
    found = fits(message, arrived.value, names)
    return None if found is None else Fits(found)


def text_of(message: Pattern) -> Pattern:
    """What is expected of the text of a chunk; anything, where the message does not say."""
    at: Pattern | None = message
    for key in _TEXT:
        at = at.get(key) if isinstance(at, Obj) else None
    return Kind.ANY if at is None else at


def without_text(message: Pattern, path: tuple[str, ...] = _TEXT) -> Pattern:
    """The message with any text, where it has one."""
    if not path:
        return Kind.ANY
    if not isinstance(message, Obj) or message.get(path[0]) is None:
        return message
    changed = ((k, without_text(item, path[1:]) if k == path[0] else item) for k, item in message.fields)
    return evolve(message, fields=tuple(changed))
