"""A parsed shell line in its place: where each command works, and what its words mean there."""

import re
from collections.abc import Iterator, Sequence

from attrs import field, frozen

from quillback.inspectors import shell_operands
from quillback.inspectors.security_globs import may_be_credential
from quillback.inspectors.security_paths import Places, credential
from quillback.inspectors.shell_interpreters import Entry, entry_of
from quillback.inspectors.shell_script import UNKNOWN, Command, Script, Word

_REMOVERS = frozenset({"rm", "rmdir", "unlink"})  # they act on a link itself
_MOVES = frozenset({"cd", "pushd", "popd", "chdir"})


@frozen
class Setting:
    """The directories a command may be run in; `lost` when one of them is not known."""

    folders: tuple[str, ...]
    lost: bool


@frozen
class Scene:
    """`cwd` is a real path. The commands are those of `script`, each with its setting."""

    script: Script
    places: Places
    cwd: str
    settings: dict[int, Setting] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "settings", dict(self._follow()))

    def _follow(self) -> Iterator[tuple[int, Setting]]:
        """Follows `cd` through the line; since not all commands may run, a place left before stays possible."""
        folders: tuple[str, ...] = (self.cwd,)
        lost = False
        for command in self.script.commands:
            yield id(command), Setting(folders, lost)
            if command.name not in _MOVES or command.remote:
                continue
            targets = shell_operands.operands_of(command.args)
            if not targets and command.name == "cd":
                found: tuple[str, ...] = (self.places.home,)
            else:
                found = self.places.resolve(targets[0], folders) if targets and targets[0].text != "-" else ()
            lost = lost or (not found and not (targets and targets[0].text == "-"))
            folders = tuple(dict.fromkeys((*folders, *found)))[:16]

    @property
    def commands(self) -> Sequence[Command]:
        return self.script.commands

    def paths(self, command: Command, word: Word) -> tuple[str, ...]:
        """The real paths a word of a command may mean; nothing when that cannot be told."""
        links = command.name not in _REMOVERS
        setting = self.settings[id(command)]
        absolute = word.home or word.shape.startswith("/")
        return () if setting.lost and not absolute else self.places.resolve(word, setting.folders, links=links)

    def vital(self, command: Command, word: Word) -> bool:
        """Whether a word means a directory that must not be lost, or all that is in it."""
        if word.wild and not re.fullmatch(r"(?:.*/)?(?:\.?\*|\.\[\^?.*\]\*|\.\?\?\*)/?", word.shape):
            return False
        return any(self.places.vital(path) for path in self.paths(command, word))

    def credential(self, command: Command, word: Word) -> bool:
        if word.shape.strip(UNKNOWN) == "":
            return False
        home = self.places.home
        if credential(word.shape, home):
            return True
        if not word.wild:
            return any(credential(path, home) for path in self.paths(command, word))
        setting = self.settings[id(command)]
        pattern = home + word.shape[1:] if word.home else word.shape
        dots = any(c.name == "shopt" for c in self.commands)
        return may_be_credential(pattern, () if setting.lost else setting.folders, home, dots=dots)

    def entry(self, command: Command) -> Entry | None:
        return entry_of(command)


def flags(command: Command, letters: str, *names: str) -> bool:
    """Whether a command has one of the short options in any cluster, or one of the long ones, shortened or not."""
    for word in command.args:
        shape = word.shape
        if shape == "--":
            return False
        if shape.startswith("--"):
            given = shape.partition("=")[0]
            if any(given == name or (len(given) > 3 and name.startswith(given)) for name in names):
                return True
        elif (
            shape.startswith("-") and len(shape) > 1 and any(letter in shape[1:] for letter in letters)
        ) or shape in names:
            return True
    return False


def verb(command: Command) -> str:
    """The first operand: the subcommand of many programs."""
    return next((w.shape for w in command.args if not w.shape.startswith("-")), "")
