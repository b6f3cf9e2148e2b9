"""Programs that run other programs when an option or a text tells them to."""

import re
from collections.abc import Callable, Sequence

from quillback.inspectors.shell_code_texts import make_runs, sqlite_runs_or_writes
from quillback.inspectors.shell_matcher import given, options, part, values
from quillback.inspectors.shell_option_tables import RUNNING as RUNNING_OPTIONS
from quillback.inspectors.shell_option_tables import grammar_of, of_program, spread
from quillback.inspectors.shell_script import Command
from quillback.inspectors.shell_unwrap_steps import Code, Runs, Step, Unclear, with_holes

# fmt: off
_ALWAYS = {
    "tmux": "runs commands in another place",
    "screen": "runs commands in another place",
    "entr": "runs commands when files change",
    "at": "runs commands later",
    "batch": "runs commands later",
    "xdotool": "types into other programs",
    "gdb": "can run anything in another process",
    "ed": "is an editor with commands of its own",
    "pax": "writes where the archive says",
}
# fmt: on
_TO_A_SHELL = frozenset({"tar", "bsdtar", "gtar", "rsync", "split", "man", "nix-shell", "go", "sort"})
_TEXT_THAT_RUNS: dict[str, Callable[[str], bool]] = {
    "sqlite3": sqlite_runs_or_writes,
    "psql": lambda text: re.search(r"\\[!owgis]|\\copy|\bprogram\b|\|", text, re.IGNORECASE) is not None,
    "mysql": lambda text: re.search(r"\\!|\bsystem\b|\\[PT.]|\bpager\b|\btee\b", text, re.IGNORECASE) is not None,
    "mongo": lambda text: re.search(r"\brun\w*\s*\(", text) is not None,
}
_WORDS_THAT_RUN = {
    "go": re.compile(r"-extld|-extar"),
    "java": re.compile(r"^-(?:javaagent|agentpath|agentlib):|^-XX:On"),
    "ghc": re.compile(r"^-pgm[A-Za-z]|^-fplugin"),
    "zip": re.compile(r"^-[a-zA-Z]*TT"),
    "curl": re.compile(r"%output\{"),
    "protoc": re.compile(r"^--plugin"),
}
_TAR_MODES = options(("-x", "--extract", "--get"), grammar_of("tar"))
_TAR_ABSOLUTE = options(("-P", "--absolute-names", "--absolute-paths"), grammar_of("tar"))
_CPIO_IN = options(("-i", "--extract"), grammar_of("cpio"))
_MAKE_FILES = options(("-f", "--file", "--makefile"), grammar_of("make"))


def _by_options(command: Command) -> list[Step]:
    name = command.name or ""
    steps: list[Step] = [Unclear(f"{name} {_ALWAYS[name]}")] if name in _ALWAYS else []
    words = spread(name, command.args)
    for use in given(words, of_program(RUNNING_OPTIONS, name)):
        steps.append(Unclear(f"{name} {use.option} can run other programs"))
        if use.value is None:
            continue
        if name in ("fd", "fdfind"):
            steps.append(Runs(tuple(with_holes(w, "{}") for w in (use.value, *use.after))))
        elif name in _TO_A_SHELL:
            start = len("exec=") if use.value.shape.startswith("exec=") else 0
            steps.append(Code(part(use.value, start)))
    running = _WORDS_THAT_RUN.get(name)
    if running and any(running.search(w.shape) for w in command.args):
        steps.append(Unclear(f"{name} has an option that can run other programs or write files"))
    return steps


def _make(command: Command) -> list[Step]:
    steps = _by_options(command)
    if any(make_runs(w.shape) for w in command.args):
        steps.append(Unclear("make is told to run another shell, or commands of its own"))
    files = values(command.args, _MAKE_FILES)
    if any(f.text in ("-", "/dev/stdin") or f.inner for f in files):
        steps.append(Unclear("make runs rules that are not looked into"))
    return steps


def _editor(command: Command) -> list[Step]:
    steps = _by_options(command)
    if any(re.match(r"\+(?!\d*$|/)", w.shape) for w in command.args):
        steps.append(Unclear(f"{command.name} is given a command of its own"))
    return steps


def _by_text(command: Command) -> list[Step]:
    name = command.name or ""
    texts = [*command.texts, *(r.target.shape for r in command.redirects if r.gives_text)]
    if command.upstream or any(_TEXT_THAT_RUNS[name](text) for text in texts):
        return [Unclear(f"{name} may be told to run other programs or to write files"), *_by_options(command)]
    return _by_options(command)


def _archive(command: Command) -> list[Step]:
    """Programs that write wherever the archive says, or take an archive from another machine."""
    name, steps = command.name or "", _by_options(command)
    words = spread(name, command.args)
    if name == "unzip":
        loose = any(re.match(r"-[a-zA-Z]*:", w.shape) for w in words)
    elif name == "cpio":
        loose = bool(given(words, _CPIO_IN)) and not any(w.shape.startswith("--no-abs") for w in words)
    else:
        loose = bool(given(words, _TAR_MODES)) and bool(given(words, _TAR_ABSOLUTE))
    return [*steps, Unclear(f"{name} writes wherever the archive says")] if loose else steps


RUNNING: dict[str, Callable[[Command], Sequence[Step]]] = {
    **dict.fromkeys((*(n for n in RUNNING_OPTIONS if " " not in n), *_ALWAYS, *_WORDS_THAT_RUN), _by_options),
    **dict.fromkeys(_TEXT_THAT_RUNS, _by_text),
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("vim", "vi", "nvim", "view", "ex", "less", "more", "emacs"), _editor),
    **dict.fromkeys(("tar", "bsdtar", "gtar", "cpio", "unzip"), _archive),
}
