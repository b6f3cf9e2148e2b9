"""Composes the tools of each session: its own, those of MCP servers from three places, and those of the editor."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from quillback.config import Sandbox as Confined
from quillback.config import Settings
from quillback.core.mask import Mask
from quillback.core.mcp_server import McpServer
from quillback.core.ports import Toolbox
from quillback.mcp.manager import McpToolbox
from quillback.mcp.server import secrets_of
from quillback.project_tools import ProjectTools, advice
from quillback.session.services import ToolboxRequest
from quillback.session.subagent_parts import LentTools
from quillback.session.toolbox import CombinedToolbox
from quillback.skills.catalog import Skill, joined, project_skills, user_skills
from quillback.skills.tool import SkillBox
from quillback.tools.context import ToolContext
from quillback.tools.frontend import WithFrontendTools
from quillback.tools.registry import build_toolbox
from quillback.tools.sandbox import Sandbox
from quillback.trust import Project, Standing, trust_of


class Toolboxes:
    """Makes the toolbox of each session of this process."""

    def __init__(self, settings: Settings, mask: Mask) -> None:
        self._settings = settings
        self._mask = mask
        self._trust = trust_of(settings)
        self._sandbox = sandbox_of(settings)

    def open(self, request: ToolboxRequest) -> Toolbox:
        """Starts the session's MCP servers; of those that the project names only where the user trusts it."""
        settings = self._settings
        context = ToolContext(
            session_id=request.session_id,
            cwd=request.cwd,
            roots=request.roots,
            editor=request.editor,
            known=request.known,
            outputs=_outputs(settings, request),
            shell_in_editor=settings.shell_in_editor,
            secret_env=settings.secret_env,
            sandbox=self._sandbox,
            keep_original=request.keep_original,
            subagents=request.subagents,
            mask=self._mask,
        )
        if request.lender is not None:  # which has the servers, and was asked about the project
            lent = CombinedToolbox((build_toolbox(context), LentTools(request.lender.toolbox)))
            return WithFrontendTools(lent, context, request.message_of)
        project = self._trust.look(request.cwd)
        boxes: list[Toolbox] = [build_toolbox(context), SkillBox(self._skills(project, request))]
        named = _first_of_each_name([*request.servers, *settings.mcp_servers, *project.settings.mcp_servers])
        if named:
            boxes.append(_started(named, context, request, boxes))
        self._tell(project, request)
        if _can_be_asked(project, request):

            def start(servers: Sequence[McpServer]) -> Toolbox:
                known = {server.name for server in named}
                return _started([s for s in servers if s.name not in known], context, request, boxes)

            boxes.append(ProjectTools(project, self._trust, request, start))
        whole = CombinedToolbox(boxes)
        return WithFrontendTools(whole, context, request.message_of)

    def _skills(self, project: Project, request: ToolboxRequest) -> Mapping[str, Skill]:
        own = user_skills(self._settings.skills, request.notice)
        return joined(own, project_skills(Path(project.root), project.settings.skills, request.notice))

    def _tell(self, project: Project, request: ToolboxRequest) -> None:
        """Say what was left out and why, where the user is not asked about it."""
        if project.standing in (Standing.EMPTY, Standing.TRUSTED):
            for problem in project.files.settings.problems:
                request.notice(f"{problem} ({project.root})")
        elif not _can_be_asked(project, request):
            request.notice(advice(project))


def _outputs(settings: Settings, request: ToolboxRequest) -> Path:
    """Made by the first tool that keeps something; the directory around it is private from the beginning. A subagent's
    is in that of its parent, with which it goes."""
    with suppress(OSError):
        settings.outputs.mkdir(mode=0o700, exist_ok=True)
        settings.outputs.chmod(0o700)
    owner = settings.outputs if request.lender is None else settings.outputs / request.lender.session_id
    return owner / request.session_id


def sandbox_of(settings: Settings) -> Sandbox | None:
    """The sandbox of shell commands, or None where it is off. Nothing is looked for yet."""
    if settings.sandbox is Confined.OFF:
        return None
    hidden = (settings.home, settings.config_file.parent, settings.config_file)
    return Sandbox(offline=settings.sandbox is Confined.WORKSPACE_OFFLINE, hidden=hidden)


def _can_be_asked(project: Project, request: ToolboxRequest) -> bool:
    return project.standing in (Standing.NEW, Standing.CHANGED) and request.editor.capabilities.questions


def _first_of_each_name(servers: Sequence[McpServer]) -> tuple[McpServer, ...]:
    """What comes first counts: the session's setup, then the user's configuration, then the project."""
    found: dict[str, McpServer] = {}
    for server in servers:
        found.setdefault(server.name, server)
    return tuple(found.values())


def _started(
    servers: Sequence[McpServer], context: ToolContext, request: ToolboxRequest, boxes: Sequence[Toolbox]
) -> McpToolbox:
    context.mask.add(value for server in servers for value in secrets_of(server).results)
    box = McpToolbox(
        servers,
        session_id=request.session_id,
        cwd=request.cwd,
        outputs=context.outputs,
        mask=context.mask,
        on_notice=request.notice,
        editor=request.editor,
        reserved=[tool.spec.name for other in boxes for tool in other.tools()],
    )
    box.start()
    return box
