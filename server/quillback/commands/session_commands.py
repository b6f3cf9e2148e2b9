"""The commands of one session: which there are, which one counts where two have a name, and what an unknown one is."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from quillback.commands import reports
from quillback.commands.builtin import BuiltIns, Doctor
from quillback.commands.files import MarkdownCommands, UserFiles, project_files
from quillback.commands.server_prompts import PromptCommands
from quillback.core.commands import CommandInfo, CommandResult, CommandSource, Desk, Say
from quillback.core.ports import Toolbox

CLOSE = 0.75
"""How much an unknown name has to be like a known one, of 1, to be taken for a slip."""

USER = "Your commands"
PROJECT = "Commands of this project"


class SessionCommands:
    """Implements the Commands port. Of two commands with a name the first counts: built in, the user's, the
    project's, those of `more`, prompts of MCP servers.

    `directory` has the user's command files; `project` gives those of the project that count now, by their paths.
    `notice` takes one text for each file that cannot be used.
    """

    def __init__(
        self,
        *,
        directory: Path,
        project: Callable[[], Mapping[str, bytes]],
        toolbox: Toolbox,
        doctor: Doctor,
        notice: Callable[[str], None],
        more: Sequence[CommandSource] = (),
    ) -> None:
        self._toolbox = toolbox
        self._files = (
            MarkdownCommands(USER, UserFiles(directory), notice),
            MarkdownCommands(PROJECT, lambda: project_files(project()), notice),
        )
        self._sources: tuple[CommandSource, ...] = (
            BuiltIns(self._overview, doctor),
            *self._files,
            *more,
            PromptCommands(toolbox),
        )
        self._news = asyncio.Event()
        toolbox.on_prompts(self._news.set)

    def available(self) -> tuple[CommandInfo, ...]:
        return tuple(info for info, _ in self._found().values())

    async def changed(self) -> None:
        await self._news.wait()
        self._news.clear()

    async def run(self, name: str, argument: str, desk: Desk) -> CommandResult | None:
        found = self._found().get(name)
        if found is None:
            await self._toolbox.ready()  # it may be a prompt of a server that is on its way
            found = self._found().get(name)
        return await found[1].run(name, argument, desk) if found else self._unknown(name, argument)

    # ------------------------------------------------------------ which there are

    def _found(self) -> dict[str, tuple[CommandInfo, CommandSource]]:
        found: dict[str, tuple[CommandInfo, CommandSource]] = {}
        for source in self._sources:
            for info in source.available():
                found.setdefault(info.name, (info, source))
        return found

    def _unknown(self, name: str, argument: str) -> CommandResult | None:
        """None for what is rather a prompt: the name of a file in the root directory, or a sentence that begins with
        a word of its own."""
        if os.path.lexists(f"/{name}"):
            return None
        close = get_close_matches(name, self._found(), 1, CLOSE)
        if argument and not close and ":" not in name.strip(":"):
            return None
        meant = f" Did you mean `/{close[0]}`?" if close else ""
        return Say(f"There is no command /{name}.{meant} `/help` lists them.")

    # ------------------------------------------------------------ /help

    def _overview(self, about: str) -> str:
        found = self._found()
        if about:
            return self._about(about.lstrip("/"), found)
        groups: dict[str, list[CommandInfo]] = {}
        for info, _ in found.values():
            groups.setdefault(info.origin, []).append(info)
        return reports.helped(groups.items(), self._notes(found))

    def _about(self, name: str, found: Mapping[str, tuple[CommandInfo, CommandSource]]) -> str:
        if name in found:
            return reports.command_line(found[name][0]).removeprefix("- ")
        close = get_close_matches(name, found, 1, CLOSE)
        meant = f" Did you mean `/{close[0]}`?" if close else ""
        return f"There is no command {reports.code(f'/{name}')}.{meant} `/help` lists them."

    def _notes(self, found: Mapping[str, tuple[CommandInfo, CommandSource]]) -> list[str]:
        """Commands hidden by others of their name, and files that cannot be used."""
        notes = [
            f"`/{info.name}` of “{info.origin}”, since `/{info.name}` of “{found[info.name][0].origin}” comes first"
            for source in self._sources
            for info in source.available()
            if found[info.name][1] is not source
        ]
        for files in self._files:
            notes += [f"{reports.code(path)}: {why}" for path, why in files.left_out.items()]
        return notes
