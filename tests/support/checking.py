"""Runs rules of `quillback check` in this process against a real agent process."""

import sys
from collections.abc import Sequence
from pathlib import Path

from quillback.conformance.lab import Lab, Options
from quillback.conformance.rule import Verdict
from quillback.conformance.runner import chosen, run

MOCK = (sys.executable, "-m", "quillback", "mock-agent")
QUIET = 0.05


def mock(place: Path, script: str) -> list[str]:
    """The command of a mock agent that plays a script."""
    file = place / "agent.mock"
    file.write_text("\n".join(line.strip() for line in script.splitlines()), encoding="utf-8")
    return [*MOCK, str(file)]


async def verdicts(
    command: Sequence[str],
    place: Path,
    only: Sequence[str] = (),
    *,
    prompts: Sequence[str] = ("hello",),
    long_prompt: str = "go on",
    timeout: float = 20.0,
) -> dict[str, Verdict]:
    """What came of each rule, by its id."""
    (place / "notes.txt").write_text("hello\n")
    lab = Lab(Options(command, place, prompts, long_prompt, "allow", timeout, QUIET))
    try:
        return {outcome.rule.id: outcome.verdict async for outcome in run(lab, chosen(only))}
    finally:
        await lab.close()
