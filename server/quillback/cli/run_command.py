"""`quillback run`: one turn in the terminal."""

import asyncio
import os
import select
import stat
import sys
from argparse import Namespace
from contextlib import suppress

from attrs import evolve

from quillback.cli.exits import CANCELLED, USAGE, CliError, complain
from quillback.cli.interrupts import Interrupts
from quillback.cli.json_view import JsonView
from quillback.cli.keyboard import Keyboard
from quillback.cli.recipe import Cooked, cooked
from quillback.cli.render import Renderer
from quillback.cli.screen import open_screen
from quillback.cli.sink import Sink
from quillback.cli.surroundings import WrongSettings, load, opened, refuse_wrong
from quillback.cli.terminal_editor import Fixed, Person
from quillback.cli.turn import Start, run_turn
from quillback.cli.view import View
from quillback.config import Settings
from quillback.core.model import Thinking
from quillback.core.ports import Choice, Mode

STDIN = 0
STDOUT = 1
PROMPT_LIMIT = 10_000_000
ALLOWED = Fixed(Choice.ALLOW_ONCE, "by --yes")
WAYS = "--yes allows what is asked, --mode auto asks less"
SILENT = Fixed(Choice.REJECT_ONCE, f"--json asks nobody; {WAYS}", nobody=True)
NOBODY = Fixed(Choice.REJECT_ONCE, f"there is no terminal to ask; {WAYS}", nobody=True)
PATIENCE_SECONDS = 3.0


def run(options: Namespace) -> int:
    """Raises CliError."""
    if options.resume and options.session:
        raise CliError("--continue and --session exclude each other", USAGE)
    if options.demo and options.recipe is not None:
        raise CliError("--demo and --recipe exclude each other", USAGE)
    if options.demo:
        from quillback.cli.demo import demo

        return demo(options)
    recipe = _recipe(options) if options.recipe is not None else None
    prompt = recipe.prompt if recipe else _prompt(options.prompt)
    start = Start(
        cwd=options.cwd,
        session=options.session or "",
        resume=options.resume,
        mode=Mode(options.mode) if options.mode else recipe.mode if recipe else None,
        model=options.model or (recipe.model if recipe else ""),
        thinking=Thinking(options.thinking) if options.thinking else None,
        recipe=recipe.expand if recipe else None,
    )
    fixed = ALLOWED if options.yes else SILENT if options.json else None
    settings = load()
    if start.model:  # as if it were configured, so that nothing of another model is looked for
        settings = evolve(settings, model=start.model)
    return asyncio.run(one_turn(settings, start, prompt, fixed, as_json=options.json))


async def one_turn(settings: Settings, start: Start, prompt: str, fixed: Fixed | None, *, as_json: bool) -> int:
    """The exit code of a turn that is shown on standard output. Without `fixed` the terminal is asked."""
    keyboard = None if fixed else Keyboard.open()
    task = asyncio.current_task()
    assert task is not None
    interrupts = Interrupts(first=task.cancel, last=keyboard.restore if keyboard else lambda: None)
    view = JsonView(Sink(STDOUT)) if as_json else Renderer(open_screen(STDOUT))
    try:
        refuse_wrong(settings)
        async with opened(settings) as app:
            outcome = await run_turn(app, start, prompt, view, _answers(view, fixed, keyboard), interrupts)
    except WrongSettings as error:
        view.failed("; ".join(error.problems))
        await _last_words(view)
        raise
    except CliError as error:
        view.failed(str(error))
        await _last_words(view)
        raise
    except asyncio.CancelledError:
        interrupts.leave(CANCELLED)
        raise
    finally:
        if keyboard:
            keyboard.close()
    await _last_words(view)
    if outcome.completed.error:
        complain(outcome.completed.error)
    elif outcome.completed.checks_passed is False and outcome.exit_code != CANCELLED:
        complain("the recipe's work is not done: its checks do not pass, or the final output is missing")
    elif outcome.unasked:
        what = "1 call" if outcome.unasked == 1 else f"{outcome.unasked} calls"
        complain(f"{what} did not run, since nobody was there to ask; {WAYS}")
    elif outcome.question and not as_json:
        complain('to answer the question: quillback run --continue "YOUR ANSWER"')
    if outcome.completed.final and not as_json:
        print(outcome.completed.final, flush=True)
    interrupts.leave(outcome.exit_code)
    return outcome.exit_code


def _answers(view: View, fixed: Fixed | None, keyboard: Keyboard | None) -> Fixed | Person:
    if fixed:
        return fixed
    if not keyboard:
        return NOBODY
    if isinstance(view, Renderer) and os.isatty(STDOUT):
        return Person(keyboard, view.screen, elsewhere=False)
    # the other end of a pipe may well show it on the same terminal once more; a file does not
    copied = stat.S_ISREG(os.fstat(STDOUT).st_mode)
    return Person(keyboard, open_screen(keyboard.fd), elsewhere=True, copied=copied)


async def _last_words(view: View) -> None:
    with suppress(BrokenPipeError):
        await view.flush()


def _recipe(options: Namespace) -> Cooked:
    """A recipe needs no input: only with `-` at the end is it read, and goes below the prompt. Raises CliError."""
    words = options.prompt
    if words and words[-1] == "-":
        return cooked(options.recipe, words[:-1], _standard_input())
    return cooked(options.recipe, words)


def _prompt(words: list[str]) -> str:
    """The words, and below them what is piped in or, with `-` at the end, typed. Raises CliError."""
    if words and words[-1] == "-":
        text = _joined(words[:-1], _standard_input())
    elif words:
        text = _joined(words, _piped())
    elif sys.stdin and not sys.stdin.isatty():
        text = _standard_input()
    else:
        text = ""
    if not text.strip():
        raise CliError('what is to be done? Write it behind the command: quillback run "Fix the test"', USAGE)
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _joined(words: list[str], below: str) -> str:
    return "\n\n".join(text for text in (" ".join(words), below) if text.strip())


def _piped() -> str:
    """What comes through a pipe or from a file; other kinds of input are nobody's words."""
    try:
        kind = os.fstat(STDIN).st_mode
    except OSError:
        return ""
    if stat.S_ISFIFO(kind) and not select.select([STDIN], [], [], PATIENCE_SECONDS)[0]:
        complain("waiting for what is piped in, to put it below the prompt; without a pipe: < /dev/null")
    return _standard_input() if stat.S_ISFIFO(kind) or stat.S_ISREG(kind) else ""


def _standard_input() -> str:
    data = sys.stdin.buffer.read(PROMPT_LIMIT + 1) if sys.stdin else b""
    if len(data) > PROMPT_LIMIT:
        raise CliError(f"what is piped in is longer than {PROMPT_LIMIT:,} bytes", USAGE)
    return data.decode("utf-8", "replace")
