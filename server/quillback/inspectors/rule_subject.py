"""What permission rules are held against: the commands of a line, the files of a call, or its whole input."""

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Protocol

from attrs import frozen

from quillback.core.ports import Inspection
from quillback.core.secrets import looks_secret


class Part(Protocol):
    """One thing of a call. An argument of None is that of a rule for the whole tool."""

    def stored(self, argument: str) -> bool:
        """Whether an answer that was stored for `argument` is about this very thing."""
        ...

    def covered(self, argument: str | None) -> bool:
        """Whether a configured allow rule covers it: doubts count as no."""
        ...

    def hit(self, argument: str | None, *, literal: bool) -> bool:
        """Whether a rule that rejects or asks is about it: doubts count as yes. Stored answers are `literal`."""
        ...


@frozen
class Subject:
    """A call as rules see it: every one of `parts` must be allowed, and none of them and of `wrappers` rejected.

    `whole` is the narrowest rule's argument: what an answer for ever is about. It is empty for command lines that are
    not understood, which no allow rule covers and for which no answer lasts.
    """

    whole: str
    parts: Sequence[Part]
    wrappers: Sequence[Part] = ()

    @property
    def understood(self) -> bool:
        return self.whole != ""


def subject(inspection: Inspection) -> Subject:
    access = inspection.access
    if access.command:
        from quillback.inspectors.rule_commands import command_subject

        return command_subject(access.command)
    paths = tuple(dict.fromkeys((*access.reads, *access.writes)))
    if paths:
        parts = [PathPart(path, inspection.roots) for path in paths]
        return Subject(", ".join(part.text for part in parts), parts)
    given = json.dumps(dict(inspection.call.input), sort_keys=True, ensure_ascii=False, default=str)
    return Subject(given, [InputPart(given)])


@frozen
class PathPart:
    """A real path. Relative patterns are about what lies below the session's directory."""

    path: str
    roots: tuple[str, ...]

    @property
    def text(self) -> str:
        """Relative to the session's directory where it is inside."""
        path = PurePath(self.path)
        return str(path.relative_to(self.roots[0])) if self.roots and path.is_relative_to(self.roots[0]) else self.path

    def stored(self, argument: str) -> bool:
        return argument in (self.text, self.path)

    def covered(self, argument: str | None) -> bool:
        """A rule without a path opens neither what is outside the roots nor files that look like credentials."""
        if argument is None:
            inside = any(PurePath(self.path).is_relative_to(root) for root in self.roots)
            return inside and not looks_secret(self.path)
        return self._fits(argument)

    def hit(self, argument: str | None, *, literal: bool) -> bool:
        if literal:
            return argument is not None and self.stored(argument)
        return argument is None or self._fits(argument)

    def _fits(self, pattern: str) -> bool:
        path, wanted = PurePath(self.path), PurePath(pattern)
        if wanted.is_absolute():
            return _matches(path.parts, wanted.parts)
        inside = self.roots and path.is_relative_to(self.roots[0])
        return bool(inside) and _matches(path.relative_to(self.roots[0]).parts, wanted.parts)


@frozen
class InputPart:
    """The input of a call of which nothing else is known, as JSON."""

    given: str

    def stored(self, argument: str) -> bool:
        return argument == self.given

    def covered(self, argument: str | None) -> bool:
        return argument is None or argument == self.given

    def hit(self, argument: str | None, *, literal: bool) -> bool:
        return (argument is None and not literal) or argument == self.given


def _matches(names: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether path names fit a glob: `**` stands for any number of them, at its end for at least one."""
    reached = {0}  # how many names the patterns so far may have used up
    for number, pattern in enumerate(patterns):
        if pattern == "**":
            least = 1 if number == len(patterns) - 1 else 0
            reached = {end for start in reached for end in range(start + least, len(names) + 1)}
        else:
            reached = {start + 1 for start in reached if start < len(names) and fnmatchcase(names[start], pattern)}
    return len(names) in reached
