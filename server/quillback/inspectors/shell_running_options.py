"""Programs that run other programs when an option or a text tells them to."""

import re
from collections.abc import Callable, Sequence

from quillback.inspectors.shell_operands import option_values
from quillback.inspectors.shell_script import Command, Word
from quillback.inspectors.shell_unwrap_steps import Code, Runs, Step, Unclear, with_holes

# What follows these options is a program, or code.
# fmt: off
_RUNNING_OPTIONS: dict[str, tuple[str, ...]] = {
    "tar": ("--to-command", "--checkpoint-action", "--use-compress-program", "-I", "--rmt-command", "--rsh-command",
            "--info-script", "--new-volume-script", "-F"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "scp": ("-S", "-o", "-D"),
    "sftp": ("-S", "-o", "-D"),
    "rg": ("--pre", "--hostname-bin"),
    "fd": ("-x", "--exec", "-X", "--exec-batch"),
    "fdfind": ("-x", "--exec", "-X", "--exec-batch"),
    "sort": ("--compress-program",),
    "split": ("--filter",),
    "zip": ("-TT", "--unzip-command"),
    "man": ("-P", "--pager", "-H", "--html"),
    "make": ("--eval",),
    "gmake": ("--eval",),
    "go": ("-exec", "-toolexec", "-vettool"),
    "gcc": ("-wrapper", "-fplugin"),
    "g++": ("-wrapper", "-fplugin"),
    "clang": ("-fplugin", "-load"),
    "cmake": ("-P",),
    "cargo": ("--config",),
    "vim": ("-c", "--cmd", "-S"),
    "vi": ("-c", "--cmd", "-S"),
    "nvim": ("-c", "--cmd", "-S", "-l"),
    "ex": ("-c", "--cmd"),
    "view": ("-c", "--cmd"),
    "emacs": ("--eval", "--execute", "-eval", "-f", "--funcall", "-l", "--load"),
    "lldb": ("-o", "--one-line", "-s", "-S", "-O"),
    "sqlite3": ("-cmd", "-init"),
    "tcpdump": ("-z",),
    "wget": ("--use-askpass", "-e", "--execute"),
    "curl": ("-K", "--config"),
    "openssl": ("-engine", "-provider", "-provider-path"),
    "nmap": ("--script",),
    "nix-shell": ("--run", "--command"),
    "nix": ("--command", "-c"),
    "less": ("-k", "--lesskey-file"),
    "fzf": ("--preview", "--bind"),
    "hash": ("-p",),
    "enable": ("-f",),
    "compgen": ("-C", "-F"),
    "complete": ("-C", "-F"),
    "mapfile": ("-C",),
    "readarray": ("-C",),
    "bind": ("-x",),
    "xterm": ("-e",),
}
_ALWAYS = {
    "tmux": "runs commands in another place",
    "screen": "runs commands in another place",
    "entr": "runs commands when files change",
    "at": "runs commands later",
    "batch": "runs commands later",
    "xdotool": "types into other programs",
    "gdb": "can run anything in another process",
    "ed": "is an editor with commands of its own",
}
# fmt: on
_TO_A_SHELL = frozenset({"tar", "rsync", "split", "man", "nix-shell", "go", "sort"})
_TEXT_THAT_RUNS = {
    "sqlite3": re.compile(r"\.(?:shell|system|load|import\s+\|)|load_extension|writefile|edit\s*\("),
    "psql": re.compile(r"\\!|\\copy|\bprogram\b|\|", re.IGNORECASE),
    "mysql": re.compile(r"\\!|\bsystem\b|\\P|\bpager\b", re.IGNORECASE),
    "mongo": re.compile(r"\brun\w*\s*\("),
}


def _by_options(command: Command) -> list[Step]:
    name = command.name or ""
    steps: list[Step] = [Unclear(f"{name} {_ALWAYS[name]}")] if name in _ALWAYS else []
    for index, word in enumerate(command.args):
        found = _running_option(word.shape, _RUNNING_OPTIONS.get(name, ()))
        if found is None:
            continue
        option, attached = found
        steps.append(Unclear(f"{name} {option} can run other programs"))
        following = command.args[index + 1 :]
        if name in ("fd", "fdfind"):
            steps.append(Runs(tuple(with_holes(w, "{}") for w in following)))
        elif name in _TO_A_SHELL and (attached or following):
            known = Word(attached if word.text is not None else None, attached, word.source)
            steps.append(Code(known if attached else following[0]))
    return steps


def _running_option(shape: str, options: Sequence[str]) -> tuple[str, str] | None:
    """The option of `options` that a word holds, with what is attached to it."""
    name, _, value = shape.partition("=")
    if name in options:
        return name, value.removeprefix("exec=")
    for option in options:
        if len(option) == 2 and shape.startswith(option):
            return option, shape[2:]
    return None


def _make(command: Command) -> list[Step]:
    steps = _by_options(command)
    texts = [w.shape for w in command.args]
    if any(t.startswith(("SHELL=", ".SHELLFLAGS=", "MAKEFLAGS=")) for t in texts):
        steps.append(Unclear("make is told to run another shell"))
    files = option_values(command.args, ("-f", "--file", "--makefile"))
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
    if command.upstream or any(_TEXT_THAT_RUNS[name].search(text) for text in texts):
        return [Unclear(f"{name} may be told to run other programs"), *_by_options(command)]
    return _by_options(command)


RUNNING: dict[str, Callable[[Command], Sequence[Step]]] = {
    **dict.fromkeys((*_RUNNING_OPTIONS, *_ALWAYS), _by_options),
    **dict.fromkeys(_TEXT_THAT_RUNS, _by_text),
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("vim", "vi", "nvim", "view", "ex", "less", "more", "emacs"), _editor),
}
