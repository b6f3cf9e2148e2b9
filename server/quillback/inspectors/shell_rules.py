"""Rules for shell lines: each command that a line would run must match, never the line's first word or its text."""

import shlex
from collections.abc import Iterable, Sequence
from functools import lru_cache

from quillback.inspectors.shell_git import without_place
from quillback.inspectors.shell_operands import side_writes
from quillback.inspectors.shell_script import UNKNOWN, Command, Script, Word, program
from quillback.inspectors.shell_syntax import parse
from quillback.inspectors.shell_unwrap import TRANSPARENT
from quillback.inspectors.shell_variables import harmless

_PREFIX = ":*"
_GIT_LOOKS = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-advice"})
_THROUGH = TRANSPARENT | {"find", "."}


def rule_commands(script: Script) -> list[Command]:
    """The commands that rules speak of: all but wrappers that do nothing of their own (`timeout 5 ...`)."""
    return [c for c in script.commands if not c.wrapper]


def commands_for_rules(script: Script) -> list[str]:
    """Those commands as normal texts: `git log -3` for `/usr/bin/git  'log' -3`."""
    return [c.text for c in rule_commands(script)]


def valid_pattern(pattern: str) -> bool:
    """Whether a rule's argument names one command: `git status`, or `git log:*` for all that begin with these words."""
    return _pattern(pattern) is not None


def matches(pattern: str, command: Command | str) -> bool:
    """Whether an allow rule covers a command: the very same words, or with `:*` the same first words.

    What is reached through sudo or on another machine, sets variables, writes files by redirection or option, or has
    words that are not known, is never covered. Of a text, every command must be covered.
    """
    if isinstance(command, str):
        return allowed(parse(command), [pattern])
    wanted = _pattern(pattern)
    if wanted is None or not _plain(command):
        return False
    words, prefix = wanted
    have = _as_written(command)
    if not _begins(have, words) or not (prefix or len(have) == len(words)):
        return False
    return not any(w.text not in words for w in side_writes(command))


def hits(pattern: str, command: Command | str) -> bool:
    """Whether a reject rule speaks of a command: doubts count as yes, however the command is reached or written.

    Of a text, any command will do.
    """
    if isinstance(command, str):
        return rejected(parse(command), [pattern])
    wanted = _pattern(pattern)
    if wanted is None or command.name is None:
        return False
    words, prefix = wanted
    names = (words[0].rpartition("/")[2], *words[1:])
    readings = (command, without_place(command)) if command.name == "git" else (command,)
    return any(_may_be((r.name, *(w.text for w in r.args)), names, prefix) for r in readings)


def _may_be(have: tuple[str | None, ...], want: tuple[str, ...], prefix: bool) -> bool:
    """Whether words, some of them unknown, may be the wanted ones."""
    if not all(h in (None, w) for h, w in zip(have, want, strict=False)):
        return False
    return None in have or (len(have) >= len(want) if prefix else len(have) == len(want))


def allowed(script: Script, patterns: Iterable[str]) -> bool:
    """Whether allow rules cover a whole line: it is understood, and every command in it is covered."""
    rules = list(patterns)
    commands = rule_commands(script)
    return bool(commands) and not script.unresolved and all(any(matches(r, c) for r in rules) for c in commands)


def rejected(script: Script, patterns: Iterable[str]) -> bool:
    """Whether a reject rule speaks of any command of a line."""
    rules = list(patterns)
    return any(hits(r, c) for c in script.commands for r in rules)


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> tuple[tuple[str, ...], bool] | None:
    """The words of a rule, and whether more may follow; None unless they are the words of one command."""
    prefix = pattern.endswith(_PREFIX)
    text = pattern[: -len(_PREFIX)] if prefix else pattern
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        return None
    first = [c for c in parse(text).commands if not c.via]
    if len(first) != 1 or first[0].redirects or first[0].assignments or not words:
        return None
    return (words, prefix) if tuple(w.text for w in first[0].words) == words else None


def _plain(command: Command) -> bool:
    if not command.words or command.privileged or command.remote or not _THROUGH.issuperset(command.via):
        return False
    if any(r.writes for r in command.redirects) or not all(harmless(a) for a in command.assignments):
        return False
    return command.name is not None and all(_known(w) for w in command.words)


def _known(word: Word) -> bool:
    """Known, or a wild card or `~` path that cannot become an option."""
    if word.text is not None:
        return True
    return (word.wild or word.home) and UNKNOWN not in word.shape and word.shape[:1] not in ("-", "+", "*", "?", "[")


def _as_written(command: Command) -> list[str | None]:
    """The words; the program without its directory where that is one of the system's, and only there."""
    words = list(command.args)
    while command.name == "git" and words and words[0].text in _GIT_LOOKS:
        words.pop(0)
    return [program(command.words[0]).text, *(w.text for w in words)]


def _begins(texts: Sequence[str | None], words: Sequence[str]) -> bool:
    return len(texts) >= len(words) and all(have == want for have, want in zip(texts, words, strict=False))
