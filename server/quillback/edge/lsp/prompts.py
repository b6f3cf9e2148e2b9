"""What the user can pick on a piece of code, a line each, and the prompt that it becomes."""

import re
from collections.abc import Sequence

from attrs import frozen

from quillback.core.text import one_line

PREFIX = "quillback."
LONGEST = 20_000
"""Characters of a selection that go into a prompt; the model reads a longer one itself."""
_TICKS = re.compile(r"`+")
SEVERITIES = {1: "error", 2: "warning", 3: "information", 4: "hint"}


@frozen
class Action:
    """`kind` is the code action's. `reads` says that the answer is what the user wants, and not a change.

    `on_problem` is the title where it is offered for a diagnostic; `on_code` where it is for a selection.
    """

    name: str
    kind: str
    instruction: str
    on_code: str = ""
    on_problem: str = ""
    reads: bool = False

    @property
    def command(self) -> str:
        return PREFIX + self.name


# fmt: off
ACTIONS = {action.name: action for action in (
    Action("fix", "quickfix", "Fix the problem. Change the code, not the check that reports it.",
           "Fix what is wrong", "Fix"),
    Action("explain", "quillback.explain",
           "Explain this: what it does, how, and what it is for in this project. Change nothing.",
           "Explain", "Explain", reads=True),
    Action("tests", "quillback.tests", "Write tests for this code, where and how this project has its tests.",
           "Write tests"),
    Action("refactor", "refactor.rewrite",
           "Refactor this code: make it simpler and clearer. What it does must stay the same.", "Refactor"),
    Action("document", "refactor.rewrite", "Document this code in the style that this project documents code in.",
           "Document"),
    Action("do", "quillback.do", "Do what this text of mine says.", "Do what the selected text says"),
    Action("ask", "quillback.ask", "", "Ask …", reads=True),
)}
# fmt: on

READY = (
    "What could go wrong in this code?",
    "How is this code used in this project?",
    "Review this code. What would you change, and why?",
    "Are there simpler ways to do this?",
)
"""The questions to choose from where the user has no way to type one."""


@frozen
class Problem:
    """A diagnostic; `line` counts from 1."""

    line: int
    severity: str
    message: str
    source: str = ""

    def __str__(self) -> str:
        source = f" ({self.source})" if self.source else ""
        return f"line {self.line}: {self.severity}: {self.message}{source}"


@frozen
class Passage:
    """A piece of a file; lines count from 1. `whole` says that no part of it was selected."""

    path: str
    label: str
    language: str
    first: int
    last: int
    text: str
    whole: bool = False

    @property
    def place(self) -> str:
        if self.whole:
            return self.label
        return f"{self.label}:{self.first}" + (f"-{self.last}" if self.last > self.first else "")


def title_of(action: Action, passage: Passage | None, problems: Sequence[Problem], words: str) -> str:
    """The turn in one line."""
    what = (
        one_line(words, 60) if words and action.name == "ask" else (action.on_problem if problems else action.on_code)
    )
    return f"{what or action.name} {passage.place if passage else ''}".strip()


def prompt_text(action: Action, passage: Passage | None, problems: Sequence[Problem], words: str) -> str:
    """`words` are the user's own."""
    parts = [part for part in (words if action.name == "ask" else action.instruction,) if part]
    if words and action.name != "ask":
        parts.append(words)
    if passage is not None:
        parts.append(_passage(passage))
    if problems:
        parts.append("\n".join(["The editor reports:", *(f"- {problem}" for problem in problems)]))
    return "\n\n".join(parts)


def _passage(passage: Passage) -> str:
    lines = f"line {passage.first}" if passage.last <= passage.first else f"lines {passage.first}-{passage.last}"
    where = f"The file is {passage.path}" if passage.whole else f"The code is {lines} of {passage.path}"
    if passage.whole or len(passage.text) > LONGEST or not passage.text.strip():
        return f"{where}."
    fence = "`" * max(3, *(len(run) + 1 for run in _TICKS.findall(passage.text)), 3)
    text = passage.text if passage.text.endswith("\n") else passage.text + "\n"
    return f"{where}:\n{fence}{passage.language}\n{text}{fence}"
