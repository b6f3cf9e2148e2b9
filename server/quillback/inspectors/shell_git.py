"""What git would run besides itself: aliases, hooks, helpers and commands that it is handed."""

import fnmatch
import re
from collections.abc import Sequence

from attrs import evolve

from quillback.inspectors.shell_matcher import given
from quillback.inspectors.shell_option_tables import RUNNING, of_program
from quillback.inspectors.shell_options import Parsed, Spec, parse
from quillback.inspectors.shell_script import Command, Word, joined, literal
from quillback.inspectors.shell_unwrap_steps import Code, Runs, Step, Unclear

GLOBAL = Spec(
    "C:c:pPhv",
    "exec-path html-path man-path info-path paginate no-pager git-dir= work-tree= namespace= bare no-replace-objects "
    "no-lazy-fetch no-optional-locks no-advice literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs "
    "config-env= list-cmds= attr-source= version help",
)
# fmt: off
_HARMLESS_KEYS = (
    "user.name", "user.email", "color.*", "advice.*", "core.quotepath", "core.autocrlf", "core.eol", "core.filemode",
    "core.ignorecase", "core.longpaths", "core.abbrev", "core.whitespace", "core.pager=", "init.defaultbranch",
    "commit.gpgsign", "tag.gpgsign", "log.*", "diff.renames", "diff.algorithm", "diff.context", "diff.noprefix",
    "diff.mnemonicprefix", "diff.colormoved", "merge.conflictstyle", "merge.ff", "pull.rebase", "pull.ff",
    "push.default", "push.autosetupremote", "rebase.autostash", "rebase.autosquash", "rerere.*", "fetch.prune",
    "branch.autosetup*", "branch.sort", "tag.sort", "status.*", "column.*", "gc.auto", "maintenance.auto",
    "http.lowspeed*", "http.postbuffer", "protocol.version", "submodule.recurse", "safe.directory", "grep.*",
    "format.pretty", "stash.show*", "versionsort.*", "blame.*", "help.autocorrect",
)
# fmt: on
_HARMLESS_VALUES = frozenset({"", "cat", "true", ":", "less", "false"})
_PROGRAM_KEYS = frozenset({"core.pager", "core.editor", "sequence.editor", "pager.log", "pager.diff", "pager.show"})
_SHELLS = frozenset({"rebase", "difftool", "filter-branch"})
_ODD_URL = re.compile(r"(?:^|[=\s])(?:ext|fd)::")


def harmless_setting(key: str, value: str | None) -> bool:
    """Whether a configuration key cannot make git run anything."""
    lower = key.lower()
    if lower in _PROGRAM_KEYS:
        return value in _HARMLESS_VALUES
    return any(fnmatch.fnmatchcase(lower, pattern) for pattern in _HARMLESS_KEYS)


def subcommand(command: Command) -> tuple[Parsed, str | None, tuple[Word, ...]]:
    """The options before git's subcommand, its name (None when unknown, empty without one), and what follows it."""
    parsed = parse(command.args, GLOBAL)
    if not parsed.rest:
        return parsed, "", ()
    return parsed, parsed.rest[0].text, parsed.rest[1:]


def git(command: Command) -> list[Step]:
    parsed, verb, words = subcommand(command)
    steps: list[Step] = [Unclear(f"git: {parsed.unclear}")] if parsed.unclear else []
    for setting in parsed.values("-c"):
        steps += _setting(setting)
    if parsed.has("--config-env") or any(w.shape.startswith("--exec-path=") for w in command.args):
        steps.append(Unclear("git is set up to run other programs"))
    if verb is None:
        return [*steps, Unclear(f"which git command runs is not known: {parsed.rest[0].source[:60]}")]
    if any(_ODD_URL.search(w.shape) for w in words):
        steps.append(Unclear("git is given an address that runs a program"))
    return [*steps, *_options(verb, words), *_handed(verb, words)]


def _setting(word: Word) -> list[Step]:
    key, _, value = word.shape.partition("=")
    known = value if word.text is not None else None
    if value.startswith("!") and known is not None:
        return [Unclear(f"git is set up to run a command by {key}"), Code(literal(value[1:]))]
    return [] if harmless_setting(key, known) else [Unclear(f"git is given the setting {key or word.source}")]


def _options(verb: str, words: Sequence[Word]) -> list[Step]:
    steps: list[Step] = []
    for use in given(words, of_program(RUNNING, f"git {verb}")):
        steps.append(Unclear(f"git {verb} {use.option} can run other programs"))
        if verb in _SHELLS and use.value is not None:
            steps.append(Code(use.value))
    return steps


def _handed(verb: str, words: Sequence[Word]) -> list[Step]:
    """Commands that git takes as words."""
    texts = [w.text for w in words]
    if verb == "bisect" and texts[:1] == ["run"] and words[1:]:
        return [Runs(tuple(words[1:]))]
    if verb == "submodule" and "foreach" in texts:
        rest = words[texts.index("foreach") + 1 :]
        while rest and rest[0].shape.startswith("-"):
            rest = rest[1:]
        return [Code(joined(rest))] if rest else []
    if verb == "config" and any((t or "").startswith("!") for t in texts):
        return [Code(literal((w.text or "")[1:])) for w in words if (w.text or "").startswith("!")]
    if verb == "config" and any(t in ("-e", "--edit", "edit") for t in texts):
        return [Unclear("git config opens an editor")]
    return []


def without_place(command: Command) -> Command:
    """The same git command without the options that say where it works."""
    parsed, _, _ = subcommand(command)
    return evolve(command, words=(command.words[0], *parsed.rest))
