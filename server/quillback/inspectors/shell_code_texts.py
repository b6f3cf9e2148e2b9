"""Whether the little programs given to awk and sed do more than change text."""

import re

_AWK_STRING = re.compile(r'"(?:\\.|[^"\\])*"', re.DOTALL)
_AWK_RUNS = re.compile(r"\bsystem\s*\(|\bgetline\b|@(?:load|include)\b|@\w+\s*\(|\|")
_AWK_WRITES = re.compile(r"\bprintf?\b[^;}\n]*>")


def awk_runs_or_writes(program: str) -> bool:
    """Doubtful cases count as yes."""
    text = _AWK_STRING.sub('""', program).replace("||", " ")
    return _AWK_RUNS.search(text) is not None or _AWK_WRITES.search(text) is not None


_SED_PATTERN = r"/(?:\\.|[^/\\\n])*/[IM]*|\\(?:,(?:\\.|[^,\\\n])*,|#(?:\\.|[^#\\\n])*#|\|(?:\\.|[^|\\\n])*\|)[IM]*"
_SED_ADDRESS = re.compile(
    rf"(?:\d+(?:~\d+)?|\$|{_SED_PATTERN})(?:\s*,\s*(?:[+~]?\d+|\$|{_SED_PATTERN}))?[\s!]*", re.DOTALL
)
_SED_PLAIN = tuple("{}=dDgGhHnNpPxzl")
_SED_LABELS = (":", "b", "t", "T", "q", "Q")
_SED_TEXT = re.compile(r"[aic](?:\\.|[^\\\n])*", re.DOTALL)
_SET_OF_CHARACTERS = re.compile(r"\[\^?\]?[^\]]*\]")


def sed_runs_or_writes(script: str) -> bool:
    """Whether a sed script runs commands, reads or writes other files, or cannot be followed."""
    rest = script
    while rest := rest.lstrip(" \t\n;"):
        address = _SED_ADDRESS.match(rest)
        if address and _odd(address[0]):
            return True
        after = _sed_command(rest[address.end() :] if address else rest)
        if after is None:
            return True
        rest = after
    return False


def _sed_command(text: str) -> str | None:
    """What follows the command that `text` begins with; None for one that runs, writes or is not understood."""
    if text.startswith("#"):
        return text.partition("\n")[2]
    if text.startswith(_SED_PLAIN):
        return text[1:].lstrip(" 0123456789")
    if text.startswith(_SED_LABELS):
        end = re.search(r"[;\n}]", text)
        return text[end.start() :] if end else ""
    inserted = _SED_TEXT.match(text)
    if inserted:
        return text[inserted.end() :]
    return _after_substitution(text) if text.startswith(("s", "y")) else None


def _after_substitution(text: str) -> str | None:
    mark = re.escape(text[1:2])
    part = rf"((?:\\.|(?!{mark})[^\\])*){mark}"
    found = re.match(rf".{mark}{part}{part}([gpiImM0-9]*)[ \t]*(?=[;}}\n#]|$)", text, re.DOTALL) if mark else None
    return text[found.end() :] if found and not _odd(found[1]) else None


def _odd(pattern: str) -> bool:
    """Whether a pattern ends inside a set of characters, so that it may end elsewhere for some versions of sed."""
    return "[" in _SET_OF_CHARACTERS.sub("", re.sub(r"\\.", "", pattern, flags=re.DOTALL))
