"""Looks into commands that run other commands: what they run, as words or as code, and what cannot be told."""

import re
from collections.abc import Callable, Sequence

from quillback.inspectors.shell_interpreters import interpreter
from quillback.inspectors.shell_options import Spec, parse
from quillback.inspectors.shell_script import Assignment, Command, Word, joined, literal
from quillback.inspectors.shell_unwrap_code import CODE
from quillback.inspectors.shell_unwrap_steps import Code, Runs, Step, Unclear
from quillback.inspectors.shell_unwrap_tools import TOOLS

__all__ = ["TRANSPARENT", "Code", "Runs", "Unclear", "unwrap"]

# fmt: off
PREFIXES: dict[str, Spec] = {
    "nohup": Spec(),
    "timeout": Spec("k:s:fpv", "kill-after= signal= foreground preserve-status verbose", operands=1),
    "nice": Spec("n:#", "adjustment="),
    "ionice": Spec("c:n:t", "class= classdata= ignore"),
    "stdbuf": Spec("i:o:e:", "input= output= error="),
    "setsid": Spec("cfw", "ctty fork wait"),
    "builtin": Spec(),
    "exec": Spec("a:cl"),
    "command": Spec("p"),
    "time": Spec("pvaf:", "portability verbose append format="),
    "busybox": Spec(),
    "toybox": Spec(),
    "chrt": Spec("abdfiormRT:P:D:", operands=1),
    "taskset": Spec("ac", "all-tasks cpu-list", operands=1),
    "unbuffer": Spec("p"),
    "fakeroot": Spec("hvul:i:s:b:"),
    "catchsegv": Spec(),
    "eatmydata": Spec(),
    "dbus-run-session": Spec(),
    "winpty": Spec(),
    "rlwrap": Spec(),
    "softlimit": Spec("a:c:d:f:l:m:o:p:r:s:t:"),
    "caffeinate": Spec("dimsut:w:"),
    "xvfb-run": Spec("ae:f:hln:p:s:", "auto-servernum error-file= server-num= server-args= auth-file="),
    "strace": Spec("cCdfFhiknqrtTvVxyYzZa:b:e:E:I:o:O:p:P:s:S:u:U:X:", "follow-forks output= trace= quiet"),
    "ltrace": Spec("bcCfhirStTVa:A:D:e:F:l:n:o:p:s:u:w:x:"),
    "torsocks": Spec("i"), "torify": Spec(), "proxychains": Spec("qf:"), "proxychains4": Spec("qf:"),
    "sudo": Spec(
        "ABbEeHKkNnPSsilvVC:D:g:h:p:R:r:T:t:U:u:",
        "askpass background bell close-from= chdir= preserve-env edit group= set-home host= login remove-timestamp "
        "reset-timestamp no-update non-interactive preserve-groups prompt= chroot= role= type= stdin shell "
        "command-timeout= other-user= user= validate list",
    ),
    "doas": Spec("nsLu:C:"),
    "pkexec": Spec("", "disable-internal-agent keep-cwd user="),
    "gosu": Spec(operands=1), "su-exec": Spec(operands=1),
    "setpriv": Spec("d", "nnp no-new-privs ruid= euid= rgid= egid= reuid= regid= clear-groups keep-groups init-groups "
                    "groups= inh-caps= ambient-caps= bounding-set= securebits= pdeathsig= reset-env"),
    "chroot": Spec("", "userspec= groups= skip-chdir", operands=1),
    "unshare": Spec("mUuinpCTrcfS:G:R:w:", "mount uts ipc net pid user cgroup time map-root-user map-current-user "
                    "fork mount-proc kill-child setgroups= root= wd="),
    "nsenter": Spec("amuinpUCTrFwt:S:G:", "all mount uts ipc net pid user cgroup target= setuid= setgid= root wd"),
    "systemd-run": Spec("GPqtdrSM:H:p:u:E:", "user system scope pty pipe quiet wait collect unit= property= uid= gid= "
                        "slice= setenv= same-dir shell description="),
}
PRIVILEGED = frozenset({
    "sudo", "doas", "pkexec", "gosu", "su-exec", "chroot", "nsenter", "setpriv", "su", "runuser", "systemd-run",
})
TRANSPARENT = frozenset({
    "nohup", "timeout", "nice", "ionice", "stdbuf", "setsid", "builtin", "exec", "command", "time", "coproc",
    "env", "sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "eval", "xargs", "busybox", "toybox",
})
# fmt: on
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")
_ALIASES = {"gtimeout": "timeout", "gnice": "nice", "gxargs": "xargs", "gfind": "find", "gtime": "time", "genv": "env"}


def unwrap(command: Command) -> tuple[Step, ...]:
    """What `command` runs besides itself; nothing for an ordinary one."""
    name = _ALIASES.get(command.name or "", command.name or "")
    handler: Callable[[Command], Sequence[Step]] | None = CODE.get(name) or TOOLS.get(name)
    if name == "env":
        handler = _env
    elif name == "coproc":
        return _keyword(command.args)
    elif name in PREFIXES:
        handler = _prefixed
    elif handler is None:
        handler = interpreter(name)
    return tuple(handler(command)) if handler and name else ()


def _prefixed(command: Command) -> list[Step]:
    name = _ALIASES.get(command.name or "", command.name or "")
    parsed = parse(command.args, PREFIXES[name])
    steps: list[Step] = []
    if name == "time" and parsed.given and not all(option == "-p" for option, _ in parsed.given):
        steps.append(Unclear("time has options that the shell's own time does not know"))
    if parsed.unclear:
        if name == "command" and parsed.has("-v", "-V"):
            return []
        steps.append(Unclear(f"{name}: {parsed.unclear}"))
    if name == "sudo" and parsed.has("-e", "--edit"):
        return steps
    rest, assignments = _leading_assignments(parsed.rest) if name in ("sudo", "doas") else (parsed.rest, ())
    while assignments and rest and rest[0].shape.startswith("-"):  # sudo takes options between them too
        parsed = parse(rest, PREFIXES[name])
        steps += [Unclear(f"{name}: {parsed.unclear}")] if parsed.unclear else []
        rest, more = _leading_assignments(parsed.rest)
        assignments = (*assignments, *more)
    privileged = name in PRIVILEGED
    if name in ("sudo", "doas") and parsed.has("-s", "-i", "--shell", "--login"):
        return [*steps, Code(joined(rest), privileged=True)] if rest else [*steps, Unclear(f"{name} starts a shell")]
    if command.words[0].source == "time":
        return [*steps, *_keyword(rest)]
    return [*steps, Runs(rest, assignments, privileged=privileged)] if rest else steps


def _keyword(words: Sequence[Word]) -> tuple[Step, ...]:
    """What follows `time` or `coproc`, keywords of the shell: a command that may begin with ! or assignments."""
    while words and words[0].source == "!":
        words = words[1:]
    rest, assignments = _leading_assignments(words)
    return (Runs(rest, assignments),) if rest else ()


def _env(command: Command) -> list[Step]:
    spec = Spec("iv0u:C:S:", "ignore-environment null unset= chdir= split-string= debug block-signal default-signal")
    parsed = parse(command.args, spec)
    steps: list[Step] = [Unclear(f"env: {parsed.unclear}")] if parsed.unclear else []
    rest, assignments = _leading_assignments(parsed.rest)
    split = parsed.value("-S", "--split-string")
    if parsed.has("-C", "--chdir"):
        steps.append(Unclear("env changes the directory"))
    if split is not None:
        steps.append(Code(joined([split, *parsed.rest])))
    elif rest:
        steps.append(Runs(rest, assignments))
    return steps


def _leading_assignments(words: Sequence[Word]) -> tuple[tuple[Word, ...], tuple[Assignment, ...]]:
    assignments: list[Assignment] = []
    for index, word in enumerate(words):
        found = _ASSIGNMENT.match(word.shape)
        if found is None:
            return tuple(words[index:]), tuple(assignments)
        value = literal(word.text[found.end() :]) if word.text is not None else None
        assignments.append(Assignment(found[1], value))
    return (), tuple(assignments)
