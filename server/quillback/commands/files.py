"""The commands of Markdown files, of the user and of a project; each file is looked at again when it has changed."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePath

from attrs import frozen

from quillback.commands.markdown import SIZE_LIMIT, BadCommandError, MarkdownCommand, name_of, read_command
from quillback.core.commands import PROJECT_FOLDERS, CommandInfo, CommandResult, Desk, Expand, LeftOut, refusal
from quillback.core.message import Text
from quillback.documents.reading import UnfitError, read_bytes

FILES_LIMIT = 200
"""Files of one directory of commands."""


@frozen
class CommandFile:
    """`path` names it to the user; `below` is the path inside its directory of commands. `data` is what it holds, or
    why that is not known."""

    path: str
    below: str
    data: bytes | str


class MarkdownCommands:
    """A FileSource. `read` gives the files there are now; of two with one name the first counts."""

    def __init__(self, origin: str, read: Callable[[], Sequence[CommandFile]]) -> None:
        self._origin = origin
        self._read = read
        self._parsed: dict[tuple[str, bytes | str], MarkdownCommand | str] = {}
        self._left_out: list[LeftOut] = []

    def available(self) -> tuple[CommandInfo, ...]:
        return tuple(command.info for command in self._commands().values())

    async def run(self, name: str, argument: str, desk: Desk) -> CommandResult | None:
        command = self._commands().get(name)
        if command is None:
            return None
        text = command.text(argument).strip()
        return (
            Expand((Text(text),)) if text else refusal(f"`/{name}` says nothing without arguments, and was not sent.")
        )

    def left_out(self) -> Sequence[LeftOut]:
        self._commands()
        return self._left_out

    def _commands(self) -> dict[str, MarkdownCommand]:
        files = self._read()
        before, self._parsed, self._left_out = self._parsed, {}, []
        found: dict[str, MarkdownCommand] = {}
        for file in files:
            key = (file.path, file.data)
            command = self._parsed[key] = before[key] if key in before else self._command(file)
            if isinstance(command, str):
                self._left_out.append(LeftOut(file.path, name_of(file.below), command))
            elif command.info.name in found:
                name = command.info.name
                self._left_out.append(LeftOut(file.path, name, f"another file is `/{name}`"))
            else:
                found[command.info.name] = command
        return dict(sorted(found.items()))

    def _command(self, file: CommandFile) -> MarkdownCommand | str:
        """The command, or why it is none."""
        try:
            if isinstance(file.data, str):
                raise BadCommandError(file.data)
            return read_command(file.below, file.data, self._origin)
        except BadCommandError as why:
            return str(why)


def project_files(contents: Mapping[str, bytes]) -> list[CommandFile]:
    """The files of a project, by their paths below it; those of the first folder come first."""
    return [CommandFile(path, below, contents[path]) for path, below in _in_folders(sorted(contents))]


def project_names(paths: Iterable[str]) -> dict[str, str]:
    """What the command files and recipes of a project would be called, with the path of each."""
    paths = sorted(paths)
    commands = {path: name_of(below) for path, below in _in_folders(paths)}
    return {commands.get(path) or PurePath(path).stem: path for path in paths}


def _in_folders(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each path with what it is inside its folder of commands."""
    for folder in PROJECT_FOLDERS:
        yield from ((path, path.removeprefix(f"{folder}/")) for path in paths if path.startswith(f"{folder}/"))


class UserFiles:
    """The files of a directory of the user. A file that has not changed is not read again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[str, tuple[tuple[int, ...], bytes | str]] = {}

    def __call__(self) -> list[CommandFile]:
        before, self._known = self._known, {}
        files = []
        for path in sorted(self._paths())[:FILES_LIMIT]:
            below = path.relative_to(self._directory).as_posix()
            known = self._known[below] = self._content(path, before.get(below))
            files.append(CommandFile(str(path), below, known[1]))
        return files

    def _paths(self) -> Iterator[Path]:
        for place, _, names in islice(os.walk(self._directory), FILES_LIMIT):
            yield from (Path(place, name) for name in names if name.endswith(".md"))

    def _content(
        self, path: Path, known: tuple[tuple[int, ...], bytes | str] | None
    ) -> tuple[tuple[int, ...], bytes | str]:
        """What identifies the state of the file, and its content or what is wrong with it. A pipe is not waited for."""
        try:
            found = path.stat()
            mark = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
            if known is not None and known[0] == mark:
                return known
            return mark, read_bytes(path, SIZE_LIMIT)
        except UnfitError as unfit:
            return (), str(unfit)
        except OSError as error:
            return (), f"it cannot be read: {error.strerror}"
