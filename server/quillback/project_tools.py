"""The MCP servers of a project that is not trusted yet: nothing of it runs before the user has said yes."""

import shlex
from collections.abc import Callable, Sequence

from quillback.core.mcp_server import AcpServer, HttpServer, McpServer, StdioServer
from quillback.core.ports import EditorError, Tool, Toolbox
from quillback.session.services import ToolboxRequest
from quillback.trust import Project, Standing, Trust, TrustError
from quillback.trust_files import ProjectSettings

YES, NO = "Trust these files", "Not now"
_SHOWN = 1000


class ProjectTools:
    """Implements the Toolbox port. The question comes with the first turn; until its answer there are no tools."""

    def __init__(
        self,
        project: Project,
        trust: Trust,
        request: ToolboxRequest,
        start: Callable[[Sequence[McpServer]], Toolbox],
    ) -> None:
        self._project = project
        self._trust = trust
        self._request = request
        self._start = start
        self._answered = False
        self._box: Toolbox | None = None

    def tools(self) -> Sequence[Tool]:
        return self._box.tools() if self._box is not None else ()

    async def ready(self) -> None:
        """A turn that is cancelled while the question is open leaves it to the next one."""
        if not self._answered:
            await self._ask()
        if self._box is not None:
            await self._box.ready()

    async def close(self) -> None:
        self._answered = True
        if self._box is not None:
            await self._box.close()

    async def _ask(self) -> None:
        request = self._request
        question = f"{summary(self._project)}\n\nTrust them as they are now?"
        try:
            answer = await request.editor.ask_user(request.session_id, "", question, (YES, NO))
        except EditorError:
            answer = None
            request.notice(advice(self._project))
        if self._answered:
            return
        self._answered = True
        if answer == YES:
            self._trusted()

    def _trusted(self) -> None:
        """What was shown is what is trusted: files that changed meanwhile stay without effect."""
        try:
            self._trust.grant(self._project)
        except TrustError as error:
            self._request.notice(str(error))
            return
        now = self._trust.look(self._request.cwd)
        if now.standing is not Standing.TRUSTED:
            self._request.notice(advice(now))
            return
        for problem in now.settings.problems:
            self._request.notice(problem)
        if now.settings.mcp_servers:
            self._box = self._start(now.settings.mcp_servers)


def advice(project: Project) -> str:
    """What was left out of a project that is not trusted, and what to do."""
    if project.standing is Standing.UNFIT:
        return f"The project's settings have no effect: {project.problem}."
    command = f"quillback trust {shlex.quote(project.root)}"
    reason = f" ({project.problem})" if project.problem else ""
    return f"{summary(project)}\nThey have no effect until you trust them: {command}{reason}"


def summary(project: Project) -> str:
    """What the files would do, in some lines."""
    if project.standing is Standing.CHANGED:
        what = f"{', '.join(project.changed)} of {project.root} changed since you trusted the files, which would"
    else:
        what = f"Files of {project.root} ({', '.join(sorted(project.files.digests))}) would"
    return "\n".join([f"{what}:", *(f"- {_bounded(line)}" for line in effects(project.files.settings))])


def effects(settings: ProjectSettings) -> list[str]:
    """One line for each thing that trust would bring about. Values of environments and headers are left out."""
    lines = [_server(server) for server in settings.mcp_servers]
    lists = ((settings.allow, "allow without asking"), (settings.deny, "deny"), (settings.ask, "ask about"))
    lines += [f"{verb}: {', '.join(rules)}" for rules, verb in lists if rules]
    lines += [f"name hooks, which do not run yet: {', '.join(map(str, settings.hooks))}"] if settings.hooks else []
    return [_printable(line) for line in lines]


def _server(server: McpServer) -> str:
    match server:
        case StdioServer(name=name, command=command, args=args):
            return f"start the MCP server {name}: {shlex.join((command, *args))}"
        case HttpServer(name=name, url=url):
            return f"connect to the MCP server {name}: {url.partition('?')[0]}"
        case AcpServer(name=name):
            return f"use the editor's MCP server {name}"


def _printable(line: str) -> str:
    """In one line, with nothing in it that an editor or a terminal acts on."""
    return " ".join("".join(c if c.isprintable() else " " for c in line).split())


def _bounded(line: str) -> str:
    """Never cut without saying so: the rest may be what matters."""
    cut = f"… (cut; {len(line) - _SHOWN} characters more, which `quillback trust` shows)"
    return line if len(line) <= _SHOWN else line[:_SHOWN] + cut
