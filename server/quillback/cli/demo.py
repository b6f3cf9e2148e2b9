"""`quillback run --demo`: a whole turn on a workspace of its own, without a key or a network."""

import asyncio
import subprocess
import sys
import tempfile
from argparse import Namespace
from pathlib import Path

from attrs import evolve

from quillback.app import demo_files
from quillback.cli.clean import clean, one_line
from quillback.cli.exits import DONE, FAILED, USAGE, CliError, complain
from quillback.cli.run_command import one_turn
from quillback.cli.surroundings import load, refuse_wrong
from quillback.cli.terminal_editor import Fixed
from quillback.cli.turn import Start
from quillback.config import Settings
from quillback.core.model import Thinking
from quillback.core.ports import Choice, Mode
from quillback.credentials import configured
from quillback.models import DEFAULT_MODEL, Models

SCRIPT = "scripted:demo"
PROMPT = "The test in test_greeting.py fails. Find out why, fix it, and show that the test passes."
TEST = ("-m", "unittest", "test_greeting")
TEST_SECONDS = 60
ANSWER = Fixed(Choice.ALLOW_ONCE, "answered by the demo")


def demo(options: Namespace) -> int:
    """The exit code of the turn; 1 too when the script's change does not make the workspace's test pass."""
    _check(options)
    settings = load()
    refuse_wrong(settings)
    model, prompt = options.model or _model(settings), " ".join(options.prompt) or PROMPT
    place = Path(tempfile.mkdtemp(prefix="quillback-demo-"))
    workspace = _workspace(place)
    if not options.json:
        print(f"A demo with the model {one_line(model)}, in {workspace}\n\n> {clean(prompt)}\n", flush=True)
    start = Start(
        cwd=str(workspace),
        model=model,
        mode=Mode(options.mode) if options.mode else Mode.APPROVE,
        thinking=Thinking(options.thinking) if options.thinking else None,
    )
    code = asyncio.run(
        one_turn(evolve(settings, home=place / "home", model=model), start, prompt, ANSWER, as_json=options.json)
    )
    if code == DONE and model == SCRIPT and not _test_passes(workspace):
        complain(f"the test still fails in {workspace}")
        code = FAILED
    if not options.json:
        print(f"The workspace is still there: {workspace}")
    return code


def _workspace(place: Path) -> Path:
    workspace = place / "workspace"
    workspace.mkdir()
    for name, text in demo_files().items():
        (workspace / name).write_text(text, encoding="utf-8")
    return workspace


def _check(options: Namespace) -> None:
    if options.resume or options.session or options.cwd:
        raise CliError(
            "--demo makes a session and a directory of its own; leave --continue, --session and --cwd", USAGE
        )


def _model(settings: Settings) -> str:
    """The configured model where there is a key for it."""
    model = Models(settings).get(settings.model or DEFAULT_MODEL)
    return model.id if configured(settings, model.provider) else SCRIPT


def _test_passes(workspace: Path) -> bool:
    try:
        done = subprocess.run(
            [sys.executable, *TEST], cwd=workspace, capture_output=True, timeout=TEST_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
