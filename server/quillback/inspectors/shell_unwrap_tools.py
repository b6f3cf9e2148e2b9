"""Programs with another purpose that can also run commands: find, xargs, git, containers, and options of many more."""

import re
from collections.abc import Callable, Sequence

from quillback.inspectors.shell_git import git
from quillback.inspectors.shell_options import Spec, parse
from quillback.inspectors.shell_running_options import RUNNING
from quillback.inspectors.shell_script import Command, Word, hole
from quillback.inspectors.shell_unwrap_steps import Runs, Step, Unclear, with_holes

_FIND_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_XARGS = Spec(
    "0oprtxa:d:e::E:i::I:l::L:n:P:R:s:S:J:",
    "null open-tty interactive no-run-if-empty verbose exit arg-file= delimiter= eof replace max-lines max-args= "
    "max-procs= max-chars= process-slot-var= show-limits",
)


def _find(command: Command) -> list[Step]:
    steps: list[Step] = []
    words = list(command.args)
    while words:
        word = words.pop(0)
        if word.text is None and word.may_be_option and not word.wild:
            steps.append(Unclear(f"which actions find takes is not known: {word.source[:60]}"))
        if word.text not in _FIND_EXEC:
            continue
        end = next((i for i, w in enumerate(words) if w.text == ";" or (w.text == "+" and i)), len(words))
        inner = [with_holes(w, "{}") for w in words[:end]]
        words = words[end + 1 :]
        if inner:
            steps.append(Runs(tuple(inner)))
    return steps


def _xargs(command: Command) -> list[Step]:
    parsed = parse(command.args, _XARGS)
    steps: list[Step] = [Unclear(f"xargs: {parsed.unclear}")] if parsed.unclear else []
    replaced = parsed.value("-I", "-J")
    if replaced is None and parsed.has("-i", "--replace"):
        given = parsed.value("-i", "--replace")
        replaced = given if given is not None else Word("{}", "{}", "{}")
    if not parsed.rest:
        return steps
    if replaced is None:
        return [*steps, Runs((*parsed.rest, hole("input of xargs")))]
    if not replaced.text:
        return [*steps, Unclear("what xargs replaces is not known")]
    mark = replaced.text
    return [*steps, Runs(tuple(with_holes(w, mark) for w in parsed.rest))]


# ---------------------------------------------------------------- containers

_FLAGS = re.compile(
    r"--?(?:d|i|t|it|ti|dit|itd|tid|P|q|T|rm|init|privileged|read-only|detach|interactive|tty|no-healthcheck|"
    r"publish-all|oom-kill-disable|quiet|no-TTY|no-deps|use-aliases|service-ports|build|remove-orphans|"
    r"sig-proxy=\w+|disable-content-trust|replace|help)"
)
_CONTAINER_VERBS = frozenset({"exec", "run", "create"})


def _container(command: Command) -> list[Step]:
    """docker exec NAME CMD, docker run IMAGE CMD, docker compose exec SERVICE CMD."""
    words = list(command.args)
    while words and words.pop(0).text not in _CONTAINER_VERBS:
        continue
    entry: list[Word] = []
    while words and words[0].shape.startswith("-"):
        option = words.pop(0)
        name, equals, value = option.shape.partition("=")
        if not equals and not _FLAGS.fullmatch(option.shape) and words:
            given = words.pop(0)
            entry += [given] if name == "--entrypoint" else []
        elif name == "--entrypoint":
            entry.append(Word(value if option.text else None, value, value))
    rest = (*entry, *words[1:])
    return [Runs(rest, remote=True)] if rest else []


def _kubectl(command: Command) -> list[Step]:
    texts = [w.text for w in command.args]
    if "exec" not in texts and "run" not in texts and "debug" not in texts:
        return []
    if "--" in texts:
        rest = command.args[texts.index("--") + 1 :]
        return [Runs(rest, remote=True)] if rest else []
    return [Unclear(f"what {command.name} runs is not known")]


# ---------------------------------------------------------------- runners of a project's programs

_RUNNERS = {
    "uv": (
        "run",
        "-q -n -v --quiet --no-sync --frozen --locked --isolated --no-project --active --offline --all-extras",
    ),
    "poetry": ("run", "-q --quiet"),
    "pipenv": ("run", ""),
    "pdm": ("run", "-s"),
    "hatch": ("run", ""),
    "rye": ("run", ""),
    "pixi": ("run", ""),
    "bundle": ("exec", ""),
    "npm": ("exec", "--yes -y"),
    "pnpm": ("exec", ""),
    "mise": ("exec", ""),
    "asdf": ("exec", ""),
    "conda": ("run", "--no-capture-output --live-stream"),
    "dotenv": ("run", ""),
    "doppler": ("run", ""),
    "op": ("run", ""),
    "direnv": ("exec", ""),
    "devbox": ("run", ""),
}


def _runner(command: Command) -> list[Step]:
    """`uv run pytest`, `bundle exec rake`: what follows is a command, after options of the runner."""
    verb, flags = _RUNNERS[command.name or ""]
    words = list(command.args)
    if any(w.shape.startswith(("--script-shell", "--node-options")) for w in words):
        return [Unclear(f"{command.name} is told to run another program")]
    if not words or words[0].text != verb:
        return []
    texts = [w.text for w in words]
    words = words[texts.index("--") + 1 if "--" in texts else 2 if command.name == "direnv" else 1 :]
    while words and words[0].shape.startswith("-"):
        option = words.pop(0)
        if "=" not in option.shape and option.shape not in flags.split() and words:
            words.pop(0)
    if words and (words[0].text or "").endswith(".py"):
        return []
    return [Runs(tuple(words))] if words else []


TOOLS: dict[str, Callable[[Command], Sequence[Step]]] = {
    **RUNNING,
    **dict.fromkeys(_RUNNERS, _runner),
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose", "podman-compose", "lxc"), _container),
    **dict.fromkeys(("kubectl", "oc", "k3s"), _kubectl),
    "find": _find,
    "xargs": _xargs,
    "git": git,
}
