"""The commands as tables for argparse. What a command does is imported when it is called, so that help is quick."""

import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NamedTuple, NoReturn

from quillback import __version__
from quillback.cli.exits import (
    CANCELLED,
    DONE,
    FAILED,
    USAGE,
    CliError,
    UnwritableError,
    complain,
    is_unwritable,
)

MODES = ("approve", "smart", "auto", "chat")
THINKING = ("off", "low", "medium", "high")
FORMATS = ("markdown", "json", "html")
ANSWERS = ("allow", "reject", "cancel")
PROVIDERS = ("anthropic", "openai")


class Option(NamedTuple):
    names: tuple[str, ...]
    settings: Mapping[str, Any]


class Command(NamedTuple):
    """`handler` is `module:function` below this package; a command with `children` has none."""

    help: str
    handler: str = ""
    options: tuple[Option, ...] = ()
    children: Mapping[str, "Command"] = {}


def _option(*names: str, **settings: object) -> Option:
    return Option(names, settings)


_JSON = _option("--json", action="store_true", help="print JSON")
_CWD = _option("--cwd", metavar="DIR", help="the workspace (default: the current directory)")
_ID = _option("id", metavar="ID", help="a session, or the beginning or end of its id")

_RUN = (
    _option("prompt", nargs="*", metavar="PROMPT", help="what to do; what is piped in goes below it"),
    _option("--recipe", metavar="FILE", help="do what a recipe says; PROMPT is key=value for each of its parameters"),
    _option("--mode", choices=MODES, help="what runs without asking"),
    _option("--model", metavar="ID", help="the model, see `quillback models`"),
    _option("--thinking", choices=THINKING, help="how long the model may think"),
    _CWD,
    _option("--continue", dest="resume", action="store_true", help="go on with the newest session of the directory"),
    _option("--session", metavar="ID", help="go on with this session"),
    _option("--json", action="store_true", help="print the events, one JSON object a line"),
    _option("--yes", action="store_true", help="allow once whatever is asked"),
    _option("--demo", action="store_true", help="show a turn on a temporary workspace, without key or network"),
)
_LIST = (
    _CWD,
    _option("--all", action="store_true", help="the sessions of all directories"),
    _option("--subagents", action="store_true", help="those of subagents as well"),
    _option("--limit", type=int, default=20, metavar="N", help="how many at most (default: %(default)s)"),
    _JSON,
)
_EXPORT = (
    _ID,
    _option("--format", choices=FORMATS, default="markdown", help="default: %(default)s"),
    _option("-o", "--output", metavar="FILE", help="where to (default: standard output)"),
)
_SESSIONS = {
    "list": Command("the stored sessions, newest first", "sessions_command:list_sessions", _LIST),
    "show": Command("what was said and done in one", "sessions_command:show", (_ID,)),
    "export": Command("write one to a file", "sessions_command:export", _EXPORT),
    "fork": Command(
        "copy one, to go on from there another way",
        "sessions_command:fork",
        (_ID, _option("--at", metavar="MESSAGE_ID", help="the last message that comes along (default: all of them)")),
    ),
    "replay": Command(
        "see whether the same comes of one when its replies and results are played again",
        "replay_command:replay_session",
        (_ID,),
    ),
    "delete": Command(
        "forget one",
        "sessions_command:delete",
        (_ID, _option("--yes", action="store_true", help="do not ask")),
    ),
}
_RULES = {
    "list": Command(
        "the answers that hold in a directory",
        "rules_command:list_rules",
        (_CWD, _option("--all", action="store_true", help="those of all directories"), _JSON),
    ),
    "delete": Command(
        "take answers back",
        "rules_command:delete",
        (
            _option("number", nargs="?", type=int, metavar="N", help="the number that `list` shows"),
            _option("--all", action="store_true", help="all of them, of all directories unless --cwd is given"),
            _option("--cwd", metavar="DIR", help="with --all: only those of this directory"),
            _option("--yes", action="store_true", help="do not ask"),
        ),
    ),
}
_CHECK = (
    _option("agent", nargs="*", metavar="CMD", help="the command that starts the agent, after --"),
    _option("--cwd", metavar="DIR", help="the workspace of its sessions (default: a temporary directory)"),
    _option("--prompt", action="append", metavar="TEXT", help="a prompt to play; may be given several times"),
    _option("--long-prompt", metavar="TEXT", help="a prompt that takes a while, to be cancelled"),
    _option("--only", action="append", metavar="ID", help="only these rules; ACP-INIT means all that begin like this"),
    _option("--allow", choices=ANSWERS, default="allow", help="the answer to its questions (default: %(default)s)"),
    _option("--timeout", type=float, default=10.0, metavar="SECONDS", help="for each answer (default: %(default)g)"),
    _option("--list", action="store_true", help="the rules"),
    _option("--report", metavar="FILE", help="write the report as JSON"),
    _JSON,
)
_MOCK = (
    _option("script", nargs="?", metavar="SCRIPT", help="a file, or the name of a built-in scenario"),
    _option("--list", action="store_true", help="the built-in scenarios"),
)
_TEST = (
    _option("files", nargs="+", metavar="FILE", help="transcripts, sessions as JSON, or directories"),
    _option("--update", action="store_true", help="rewrite them to what comes"),
    _option("--in-process", action="store_true", help="run Quillback in this process in place of one of its own"),
    _option("--cwd", metavar="DIR", help="the workspace (default: a temporary directory)"),
    _option("--timeout", type=float, default=10.0, metavar="SECONDS", help="for each message (default: %(default)g)"),
)
_RECORD = (_option("file", metavar="FILE", help="the transcript to write; one that is there is kept"),)
_AGENT_BEHIND = ("test", "record")
"""Commands that take `-- AGENT CMD` behind their own arguments."""
COMMANDS = {
    "run": Command("one turn in the terminal", "run_command:run", _RUN),
    "sessions": Command("list, show, export, fork or delete stored sessions", children=_SESSIONS),
    "audit": Command(
        "what was decided about a session's tool calls, by whom and why", "audit_command:audit", (_ID, _JSON)
    ),
    "undo": Command("put the files back that the latest turn of a session changed", "undo_command:undo", (_ID,)),
    "rules": Command("list or take back stored answers to permission questions", children=_RULES),
    "models": Command("the models there are, with window and price", "models_command:models", (_JSON,)),
    "doctor": Command(
        "what is configured, what is missing, what to do",
        "doctor:doctor",
        (_option("--online", action="store_true", help="see whether the model service can be reached"), _JSON),
    ),
    "trust": Command(
        "let a directory's own settings have an effect",
        "trust_command:trust",
        (
            _option("directory", nargs="?", metavar="DIR", help="the project (default: the current directory)"),
            _option("--list", action="store_true", help="the directories that are trusted"),
            _option("--revoke", action="store_true", help="trust it no longer"),
            _option("--yes", action="store_true", help="do not ask"),
        ),
    ),
    "login": Command(
        "keep an API key in the system's keyring",
        "login:login",
        (
            _option("--forget", action="store_true", help="remove the kept key"),
            _option("--provider", choices=PROVIDERS, help="whose key it is (default: that of the configured model)"),
        ),
    ),
    "test": Command("run transcripts, against Quillback or the agent behind --", "test_command:test", _TEST),
    "record": Command(
        "write a transcript of a session between an editor and the agent behind --", "record_command:record", _RECORD
    ),
    "check": Command("see whether an agent speaks ACP as it should", "check_command:check", _CHECK),
    "mock-agent": Command("a scripted ACP agent, for those who write clients", "mock_command:mock_agent", _MOCK),
    "acp": Command("serve an editor over standard input and output", "serve:acp"),
    "lsp": Command("serve an editor as a language server, over standard input and output", "serve:lsp"),
    "help": Command("this text, or that of a command", "main:show_help", (_option("topic", nargs="*"),)),
}

_INTRODUCTION = """\
A coding agent that lives behind your editor. Editors start `quillback acp`;
in a terminal there is `quillback run`."""
_EPILOGUE = """\
exit codes: 0 done, 1 the turn failed, the checks of a recipe failed, or a call
was not run since nobody was there to ask, 2 wrong usage, settings or recipe,
3 cancelled, 4 no credentials

`quillback COMMAND --help` says more of a command. To begin with:
`quillback run --demo`, then `quillback doctor`."""


class _Parser(ArgumentParser):
    """Says in one line what is wrong and where to read on."""

    def error(self, message: str) -> NoReturn:
        complain(f"{message}\nRun `{self.prog} --help` to see what it takes.")
        sys.exit(USAGE)


def run(arguments: list[str]) -> int:
    """The exit code of one command."""
    _fill_standard_streams()
    try:
        code = _code(arguments)
        if sys.stdout:
            sys.stdout.flush()
        return code
    except CliError as error:
        complain(str(error))
        return error.code
    except KeyboardInterrupt:
        return CANCELLED
    except OSError as error:
        if isinstance(error, BrokenPipeError) and not isinstance(error, UnwritableError):
            _silence()  # the reader has seen enough
            return DONE
        if not isinstance(error, UnwritableError) and not is_unwritable(error):
            return _failed_inside(error)
        complain(str(error if isinstance(error, UnwritableError) else UnwritableError(error)))
        _silence()
        return FAILED
    except Exception as error:
        return _failed_inside(error)


def _code(arguments: list[str]) -> int:
    try:
        options = _parsed(arguments)
        return _handler(options.handler)(options)
    except SystemExit as stop:  # argparse has said what there is to say
        return stop.code if isinstance(stop.code, int) else DONE


def _failed_inside(error: Exception) -> int:
    if os.environ.get("QUILLBACK_LOG") == "debug":
        raise error
    complain(f"failed inside ({type(error).__name__}: {error}). QUILLBACK_LOG=debug shows where.")
    return FAILED


def _silence() -> None:
    """What is still to be written to standard output goes nowhere, or Python would complain of it at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def show_help(options: Namespace) -> int:
    """Ends the program, as `--help` does."""
    _parser().parse_args([*options.topic, "--help"])
    return DONE


def _fill_standard_streams() -> None:
    """A stream that the caller closed must not become the number of a file that is opened later."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _parsed(arguments: list[str]) -> Namespace:
    parser = _parser()
    agent: list[str] = []
    if arguments[:1] and arguments[0] in _AGENT_BEHIND and "--" in arguments:
        agent = arguments[arguments.index("--") + 1 :]
        arguments = arguments[: arguments.index("--")]
    options, rest = parser.parse_known_args(arguments or ["help"])
    if options.command in _AGENT_BEHIND:
        options.agent = agent
    # argparse takes the words of a prompt up to the first option only
    if rest and options.command == "run" and not any(word.startswith("-") and word != "-" for word in rest):
        options.prompt += rest
    elif rest:
        options.parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return options


def _handler(name: str) -> Callable[[Namespace], int]:
    module, _, function = name.partition(":")
    handler: Callable[[Namespace], int] = getattr(import_module(f"quillback.cli.{module}"), function)
    return handler


def _parser() -> _Parser:
    parser = _Parser(
        "quillback",
        description=_INTRODUCTION,
        epilog=_EPILOGUE,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"quillback {__version__}")
    _add(parser, "command", COMMANDS)
    return parser


def _add(parser: ArgumentParser, title: str, commands: Mapping[str, Command]) -> None:
    group = parser.add_subparsers(dest=title, metavar="COMMAND", required=True, parser_class=_Parser)
    for name, command in commands.items():
        description = f"{command.help[0].upper()}{command.help[1:]}."
        child = group.add_parser(name, help=command.help, description=description, allow_abbrev=False)
        child.set_defaults(handler=command.handler, parser=child)
        for option in command.options:
            child.add_argument(*option.names, **option.settings)
        if command.children:
            _add(child, "subcommand", command.children)
