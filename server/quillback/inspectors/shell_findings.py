"""What the walk over a shell line has found so far, and what surrounds the place where it is."""

import time
from collections.abc import Callable, Iterable

from attrs import define, field, frozen

from quillback.inspectors.shell_script import Command, Redirect, Word, joined, literal
from quillback.inspectors.shell_text import is_live

SECONDS = 0.2
COMMANDS_LIMIT = 400
WORDS_LIMIT = 2000
_REASONS_LIMIT = 8


@frozen
class Around:
    """What a command stands in; the fields are those of `Command`. `depth` counts how deep it is nested."""

    via: tuple[str, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    upstream: tuple[str, ...] = ()
    piped: Word | None = None
    functions: tuple[str, ...] = ()
    background: bool = False
    privileged: bool = False
    remote: bool = False
    depth: int = 0


def clock() -> float:
    """Seconds of work of this thread; other load on the machine does not count."""
    return time.thread_time()


class TooMuchError(Exception):
    """There is more in the line than is looked at."""


@define
class Findings:
    """`code` reads another text as a script that runs in the given place; `unwrap` looks at each command found.

    `evaluates` is set when something in the line computes (tests, arithmetic, `let`), `holds_code` when a variable gets
    a text with a command substitution in it: together the text would run.
    """

    code: Callable[[str, Around], None]
    unwrap: Callable[[Command, Around], bool]
    commands: list[Command] = field(factory=list)
    reasons: list[str] = field(factory=list)
    evaluates: bool = False
    holds_code: bool = False
    words: int = 0
    deadline: float = field(factory=lambda: clock() + SECONDS)

    def unclear(self, reason: str) -> None:
        if reason not in self.reasons and len(self.reasons) < _REASONS_LIMIT:
            self.reasons.append(reason)

    def add(self, command: Command, around: Around) -> None:
        """Raises TooMuchError when there are too many."""
        self.spend(len(command.words))
        self.commands.append(command)
        self.unwrap(command, around)

    def spend(self, words: int) -> None:
        """Counts words that are looked at. Raises TooMuchError when there are too many, or it takes too long."""
        self.words += words
        if len(self.commands) >= COMMANDS_LIMIT or self.words > WORDS_LIMIT or clock() > self.deadline:
            raise TooMuchError

    def hold(self, words: Iterable[Word]) -> None:
        """`words` become the value of something that may be computed with later."""
        self.holds_code = self.holds_code or any(w.text is not None and is_live(w.text) for w in words)

    @property
    def count(self) -> int:
        return len(self.commands)

    def names(self, start: int) -> tuple[str, ...]:
        """The programs found from the number `start` on."""
        return tuple(dict.fromkeys(c.name or "?" for c in self.commands[start:] if c.words))

    def output(self, start: int) -> Word | None:
        """What the commands from the number `start` on print, where that can be told."""
        found = self.commands[start:]
        if len(found) != 1:
            return None
        command = found[0]
        match command.name:
            case "echo":
                flags = 0
                while flags < len(command.args) and command.args[flags].text in ("-n", "-e", "-E"):
                    flags += 1
                return joined(command.args[flags:])
            case "printf" if command.args and "%" not in command.args[0].shape.replace("%s", "", 1):
                return joined(command.args[1:] if "%s" in command.args[0].shape else command.args)
            case "cat" if not command.args:
                given = [r.target for r in command.redirects if r.gives_text and r.feeds]
                return given[-1] if given else None
        return literal("") if command.name in ("true", ":") else None
