"""Commands that hand text to a shell, or run the little programs they are given."""

import re
from collections.abc import Callable, Sequence

from quillback.inspectors.shell_code_texts import awk_runs_or_writes, sed_runs_or_writes
from quillback.inspectors.shell_interpreters import SHELLS, STDIN, from_stdin, script_file, shell, unclear
from quillback.inspectors.shell_operands import SED
from quillback.inspectors.shell_options import Parsed, Spec, parse
from quillback.inspectors.shell_script import Command, Word, joined
from quillback.inspectors.shell_unwrap_steps import Code, Runs, Step, Unclear

_SSH = Spec("1246AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:p:Q:R:S:W:w:")
_PARALLEL_LINES = 8


def _eval(command: Command) -> list[Step]:
    words = command.args[1:] if command.args and command.args[0].text == "--" else command.args
    return [Code(joined(words))] if words else []


def _trap(command: Command) -> list[Step]:
    words = command.args[1:] if command.args and command.args[0].text == "--" else command.args
    if len(words) < 2 or words[0].text in ("-", "", "-l", "-p"):
        return []
    return [Code(words[0])]


def _alias(command: Command) -> list[Step]:
    steps: list[Step] = []
    for word in command.args:
        if word.text is None:
            steps.append(Unclear(f"an alias is not known: {word.source[:60]}"))
        elif "=" in word.text:
            value = word.text.partition("=")[2]
            steps.append(Code(Word(value, value, word.source)))
    return steps


def _source(command: Command) -> list[Step]:
    if not command.args:
        return []
    script = command.args[0]
    return from_stdin(command) if script.text in STDIN else script_file(command, script)


def _su(command: Command) -> list[Step]:
    long = (
        "command= session-command= fast login preserve-environment pty shell= group= supp-group= whitelist-environment="
    )
    parsed = parse(command.args, Spec("c:flmpPs:g:G:u:w:", f"{long} user="))
    code = parsed.value("-c", "--command", "--session-command")
    later = next((i for i, w in enumerate(parsed.rest[:3]) if len(w.shape) > 1 and w.shape.startswith("-")), 3)
    after = parse(parsed.rest[later:], Spec("c:", "command=")).value("-c", "--command")
    steps = unclear(command, parsed)
    if code is not None or after is not None:
        return [*steps, *[Code(c, privileged=True) for c in (code, after) if c is not None]]
    if parsed.has("-u", "--user") and parsed.rest:
        return [*steps, Runs(parsed.rest, privileged=True)]
    return [*steps, Unclear(f"{command.name} starts a shell")]


def _ssh(command: Command) -> list[Step]:
    parsed = parse(command.args, _SSH)
    steps = unclear(command, parsed)
    for option in parsed.values("-o"):
        name, _, value = re.sub(r"[\s=]+", "=", option.shape, count=1).partition("=")
        if name.lower() in ("proxycommand", "localcommand", "knownhostscommand", "match", "include", "proxyusefdpass"):
            steps.append(Unclear(f"ssh runs a command for {name}"))
            steps.append(Code(Word(value if option.text else None, value, option.source)))
    if parsed.has("-F", "-I"):
        steps.append(Unclear("ssh is told to use other settings or a library"))
    rest = [w for w in parsed.rest[1:]]
    if rest and rest[0].text is not None and rest[0].text.startswith("-"):
        later = parse(parsed.rest[1:], _SSH)
        steps += _ssh_options(later)
        rest = list(later.rest)
    return [*steps, Code(joined(rest), remote=True)] if rest else steps


def _ssh_options(parsed: Parsed) -> list[Step]:
    return [Unclear("ssh has options after the host")] if parsed.unclear or parsed.has("-o", "-F") else []


def _watch(command: Command) -> list[Step]:
    long = "beep color differences errexit chgexit interval= precise no-title exec no-wrap equexit= no-rerun"
    parsed = parse(command.args, Spec("bcdegn:ptxwq:r", long))
    return [*unclear(command, parsed), *([Code(joined(parsed.rest))] if parsed.rest else [])]


def _parallel(command: Command) -> list[Step]:
    texts = [w.text for w in command.args]
    first = next((i for i, t in enumerate(texts) if t is None or not t.startswith("-")), len(texts))
    last = next((i for i, t in enumerate(texts) if t is not None and re.fullmatch(r"::::?\+?", t)), len(texts))
    words = command.args[first:last]
    unclear = Unclear(f"which commands {command.name} makes of its input is not known")
    given = command.args[last + 1 : last + 1 + _PARALLEL_LINES]
    return [unclear, *[Code(joined(w)) for w in (words, *((*words, value) for value in given)) if w]]


def _script(command: Command) -> list[Step]:
    long = "append command= return flush force quiet timing log-in= log-out= log-io= log-timing= logging-format= echo="
    parsed = parse(command.args, Spec("ac:efqt::I:O:B:T:m:E:o:", long, permutes=True))
    return [*unclear(command, parsed), *[Code(c) for c in parsed.values("-c", "--command")]]


def _flock(command: Command) -> list[Step]:
    parsed = parse(
        command.args, Spec("sxeonuFvw:E:c:", "shared exclusive nonblock wait= timeout= command=", operands=1)
    )
    code = parsed.values("-c", "--command")
    words = parsed.rest
    if words and words[0].text in ("-c", "--command"):
        return [*unclear(command, parsed), *[Code(w) for w in words[1:2]]]
    return [*unclear(command, parsed), *[Code(c) for c in code], *([Runs(words)] if words else [])]


def _awk(command: Command) -> list[Step]:
    long = (
        "assign= field-separator= file= include= load= source= exec= lint posix traditional sandbox characters-as-bytes"
    )
    parsed = parse(command.args, Spec("v:F:f:i:l:e:E:bcCghLMnNOPrsStV", long))
    steps = unclear(command, parsed)
    programs = parsed.values("-e", "--source")
    if not programs and not parsed.has("-f", "-E", "--file", "--exec"):
        programs = list(parsed.rest[:1])
    if parsed.has("-l", "--load"):
        steps.append(Unclear("awk loads a library"))
    for program in programs:
        if program.text is None or awk_runs_or_writes(program.text):
            steps.append(Unclear("the awk program may run commands or write files"))
    return steps


def _sed(command: Command) -> list[Step]:
    parsed = parse(command.args, SED)
    steps = unclear(command, parsed)
    scripts = parsed.values("-e", "--expression")
    if not scripts and not parsed.has("-f", "--file"):
        scripts = list(parsed.rest[: 2 if parsed.rest and parsed.rest[0].text == "" else 1])  # -i "" of BSD
    if any(w.inner for w in parsed.values("-f", "--file")):
        steps.append(Unclear("the sed script is not known"))
    for script in scripts:
        if script.text is None or sed_runs_or_writes(script.text):
            steps.append(Unclear("the sed script may run commands or write files"))
    return steps


CODE: dict[str, Callable[[Command], Sequence[Step]]] = {
    **dict.fromkeys(SHELLS, shell),
    **dict.fromkeys((".", "source"), _source),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk", "original-awk"), _awk),
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("ssh", "autossh"), _ssh),
    **dict.fromkeys(("su", "runuser"), _su),
    **dict.fromkeys(("parallel", "sem"), _parallel),
    "eval": _eval,
    "trap": _trap,
    "alias": _alias,
    "watch": _watch,
    "script": _script,
    "flock": _flock,
}
