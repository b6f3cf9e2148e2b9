"""The built-in scenarios: the scripts of this package, a file for each subject."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from quillback.mock.parse import ScriptError, parse
from quillback.mock.script import Scenario

SUBJECTS = ("updates", "turns", "permissions", "requests", "errors", "wrong-updates", "wrong-answers", "wrong-wire")


@cache
def built_in() -> dict[str, list[Scenario]]:
    """By subject, as `mock-agent --list` shows them."""
    place = files("quillback.mock") / "scripts"
    texts = {subject: (place / f"{subject}.mock").read_text(encoding="utf-8") for subject in SUBJECTS}
    return {subject: parse(text, subject) for subject, text in texts.items()}


def by_name(own: Sequence[Scenario] = ()) -> dict[str, Scenario]:
    """Every scenario that a prompt can name; those of the user's script go before built-in ones of the same name."""
    every = [scenario for scenarios in built_in().values() for scenario in scenarios]
    return {scenario.name: scenario for scenario in [*every, *own]}


def read(spec: str) -> list[Scenario]:
    """The scenarios of a file, or the built-in one of that name. The first is the one the mock is started with.

    Raises ScriptError.
    """
    if not spec:
        return []
    if spec in by_name():
        return [by_name()[spec]]
    path = Path(spec)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ScriptError(f"{spec} is no file and no built-in scenario; see `quillback mock-agent --list`") from None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise ScriptError(f"{spec} cannot be read: {why}") from None
    return parse(text, path.stem or "script", spec)


def command_list() -> list[dict[str, str]]:
    """The scenarios as slash commands, so that a client shows them."""
    return [
        {"name": name, "description": scenario.title or "a scenario of the script"}
        for name, scenario in by_name().items()
        if not scenario.must_be_started
    ]
