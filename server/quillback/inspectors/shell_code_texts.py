"""Whether the little programs given to awk, sed, sqlite3 and make do more than their own work."""

import re

_AWK_RUNS = re.compile(r"\bsystem\s*\(|\bgetline\b|@(?:load|include)\b|@\w+\s*\(|\|")
_AWK_WRITES = re.compile(r"\bprintf?\b[^;}\n]*>")
_AWK_TOKEN = re.compile(
    r"""(?P<text>"(?:\\.|[^"\\])*")|(?P<comment>\#[^\n]*)|(?P<name>[A-Za-z_]\w*)|(?P<number>\d[\w.]*|\.\d\w*)"""
    r"|(?P<join>\\\r?\n)|(?P<blank>[ \t\r]+)|(?P<sign>[\s\S])"
)
_AWK_PATTERN = re.compile(r"/(?:\\[^\n]|\[\^?\]?[^\]\n]*\]|[^/\\\n])*/")
_AWK_PLAIN_PATTERN = re.compile(r"/(?:\\[^\n]|[^/\\\n])*/")
_AWK_WORDS = frozenset({"print", "printf", "return", "case", "in", "getline", "else", "do", "delete", "exit", "while"})
_AWK_READINGS = 16
_AWK_GOES_ON = re.compile(r"(,|&&|\|\|)\s*\n")


def awk_runs_or_writes(program: str) -> bool:
    """Doubtful cases count as yes."""
    readings = _awk_readings(program)
    if readings is None:
        readings = {program}
    for reading in readings:
        text = _AWK_GOES_ON.sub(r"\1 ", reading).replace("||", " ")
        if _AWK_RUNS.search(text) or _AWK_WRITES.search(text):
            return True
    return False


def _awk_readings(program: str) -> set[str] | None:
    """The program without its strings, patterns and comments, in every way in which it may be read.

    A slash after a bracket may divide or begin a pattern. None when there are too many ways.
    """
    found: set[str] = set()
    waiting: list[tuple[int, str, str]] = [(0, "", "")]
    steps = 0
    while waiting:
        at, done, last = waiting.pop()
        while at < len(program):
            steps += 1
            token = _AWK_TOKEN.match(program, at)
            if token is None or steps > 20_000 or len(waiting) + len(found) > _AWK_READINGS:
                return None
            kind, text = token.lastgroup, token[0]
            if text == "/" and last not in ("name", "number", "text"):
                ends = {m.end() for m in (_AWK_PATTERN.match(program, at), _AWK_PLAIN_PATTERN.match(program, at)) if m}
                if not ends or last == "either":
                    waiting.append((at + 1, done + "/", "sign"))
                waiting += [(end, done + '""', "text") for end in ends]
                break
            at = token.end()
            if kind in ("comment", "blank", "join"):
                done += " "
                continue
            done += '""' if kind == "text" else text
            last = kind or ""
            if kind == "name" and text in _AWK_WORDS:
                last = "sign"
            elif text in (")", "]", "+", "-", "$"):
                last = "either"
        else:
            found.add(done)
    return found


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


# ---------------------------------------------------------------- sqlite3, make

# fmt: off
_SQLITE_LOOKS = (
    "bail", "binary", "changes", "databases", "dbconfig", "dbinfo", "dump", "echo", "eqp", "exit", "explain",
    "expert", "fullschema", "headers", "help", "indexes", "indices", "limit", "lint", "mode", "nullvalue",
    "parameter", "print", "progress", "prompt", "quit", "schema", "selftest", "separator", "sha3sum", "show",
    "stats", "tables", "timeout", "timer", "version", "vfsinfo", "vfslist", "vfsname", "width",
)
_SQLITE_MORE = (
    "archive", "auth", "backup", "cd", "check", "clone", "connection", "crnl", "crlf", "excel", "filectrl",
    "import", "imposter", "iotrace", "load", "log", "nonce", "once", "open", "output", "read", "recover", "restore",
    "save", "scanstats", "session", "shell", "system", "testcase", "testctrl", "trace", "unmodule", "vfs", "www",
)
# fmt: on
_SQLITE_COMMAND = re.compile(r"^\s*\.(\S*)", re.MULTILINE)
_PATH = re.compile(r"[^'\"\s]*/[^'\"\s]*")
_SQL_TOUCHES_FILES = re.compile(
    r"\battach\b|\bvacuum\b[^;]*\binto\b|\bvacuum\s*[\"'`\[]|load_extension|writefile|readfile|\bedit\s*\(|fts3_tokenizer"
    r"|\btemp_store_directory\b|\bfsdir\b|^file:",
    re.IGNORECASE,
)


def sqlite_runs_or_writes(text: str) -> bool:
    """Whether SQL, or a command of sqlite3 itself, reaches other files or programs. Shortened commands count."""
    for name in _SQLITE_COMMAND.findall(text):
        lower = name.lower()
        looks = lower in _SQLITE_LOOKS or (_begins(lower, _SQLITE_LOOKS) and not _begins(lower, _SQLITE_MORE))
        if not (looks or lower.isdigit() or _PATH.fullmatch(lower)):
            return True
    return _SQL_TOUCHES_FILES.search(text) is not None


def _begins(name: str, names: tuple[str, ...]) -> bool:
    return any(n.startswith(name) for n in names)


_MAKE_SETS = re.compile(r"(?:SHELL|\.SHELLFLAGS|MAKEFLAGS|MAKEFILES|MAKE|GNUMAKEFLAGS)\s*[:?+!]*=")
_MAKE_VARIABLE = re.compile(r"[\w.%-]+\s*(?P<sign>[:?+!]*)=(?P<value>[\s\S]*)")
_MAKE_RUNS = re.compile(r"\$[({]|[;&|`<>\n]")


def make_runs(word: str) -> bool:
    """Whether an argument of make sets a variable so that something runs."""
    if _MAKE_SETS.match(word):
        return True
    found = _MAKE_VARIABLE.match(word)
    return found is not None and ("!" in found["sign"] or _MAKE_RUNS.search(found["value"]) is not None)
