"""The security inspector: what a call would run and touch, judged by what it is and not by how it is written."""

import os
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path, PurePath

from attrs import frozen

from quillback.core.ports import Inspection, RuleEffect
from quillback.core.verdict import Allow, Ask, Deny, Verdict
from quillback.inspectors import shell_operands
from quillback.inspectors.permission_rules import narrowest
from quillback.inspectors.security_paths import OURS, Places, credential, fatal_change, harmless_device
from quillback.inspectors.security_patterns import NAMES_OURS, Risk, hits
from quillback.inspectors.security_scene import Scene
from quillback.inspectors.shell_script import Command
from quillback.inspectors.shell_syntax import parse
from quillback.inspectors.tool_lines import LINES_LIMIT, named_paths, shell_lines

_REASONS = 4
_PIECES = re.compile(r"&&|\|\||;|\n")
_SHOWN = 80


class Weight(Enum):
    """FATAL calls are denied. GUARDED ones are asked about each time, OPEN ones until the user says always."""

    FATAL = "fatal"
    GUARDED = "guarded"
    OPEN = "open"


_WEIGHTS = {Risk.CRITICAL: Weight.FATAL, Risk.OWN: Weight.GUARDED, Risk.HIGH: Weight.OPEN}


@frozen
class Concern:
    weight: Weight
    reason: str


class SecurityInspector:
    """Denies what is never right and asks about what is dangerous, or cannot be understood, in every mode.

    `protected` are real paths that no call may change unasked, such as our own home and configuration; `home` is the
    user's home directory. `outputs` is where whole results of tools are kept, a folder for each session; a session may
    read its own. A stored answer that allows the very same call settles a question, but not one about protected places.
    """

    name = "security"

    def __init__(self, protected: tuple[str, ...] = (), home: str | None = None, outputs: str = "") -> None:
        self._protected = tuple(os.path.realpath(path) for path in protected)
        self._home = os.path.realpath(home if home is not None else _home())
        self._outputs = os.path.realpath(outputs) if outputs else ""

    async def inspect(self, inspection: Inspection) -> Verdict:
        readable = f"{self._outputs}/{inspection.session_id}" if self._outputs else ""
        places = Places(inspection.roots, self._home, self._protected, readable)
        concerns = [*self._files(inspection, places)]
        cwd = inspection.access.cwd or next(iter(inspection.roots), "/")
        lines = shell_lines(inspection)
        for line in lines[:LINES_LIMIT]:
            concerns += judge(line, cwd, places)
        if len(lines) > LINES_LIMIT:
            concerns.append(Concern(Weight.OPEN, "there are too many command lines in it to be looked into"))
        return _verdict(concerns, _answered(inspection))

    def _files(self, inspection: Inspection, places: Places) -> Iterator[Concern]:
        for path in inspection.access.writes:
            yield from _change(path, places)
        for path in inspection.access.reads:
            if self._outputs and PurePath(path).is_relative_to(PurePath(self._outputs, inspection.session_id)):
                continue
            if credential(path, self._home):
                yield Concern(Weight.OPEN, f"{path} looks like it holds keys or passwords")
            elif not places.inside(path):
                yield Concern(Weight.OPEN, f"{path} is outside the workspace")
        for path in named_paths(inspection):
            real = os.path.realpath(PurePath(next(iter(inspection.roots), "/"), path))
            guarded = places.protection(real) or fatal_change(real)
            if guarded or credential(real, self._home):
                yield Concern(Weight.GUARDED, guarded or f"{real} looks like it holds keys or passwords")


def _home() -> str:
    try:
        return str(Path.home())
    except RuntimeError:
        return "/nonexistent"


def judge(line: str, cwd: str, places: Places) -> list[Concern]:
    """What there is to say against a shell line that runs in `cwd`."""
    script = parse(line)
    scene = Scene(script, places, cwd)
    concerns = [
        Concern(_WEIGHTS[h.pattern.risk], f"`{_short(h.command.text)}` {h.pattern.reason}") for h in hits(scene)
    ]
    for command in script.commands:
        if not command.remote:
            concerns += _paths(scene, command)
    better = any(c.reason.endswith(OURS) and not c.reason.endswith(NAMES_OURS) for c in concerns)
    concerns = [c for c in concerns if not (better and c.reason.endswith(NAMES_OURS))]
    unclear = [Concern(Weight.OPEN, reason) for reason in script.unresolved]
    return [*concerns, *unclear, *(_of_pieces(line, cwd, places) if unclear and not script.commands else ())]


def _of_pieces(line: str, cwd: str, places: Places) -> Iterator[Concern]:
    """What would be fatal in the pieces of a line that cannot be understood as a whole: it is asked about anyway."""
    for piece in _PIECES.split(line)[:LINES_LIMIT]:
        if piece.strip() and piece != line:
            yield from (c for c in judge(piece, cwd, places) if c.weight is Weight.FATAL)


def _paths(scene: Scene, command: Command) -> Iterator[Concern]:
    """The paths that a command changes, and the directories it is told to work in."""
    label = _short(command.text)
    redirected = [r.target for r in command.redirects if r.writes]
    words = list(redirected)
    supposed = [] if command.wrapper else shell_operands.supposed(command)
    for path in (path for word in supposed for path in scene.paths(command, word)):
        yield from _change(path, scene.places)
    if not command.wrapper:
        words += shell_operands.written(command)
        for word in shell_operands.places(command):
            paths = scene.paths(command, word)
            if not paths or not all(scene.places.inside(path) for path in paths):
                yield Concern(Weight.OPEN, f"`{label}` works in {_short(word.source)}, outside the workspace")
    for word in words:
        if word.shape.startswith(("/dev/tcp/", "/dev/udp/")):
            continue
        paths = scene.paths(command, word)
        if not paths or any(word is target and word.wild for target in redirected):
            yield Concern(Weight.OPEN, f"`{label}` changes files not known beforehand: {_short(word.source)}")
        for path in paths:
            yield from _change(path, scene.places)


def _change(path: str, places: Places) -> Iterator[Concern]:
    """What there is to say against a change of a real path."""
    if harmless_device(path):
        return
    fatal, guarded = fatal_change(path), places.protection(path)
    if fatal:
        yield Concern(Weight.FATAL, fatal)
    elif guarded:
        yield Concern(Weight.GUARDED, guarded)
    elif not places.inside(path):
        yield Concern(Weight.OPEN, f"{path} is outside the workspace")


def _answered(inspection: Inspection) -> bool:
    """Whether the user allowed this very call for good."""
    wanted = narrowest(inspection)
    return any(rule.root and rule.pattern == wanted and rule.effect is RuleEffect.ALLOW for rule in inspection.rules)


def _verdict(concerns: list[Concern], answered: bool) -> Verdict:
    fatal = [c.reason for c in concerns if c.weight is Weight.FATAL]
    if fatal:
        return Deny("not run: " + _list(fatal))
    asked = [c.reason for c in concerns if c.weight is Weight.GUARDED or not answered]
    return Ask(_list(asked)) if asked else Allow()


def _list(reasons: list[str]) -> str:
    unique = list(dict.fromkeys(reasons))
    more = f"; and {len(unique) - _REASONS} more" if len(unique) > _REASONS else ""
    return "; ".join(unique[:_REASONS]) + more


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
