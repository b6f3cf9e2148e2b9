"""What tools bring, without secrets: masked here once, before it is stored, shown or given to the model."""

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from attrs import evolve

from quillback.core.audit import Finding
from quillback.core.mask import Mask
from quillback.core.message import Diff, Image, ResourceLink, ResultPart, Shown, Terminal, Text
from quillback.core.ports import ToolOutcome
from quillback.core.verdict import Allow, Verdict


def hidden_outcome(mask: Mask, outcome: ToolOutcome) -> ToolOutcome:
    """The model's plan, paths and digests stay as they are."""
    return evolve(
        outcome,
        content=tuple(_content(mask, part) for part in outcome.content),
        shown=hidden_shown(mask, outcome.shown),
        raw_output=_raw(mask, outcome.raw_output),
        say=mask.hide(outcome.say),
    )


def hidden_shown(mask: Mask, shown: Sequence[Shown], *, growing: bool = False) -> tuple[Shown, ...]:
    """With `growing`, texts go on: the beginning of a secret at their end is left out."""
    return tuple(_shown(mask, part, growing) for part in shown)


def _raw(mask: Mask, value: object) -> object:
    """Without what is nested too deeply to be looked through; it was only for programs."""
    try:
        return _json(mask, value)
    except RecursionError:
        return None


def _json(mask: Mask, value: Any) -> Any:  # noqa: ANN401 - any JSON value
    match value:
        case str():
            return mask.hide(value)
        case Mapping():
            return {_json(mask, key): _json(mask, item) for key, item in value.items()}
        case list() | tuple():
            return [_json(mask, item) for item in value]
        case _:
            return value


def hidden_findings(mask: Mask, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """What was said may quote the call."""
    return tuple(evolve(finding, verdict=_verdict(mask, finding.verdict)) for finding in findings)


def _verdict(mask: Mask, verdict: Verdict) -> Verdict:
    verdict = evolve(verdict, rule=mask.hide(verdict.rule), details=tuple(map(mask.hide, verdict.details)))
    return verdict if isinstance(verdict, Allow) else evolve(verdict, reason=mask.hide(verdict.reason))


def _content(mask: Mask, part: ResultPart) -> ResultPart:
    return Text(mask.hide(part.text), part.run_id) if isinstance(part, Text) else part


def _shown(mask: Mask, part: Shown, growing: bool) -> Shown:
    match part:
        case Text(text=text):
            return evolve(part, text=mask.hide_growing(text) if growing else mask.hide(text))
        case Diff(old=old, new=new):
            return evolve(part, old=None if old is None else mask.hide(old), new=mask.hide(new))
        case ResourceLink():
            hide = mask.hide
            return evolve(part, uri=hide(part.uri), title=hide(part.title), description=hide(part.description))
        case Image() | Terminal():
            return part
        case _:
            assert_never(part)
