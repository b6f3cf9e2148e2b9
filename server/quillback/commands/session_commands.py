"""The commands of one session: which there are, which one counts where two have a name, and what an unknown one is."""

import asyncio
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from quillback.commands import reports
from quillback.commands.builtin import BuiltIns, Doctor
from quillback.commands.files import MarkdownCommands, UserFiles, project_files, project_names
from quillback.commands.server_prompts import PromptCommands
from quillback.core.commands import CommandInfo, CommandResult, CommandSource, Desk, FileSource, LeftOut, Say, refusal
from quillback.core.ports import Toolbox
from quillback.core.text import code

CLOSE = 0.75
"""How much an unknown name has to be like a known one, of 1, to be taken for a slip."""

USER = "Your commands"
PROJECT = "Commands of this project"


class SessionCommands:
    """Implements the Commands port. Of two commands with a name the first counts: built in, the user's, the
    project's, those of `more`, prompts of MCP servers.

    `directory` has the user's command files; `project` gives those of the project that count now, by their paths, and
    `untrusted` the paths of its commands and recipes that do not, since the user does not trust them as they are.
    `notice` takes one text for each file that cannot be used, when the commands are listed.
    """

    def __init__(
        self,
        *,
        directory: Path,
        project: Callable[[], Mapping[str, bytes]],
        untrusted: Callable[[], Iterable[str]],
        toolbox: Toolbox,
        doctor: Doctor,
        notice: Callable[[str], None],
        more: Sequence[FileSource] = (),
    ) -> None:
        self._toolbox = toolbox
        self._untrusted = untrusted
        self._notice = notice
        self._told: set[LeftOut] = set()
        self._files: tuple[FileSource, ...] = (
            MarkdownCommands(USER, UserFiles(directory)),
            MarkdownCommands(PROJECT, lambda: project_files(project())),
            *more,
        )
        self._sources: tuple[CommandSource, ...] = (
            BuiltIns(self._overview, doctor),
            *self._files,
            PromptCommands(toolbox),
        )
        self._news = asyncio.Event()
        toolbox.on_prompts(self._news.set)

    def available(self) -> tuple[CommandInfo, ...]:
        found = self._found()
        left_out = self._left_out()
        for file in left_out:
            if file not in self._told and file.name not in found:
                self._notice(f"The command file {file.path} cannot be used: {file.why}.")
        self._told.update(left_out)
        return tuple(info for info, _ in found.values())

    async def changed(self) -> None:
        await self._news.wait()
        self._news.clear()

    async def run(self, name: str, argument: str, desk: Desk) -> CommandResult | None:
        found = self._found().get(name) or (await self._all()).get(name)
        return await found[1].run(name, argument, desk) if found else self._unknown(name, argument, desk)

    # ------------------------------------------------------------ which there are

    def _found(self) -> dict[str, tuple[CommandInfo, CommandSource]]:
        found: dict[str, tuple[CommandInfo, CommandSource]] = {}
        for source in self._sources:
            for info in source.available():
                found.setdefault(info.name, (info, source))
        return found

    async def _all(self) -> dict[str, tuple[CommandInfo, CommandSource]]:
        """With the prompts of servers that are on their way."""
        await self._toolbox.ready()
        return self._found()

    def _left_out(self) -> list[LeftOut]:
        return [file for files in self._files for file in files.left_out()]

    def _unknown(self, name: str, argument: str, desk: Desk) -> CommandResult | None:
        """None for what is rather a prompt: the name of a file in the root directory, or a sentence that begins with
        a word of its own."""
        if path := project_names(self._untrusted()).get(name):
            trust = code(shlex.join(["quillback", "trust", desk.record.cwd]))
            return refusal(
                f"`/{name}` was not sent: {code(path)} is a file of this project, and you do not trust the "
                f"project as it is now. {trust} in a terminal shows what its files ask for, and trusts them."
            )
        if file := next((file for file in self._left_out() if file.name == name), None):
            return refusal(f"`/{name}` was not sent: {code(file.path)} cannot be used: {file.why}.")
        if os.path.lexists(f"/{name}"):
            return None
        close = get_close_matches(name, self._found(), 1, CLOSE)
        if argument and not close and ":" not in name.strip(":"):
            return None
        meant = f" Did you mean `/{close[0]}`?" if close else ""
        return refusal(f"There is no command /{name}.{meant} `/help` lists them.")

    # ------------------------------------------------------------ /help

    async def _overview(self, about: str) -> Say:
        found = self._found()
        name = about.lstrip("/")
        if name not in found:
            found = await self._all()
        if about:
            return self._about(name, found)
        groups: dict[str, list[CommandInfo]] = {}
        for info, _ in found.values():
            groups.setdefault(info.origin, []).append(info)
        return Say(reports.helped(groups.items(), self._notes(found)))

    def _about(self, name: str, found: Mapping[str, tuple[CommandInfo, CommandSource]]) -> Say:
        if name in found:
            return Say(reports.command_line(found[name][0]).removeprefix("- "))
        close = get_close_matches(name, found, 1, CLOSE)
        meant = f" Did you mean `/{close[0]}`?" if close else ""
        return refusal(f"There is no command {code(f'/{name}')}.{meant} `/help` lists them.")

    def _notes(self, found: Mapping[str, tuple[CommandInfo, CommandSource]]) -> list[str]:
        """Commands hidden by others of their name, and files that cannot be used."""
        notes = [
            f"`/{info.name}` of “{info.origin}”, since `/{info.name}` of “{found[info.name][0].origin}” comes first"
            for source in self._sources
            for info in source.available()
            if found[info.name][1] is not source
        ]
        notes += [f"{code(file.path)}: {file.why}" for file in self._left_out()]
        notes += [f"{code(path)}: you do not trust this project as it is now" for path in self._untrusted()]
        return notes
