"""`{{ key }}` in the texts of a recipe: what may stand there, and what comes in its place. There is no more to it: no
conditions, no filters, no loops."""

import re
from collections.abc import Collection, Iterator, Mapping

from quillback.recipes.standing import why_not

NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_FOUND = re.compile(r"(?P<kept>\\\{\{)|\{\{(?:[ \t]*(?P<key>" + NAME + r")[ \t]*\}\})?")
_SHOWN = 40
_UNFIT = ("`", "<<", "$'")
_PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
_BEFORE = frozenset({"", " ", "\t", "\n", "="})
_BEHIND = frozenset({"", " ", "\t", "\n", ";", "&", "|", ")"})


def wrong(text: str, keys: Collection[str]) -> Iterator[str]:
    """What is wrong with the placeholders of `text`, each once."""
    return iter(dict.fromkeys(_problems(text, keys)))


def _problems(text: str, keys: Collection[str]) -> Iterator[str]:
    for found in _FOUND.finditer(text):
        if found["kept"] or (key := found["key"]) in keys:
            continue
        if key:
            yield f"{{{{ {key} }}}} is no parameter; {allowed(keys)}"
        else:
            shown = _shown(text, found.start())
            yield f"{shown} is no placeholder; write {{{{ key }}}}, or \\{{{{ for braces that are meant to stay"


def fill(text: str, values: Mapping[str, str]) -> str:
    """`text` with its placeholders replaced, in one pass: what a value holds is never looked at."""
    return _FOUND.sub(lambda found: "{{" if found["kept"] else values[found["key"]], text)


def fill_command(command: str, values: Mapping[str, str]) -> str:
    """The same for a command line: each value is one word of it, or part of one, whatever it holds.

    A value that needs no quotes gets none only where nothing else touches it: `$A{{ b }}` and `{{ n }}>file` would read
    it as their own.
    """

    def word(found: re.Match[str]) -> str:
        if found["kept"]:
            return "{{"
        value = values[found["key"]]
        alone = command[: found.start()][-1:] in _BEFORE and command[found.end() :][:1] in _BEHIND
        return value if alone and _PLAIN.fullmatch(value) else "'" + value.replace("'", "'\"'\"'") + "'"

    return _FOUND.sub(word, command)


def wrong_in_command(command: str) -> str:
    """Why a value could become more than a word where it stands; empty for nothing."""
    marks = sum(bool(found["key"]) for found in _FOUND.finditer(command))
    if not marks:
        return ""
    if unfit := next((sign for sign in _UNFIT if sign in command), ""):
        return f"a command with placeholders cannot have {unfit} in it; move that part into a script"
    around = next((where for where in _surroundings(command) if where), "")
    if around == "#":
        return "a placeholder cannot stand in a comment; leave the comment out"
    if around:
        return "a placeholder cannot stand between quotes; leave them out, the value is quoted for you"
    mark = "QUILLBACK"
    while mark in command:
        mark += "K"
    return why_not(_FOUND.sub(lambda found: "{{" if found["kept"] else f"'{mark}'", command), f"'{mark}'", marks)


def allowed(keys: Collection[str]) -> str:
    return f"there are: {', '.join(keys)}" if keys else "the recipe has no parameters"


def _surroundings(command: str) -> Iterator[str]:
    """For each placeholder the quote that is open there, # in a comment, or nothing."""
    state, at = "", 0
    while at < len(command):
        found = _FOUND.match(command, at)
        if found:
            if found["key"]:
                yield state
            at = found.end()
            continue
        sign = command[at]
        if sign == "\\" and state in ("", '"'):
            at += 1
        elif state == "#":
            state = "" if sign == "\n" else state
        elif state:
            state = "" if sign == state else state
        elif sign in ("'", '"') or (sign == "#" and (at == 0 or command[at - 1] in " \t\n;&|()")):
            state = sign
        at += 1


def _shown(text: str, at: int) -> str:
    return text[at : at + _SHOWN].split("\n")[0]
