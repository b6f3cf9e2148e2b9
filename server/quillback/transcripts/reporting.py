"""Says in words what a transcript came to: the line, what was expected there, and what came."""

import difflib
from collections.abc import Iterator, Mapping

from quillback.transcripts.inbox import Line
from quillback.transcripts.merging import kind_of, merged
from quillback.transcripts.naming import Naming
from quillback.transcripts.pattern_writing import write_pattern
from quillback.transcripts.runner import FileDiffers, LeftOver, Mismatch, Problem, Unsendable
from quillback.transcripts.steps import Mark, Step

SHOWN = 60
"""Lines of a difference."""
COLUMNS = 240
"""Characters of a line."""
NARROW = 40
"""Columns: so that a line of a difference has little in it that is not different."""


def report(problem: Problem, place: str, last_line: int, names: Mapping[str, object], told: str = "") -> str:
    """`told` is the end of what the agent wrote to its standard error."""
    line, what, difference = _parts(problem, last_line, dict(names))
    shown = list(difference)
    if len(shown) > SHOWN:
        shown = [*shown[:SHOWN], f"  … and {len(shown) - SHOWN} more lines"]
    if told and isinstance(problem, Mismatch):
        shown += ["the agent's standard error:", *(f"  {told_line}" for told_line in told.split("\n")[-10:])]
    return "\n".join([f"{place}:{line}: {what}", *(f"    {_cut(text)}" for text in shown)])


def _parts(problem: Problem, last_line: int, names: dict[str, object]) -> tuple[int, str, Iterator[str]]:
    match problem:
        case Mismatch(wanted=wanted, came=came, why=why):
            if came is None:
                return wanted[0].lines[0] + 1, f"{why}; this was expected:", _sources(wanted)
            step = _likeliest(wanted, came)
            what = "something else came (- expected, + came):"
            if len(wanted) > 1:
                what = f"it is none of the {len(wanted)} that are to come; the likeliest (- expected, + came):"
            return step.lines[0] + 1, what, _difference(step, came, names)
        case LeftOver(came=came):
            return last_line, "at the end there was a message that nothing expects:", iter(_written(came, names))
        case Unsendable(step=step, why=why):
            return step.lines[0] + 1, why, iter(step.source.split("\n"))
        case FileDiffers(block=block, found=None):
            return block.lines[0], f"there is no file {block.path}", iter(())
        case FileDiffers(block=block, found=str(found)):
            what = f"{block.path} holds something else (- expected, + found):"
            return block.lines[0], what, _compared(block.text.split("\n"), found.split("\n"))
    raise AssertionError(problem)


def _cut(text: str) -> str:
    return text if len(text) <= COLUMNS else f"{text[:COLUMNS]} … ({len(text)} characters)"


def _sources(wanted: tuple[Step, ...]) -> Iterator[str]:
    for step in wanted:
        yield from step.source.split("\n")


def _likeliest(wanted: tuple[Step, ...], came: object) -> Step:
    kind = kind_of(came)
    return next((step for step in wanted if kind_of(step.message) == kind), wanted[0])


def _difference(step: Step, came: dict[str, object] | Line, names: dict[str, object]) -> Iterator[str]:
    if step.message is None or isinstance(came, Line):
        return _compared(step.source.split("\n"), _written(came, names))
    if kind_of(step.message) != kind_of(came):
        return _compared(step.source.split("\n"), _written(came, names))
    before = write_pattern(step.message, width=NARROW).split("\n")
    after = write_pattern(merged(step.message, came, names, Naming(names, plain=True)), width=NARROW).split("\n")
    return _compared(before, after)


def _compared(before: list[str], after: list[str]) -> Iterator[str]:
    for line in difflib.ndiff(before, after):
        if not line.startswith("?"):
            yield line.rstrip()


def _written(came: dict[str, object] | Line, names: dict[str, object]) -> list[str]:
    if isinstance(came, Line):
        return [f"{Mark.MUST} raw {came.text}"]
    return f"{Mark.MUST} {write_pattern(Naming(names, plain=True).came(came), used=len(Mark.MUST) + 1)}".split("\n")
