"""Runs one prompt in a new or a stored session and shows what happens."""

from collections.abc import Iterable
from pathlib import Path

from attrs import frozen

from quillback.app import App
from quillback.cli.exits import CANCELLED, DONE, FAILED, NO_CREDENTIALS, USAGE, CliError, UnwritableError
from quillback.cli.find_session import find, newest_of
from quillback.cli.interrupts import Interrupts
from quillback.cli.surroundings import directory
from quillback.cli.terminal_editor import Fixed, Person, TerminalEditor
from quillback.cli.view import View
from quillback.core.commands import Expand
from quillback.core.event import MessageStarted, PartClosed, StopReason, TurnCompleted
from quillback.core.message import Text, ToolUse
from quillback.core.model import Failure, ProviderError, Thinking
from quillback.core.ports import Mode
from quillback.core.turn_types import Aim
from quillback.models import SCRIPTED
from quillback.session.registry import BadDirectoryError, Sessions
from quillback.session.session import Session

END_HOOK_SECONDS = 30.0
"""How long the hooks of the end may take: nobody is about to end the process."""
ASKING = "ask_user"


@frozen(kw_only=True)
class Start:
    """Which session a prompt goes to: a new one of `cwd`, its newest one, or the one named; and what is changed in it.

    What is None or empty stays as it is configured or stored. `recipe` is what the model gets in place of the prompt,
    and what the turn must bring.
    """

    cwd: str | None = None
    session: str = ""
    resume: bool = False
    mode: Mode | None = None
    model: str = ""
    thinking: Thinking | None = None
    recipe: Expand | None = None

    @property
    def is_new(self) -> bool:
        return not self.session and not self.resume


@frozen
class Outcome:
    """`unasked` is how many calls did not run since nobody was there to ask; `question` says that it ended with one."""

    completed: TurnCompleted
    unasked: int = 0
    question: bool = False

    @property
    def exit_code(self) -> int:
        if self.completed.error:
            return NO_CREDENTIALS if self.completed.error_kind == Failure.NO_CREDENTIALS.value else FAILED
        match self.completed.stop_reason:
            case StopReason.END_TURN if self.completed.refused:
                return FAILED
            case StopReason.END_TURN if self.completed.checks_passed is not None:
                return DONE if self.completed.checks_passed else FAILED
            case StopReason.END_TURN:
                return FAILED if self.unasked else DONE
            case StopReason.CANCELLED:
                return CANCELLED
            case StopReason.MAX_TOKENS | StopReason.MAX_TURN_REQUESTS | StopReason.REFUSAL:
                return FAILED


async def run_turn(
    app: App, start: Start, prompt: str, view: View, answers: Fixed | Person, interrupts: Interrupts
) -> Outcome:
    """Returns when the turn is over and saved, and the session closed; what the hooks of the end had to say is shown.
    Raises CliError, StoreError.

    A new session whose first prompt found no key is not kept: there is nothing in it to go on from.
    """
    editor = TerminalEditor(view, answers)
    sessions = Sessions(app.services, app.defaults, editor)
    try:
        try:
            session = await _session(app, start, sessions)
        except BadDirectoryError as error:
            raise CliError(str(error), USAGE) from None
        view.opened(session.record)
        completed, question = await _follow(session, prompt, start.recipe, view, editor, interrupts)
        if start.is_new and completed.error_kind == Failure.NO_CREDENTIALS.value:
            await sessions.delete(session.record.id)
    finally:
        await sessions.close_all(END_HOOK_SECONDS)
    for noticed in session.take_notes():
        view.show(noticed)
    return Outcome(completed, editor.unasked, question)


async def _session(app: App, start: Start, sessions: Sessions) -> Session:
    if start.session:
        record = await find(app.store, start.session)
        cwd = record.cwd
        _check_same(start.cwd, cwd)
    elif start.resume:
        record = await newest_of(app.store, directory(start.cwd))
        cwd = record.cwd
    else:
        cwd = directory(start.cwd)
        _check_script(app, start.model or app.defaults.model)
        return _changed(await sessions.new(cwd), start)
    _check_script(app, start.model or record.model)
    return _changed(await sessions.open(record.id, cwd, _existing(record.roots[1:])), start)


def _check_same(named: str | None, cwd: str) -> None:
    """Raises CliError for a directory that is not the session's."""
    if named and directory(named) != str(Path(cwd).resolve()):
        raise CliError(f"the session belongs to {cwd}; leave --cwd out", USAGE)


def _check_script(app: App, model: str) -> None:
    """Before anything is stored. Raises CliError for a script that cannot be played."""
    try:
        if model.startswith(SCRIPTED):
            app.models.provider(app.models.get(model))
    except ProviderError as error:
        raise CliError(error.message, USAGE) from None


def _existing(roots: Iterable[str]) -> list[str]:
    """A further root that is gone must not keep the session closed."""
    return [root for root in roots if Path(root).is_dir()]


def _changed(session: Session, start: Start) -> Session:
    if start.mode is not None:
        session.set_mode(start.mode)
    if start.model:
        session.set_model(start.model)
    if start.thinking is not None:
        session.set_thinking(start.thinking)
    return session


async def _follow(
    session: Session,
    prompt: str,
    recipe: Expand | None,
    view: View,
    editor: TerminalEditor,
    interrupts: Interrupts,
) -> tuple[TurnCompleted, bool]:
    """How the turn ended, and whether with a question to the user. Raises UnwritableError then, too."""

    def stop() -> None:
        session.cancel()
        view.hurry()

    words = (Text(prompt),)
    if recipe is None:
        pipe = session.submit(words)
    else:
        instructed = recipe.parts if recipe.parts != words else ()
        pipe = session.submit(words, aim=Aim(recipe=recipe.recipe), for_model=instructed)
    editor.pipe = pipe
    interrupts.first = stop
    lost: BrokenPipeError | None = None
    question = False
    completed = TurnCompleted(StopReason.CANCELLED)
    async for event in pipe:
        match event:
            case TurnCompleted():
                completed = event
            case MessageStarted():
                question = False
            case PartClosed(part=ToolUse(name=name)):
                question = question or name == ASKING
            case _:
                pass
        if lost is not None:
            continue
        try:
            async with editor.floor:
                view.show(event)
                await view.flush()
        except BrokenPipeError as error:
            lost = error
            session.cancel()
    if isinstance(lost, UnwritableError):
        raise lost
    return completed, question and completed.stop_reason is StopReason.END_TURN
