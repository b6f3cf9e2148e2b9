"""The commands that are always there, one function each."""

from collections.abc import Awaitable, Callable, Sequence
from difflib import get_close_matches

from attrs import frozen

from quillback.commands import reports
from quillback.core.commands import (
    Begin,
    Clear,
    CommandInfo,
    CommandResult,
    Compact,
    Desk,
    Say,
    refusal,
)
from quillback.core.rules import Mode
from quillback.core.text import code
from quillback.core.undo import undo_text

ORIGIN = "Commands"
AUDIT_DEFAULT = 10
AUDIT_MOST = 100
GOAL_HELP = (
    "`/goal TEXT` starts to work towards a goal at once. Before the turn ends, the model is told once to check "
    "whether the goal is met, and goes on if it is not.\n\nFor example: `/goal All tests pass and the README says "
    "how to run them.`"
)
GOAL = "Start now to work towards this goal, and do not stop before it is met:\n\n{goal}"
GRIND = "Start now, and keep working without stopping to ask: {task}"
GRIND_ON = "the task of this conversation, and whatever is left to improve about it."

Doctor = Callable[[], Awaitable[str]]
Run = Callable[[str, Desk], Awaitable[CommandResult]]


@frozen
class BuiltIn:
    info: CommandInfo
    run: Run


class BuiltIns:
    """A CommandSource. `overview` is what /help answers, about one command if it is named; `doctor` the text of
    /doctor."""

    def __init__(self, overview: Callable[[str], Awaitable[Say]], doctor: Doctor) -> None:
        async def help_(argument: str, desk: Desk) -> CommandResult:
            return await overview(argument)

        async def examine(argument: str, desk: Desk) -> CommandResult:
            return Say(await doctor()) if not argument else nothing_behind("doctor")

        self._all = {
            name: BuiltIn(CommandInfo(name, description, hint, ORIGIN), run)
            for name, hint, description, run in (
                ("help", "[command]", "List the commands, or tell about one", help_),
                ("compact", "[focus]", "Summarise the conversation to make room; the focus is kept above all", compact),
                ("clear", "", "Start afresh: the model forgets the conversation, you still see it", clear),
                ("goal", "<text>", "Work towards a goal, and check that it is met before the turn ends", goal),
                ("grind", "[task]", "Keep working until it is cancelled or reaches a limit", grind),
                ("mode", "[mode]", "Show or change how much is done without asking", mode),
                ("model", "[model]", "Show or change the model", model),
                ("undo", "", "Undo what the last turn changed in files", undo),
                ("fork", "", "Make a copy of this session that goes on by itself", fork),
                ("cost", "", "Show what the session has cost, and how full the context is", cost),
                ("audit", "[number]", "Show the last decisions about tool calls", audit),
                ("doctor", "", "Show what is configured, what is missing, and what to do", examine),
            )
        }

    def available(self) -> tuple[CommandInfo, ...]:
        return tuple(command.info for command in self._all.values())

    async def run(self, name: str, argument: str, desk: Desk) -> CommandResult | None:
        command = self._all.get(name)
        if command is None:
            return None
        try:
            return await command.run(argument, desk)
        except ValueError as error:
            return refusal(str(error))


def nothing_behind(name: str) -> Say:
    return refusal(f"`/{name}` takes nothing behind it, and was not run.")


# ---------------------------------------------------------------- the conversation


async def compact(argument: str, desk: Desk) -> CommandResult:
    return Compact(argument)


async def clear(argument: str, desk: Desk) -> CommandResult:
    if argument:
        return nothing_behind("clear")
    return Clear("From here on the model sees nothing of what came before. You still do, and files stay as they are.")


async def goal(argument: str, desk: Desk) -> CommandResult:
    if not argument:
        return refusal(GOAL_HELP)
    return Begin(f"Working towards this goal: {argument}", GOAL.format(goal=argument), goal=argument)


async def grind(argument: str, desk: Desk) -> CommandResult:
    what = f": {argument}" if argument else ""
    confirmation = f"Working on until you cancel or a limit is reached{what}"
    return Begin(confirmation, GRIND.format(task=argument or GRIND_ON), grind=True)


async def undo(argument: str, desk: Desk) -> CommandResult:
    """Not carried out where a file was left alone, like `quillback undo`."""
    if argument:
        return nothing_behind("undo")
    report, prompt = await desk.undo()
    return Say(undo_text(report, desk.record.cwd, prompt), refused=bool(report.kept))


async def fork(argument: str, desk: Desk) -> CommandResult:
    if argument:
        return nothing_behind("fork")
    new = await desk.fork()
    terminal = code(f'quillback run --session {new} "YOUR PROMPT"')
    return Say(
        f"The new session {code(new)} goes on from here. Open it from your editor's list of sessions, or go on in a "
        f"terminal, with your own words in place of YOUR PROMPT: {terminal}"
    )


# ---------------------------------------------------------------- settings


async def mode(argument: str, desk: Desk) -> CommandResult:
    if not argument:
        return Say(reports.modes(desk))
    try:
        wanted = Mode(argument.lower())
    except ValueError:
        known = ", ".join(f"`{each.value}`" for each in Mode)
        return refusal(f"There is no mode {code(argument)}. The modes are {known}.")
    desk.set_mode(wanted)
    return Say(f"The mode is `{wanted.value}` now.")


async def model(argument: str, desk: Desk) -> CommandResult:
    """Any name that can be a model's, as with `--model`; but one that is like a listed one is rather a slip."""
    if not argument:
        return Say(reports.models(desk))
    known = list(dict.fromkeys((*desk.models(), desk.record.model)))
    wanted = next((name for name in known if name.lower() == argument.lower()), None)
    if wanted is None and (slip := _meant(argument, known)):
        choices = ", ".join(map(code, known))
        return refusal(f"There is no model {code(argument)}. Did you mean {code(slip)}? The models are {choices}.")
    desk.set_model(wanted or argument)
    unlisted = "" if wanted else ", which is not in the list of `/model`"
    return Say(f"The model is {code(wanted or argument)} now{unlisted}.")


def _meant(name: str, known: Sequence[str]) -> str:
    """The model that is rather meant; empty for none. A provider before the name is no slip."""
    if ":" in name:
        return ""
    part_of = [other for other in known if name.lower() in other.lower()]
    return next(iter([*part_of, *get_close_matches(name, known, 1)]), "")


# ---------------------------------------------------------------- reports


async def cost(argument: str, desk: Desk) -> CommandResult:
    return Say(reports.cost(desk)) if not argument else nothing_behind("cost")


async def audit(argument: str, desk: Desk) -> CommandResult:
    count = AUDIT_DEFAULT
    if argument:
        count = int(argument) if argument.isascii() and argument.isdigit() and len(argument) < 4 else 0
        if not 1 <= count <= AUDIT_MOST:
            return refusal(f"`/audit` takes a number from 1 to {AUDIT_MOST}, not {code(argument)}.")
    return Say(reports.audit(await desk.audits(), count))
