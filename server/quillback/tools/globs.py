"""File name patterns: `*` and `?` within a name, `**` across directories, `[a-z]`, `{one,other}`."""

import re

from quillback.core.ports import ToolError

_ALTERNATIVES = 200
_LENGTH = 1000


def tidy(pattern: str) -> str:
    """The pattern relative to the searched directory. Raises ToolError for one that leads out of it."""
    pattern = pattern.strip()
    if "\0" in pattern:
        raise ToolError("the pattern holds a NUL character")
    if len(pattern) > _LENGTH:
        raise ToolError(f"the pattern is longer than {_LENGTH:,} characters")
    while pattern.startswith("./"):
        pattern = pattern[2:]
    if not pattern:
        raise ToolError("the pattern is empty")
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        raise ToolError("the pattern is relative to path and stays below it; give the directory as path")
    return f"{pattern}**" if pattern.endswith("/") else pattern


def compiled(pattern: str) -> "re.Pattern[str]":
    """Matches whole relative paths. A pattern without a slash fits names at any depth. Raises ToolError."""
    choices = "|".join(_path(choice) for choice in _spread(tidy(pattern)))
    try:
        return re.compile(f"(?:{choices})", re.DOTALL)
    except re.error as error:
        raise ToolError(f"the pattern {pattern!r} is not valid: {error}") from None


def _spread(pattern: str) -> list[str]:
    """Every pattern that one with {one,other} stands for."""
    done: list[str] = []
    rest = [pattern]
    while rest:
        head = rest.pop(0)
        braces = _braces(head)
        if braces is None:
            done.append(head)
        else:
            start, end, choices = braces
            rest[:0] = [head[:start] + choice + head[end:] for choice in choices]
        if len(done) + len(rest) > _ALTERNATIVES:
            raise ToolError("the pattern has too many alternatives")
    return done


def _braces(pattern: str) -> tuple[int, int, list[str]] | None:
    """Where the first {...} with a comma begins and ends, and what it offers."""
    for start in (at for at, character in enumerate(pattern) if character == "{"):
        depth, last, choices = 0, start + 1, []
        for at in range(start, len(pattern)):
            depth += {"{": 1, "}": -1}.get(pattern[at], 0)
            if (pattern[at] == "," and depth == 1) or depth == 0:
                choices.append(pattern[last:at])
                last = at + 1
            if depth == 0:
                if len(choices) > 1:
                    return start, at + 1, choices
                break
    return None


def _path(pattern: str) -> str:
    parts = [part for part in pattern.split("/") if part]
    out = "" if "/" in pattern else "(?:[^/]+/)*"
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part != "**":
            out += _name(part) + ("" if last else "/")
        elif last:
            out += ".+"
        elif parts[index + 1] != "**":
            out += "(?:[^/]+/)*"
    return out


def _name(part: str) -> str:
    """One name of a path. What follows a star is matched at its first place for good, so that it cannot blow up."""
    fixed = [""]
    at = 0
    while at < len(part):
        character = part[at]
        at += 1
        if character == "*":
            fixed.append("")
        elif character == "?":
            fixed[-1] += "[^/]"
        elif character == "[" and (end := part.find("]", at + 1 + (part[at : at + 1] in ("!", "^")))) > 0:
            fixed[-1] += _set(part[at:end])
            at = end + 1
        elif character == "\\" and at < len(part):
            fixed[-1] += re.escape(part[at])
            at += 1
        else:
            fixed[-1] += re.escape(character)
    first, *middle = fixed
    if not middle:
        return first
    *middle, last = middle
    return first + "".join(f"(?>[^/]*?{piece})" for piece in middle if piece) + "[^/]*" + last


def _set(inside: str) -> str:
    negated = inside.startswith(("!", "^"))
    body = inside[1:] if negated else inside
    body = body.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace("^", "\\^").replace("&&", "&\\&")
    body = body.replace("~~", "~\\~").replace("||", "|\\|").replace("--", "-\\-")
    return f"[^/{body}]" if negated else f"(?!/)[{body}]"
