"""The composition root: the only module that makes the parts and joins them."""

import asyncio
import logging
import os
import random
import shutil
import sys
import time
from collections.abc import Awaitable, Callable

from quillback.config import Settings, load_settings
from quillback.core.ports import Inspection, Inspector, SessionRecord, Toolbox
from quillback.core.turn_types import Limits
from quillback.core.verdict import Verdict
from quillback.edge.handshake import Handshake
from quillback.edge.serve import AcpServer
from quillback.edge.stdio import claim_stdio
from quillback.inspectors.chain import inspect
from quillback.inspectors.permission import PermissionInspector
from quillback.mcp.manager import McpToolbox
from quillback.models import Models
from quillback.providers.reach import reach
from quillback.providers.scripted import demo_workspace
from quillback.session.ids import IdSource
from quillback.session.registry import Defaults, Sessions
from quillback.session.services import Policy, Services, ToolboxRequest
from quillback.session.system_prompt import system_prompt
from quillback.session.toolbox import CombinedToolbox
from quillback.store.health import Health, examine
from quillback.store.sqlite import SqliteStore
from quillback.tools.context import ToolContext
from quillback.tools.frontend import WithFrontendTools
from quillback.tools.registry import build_toolbox

log = logging.getLogger(__name__)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class App:
    """Everything of one process but its edge."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.models = Models(settings)
        self.problems = (*settings.problems, *self.models.problems)
        self.store = SqliteStore(settings.database, now=now_ms)
        self.defaults = Defaults(self.models.default, settings.mode, settings.thinking)
        self.services = Services(
            store=self.store,
            model=self.models.get,
            provider=self.models.provider,
            toolbox=self._toolbox,
            system=system_prompt,
            inspect=_inspect_with([PermissionInspector(str(settings.outputs.resolve()))]),
            new_id=IdSource(),
            now=now_ms,
            jitter=random.random,
            opened=self._opened,
            forgotten=self._forgotten,
            policy=_policy(settings),
        )

    async def close(self) -> None:
        await self.models.close()
        await self.store.close()

    def _toolbox(self, request: ToolboxRequest) -> Toolbox:
        outputs = self.settings.outputs / request.session_id
        context = ToolContext(
            session_id=request.session_id,
            cwd=request.cwd,
            roots=request.roots,
            editor=request.editor,
            known=request.known,
            outputs=outputs,
            shell_in_editor=self.settings.shell_in_editor,
            secret_env=self.settings.secret_env,
        )
        own = build_toolbox(context)
        if not request.servers:
            return WithFrontendTools(own, context, request.message_of)
        foreign = McpToolbox(
            request.servers,
            session_id=request.session_id,
            cwd=request.cwd,
            outputs=outputs,
            on_notice=request.notice,
            reserved=[tool.spec.name for tool in own.tools()],
        )
        foreign.start()
        return WithFrontendTools(CombinedToolbox([own, foreign]), context, request.message_of)

    def _forgotten(self, session_id: str) -> None:
        shutil.rmtree(self.settings.outputs / session_id, ignore_errors=True)

    def _opened(self, record: SessionRecord) -> None:
        self.models.warm_up(record.model)


# ---------------------------------------------------------------- for the command line


def database_health(settings: Settings) -> Health:
    """What state the database is in; it is only read. May take a while."""
    return examine(settings.database)


async def service_answer(settings: Settings) -> str:
    """What came of a request to the model service, which was sent without a key. Raises ProviderError."""
    return await reach(settings.anthropic_base_url)


def demo_files() -> dict[str, str]:
    """The workspace of the demo: names and contents."""
    return demo_workspace()


# ---------------------------------------------------------------- parts


def _inspect_with(inspectors: list[Inspector]) -> Callable[[Inspection], Awaitable[Verdict]]:
    async def run(inspection: Inspection) -> Verdict:
        verdict, _ = await inspect(inspection, inspectors)
        return verdict

    return run


def _policy(settings: Settings) -> Policy:
    return Policy(
        limits=Limits(settings.max_steps, settings.max_cost, settings.max_duration),
        tool_concurrency=settings.tool_concurrency,
        queue_when_busy=settings.on_busy.value == "queue",
        stop_on_reject=settings.on_reject.value == "stop",
    )


# ---------------------------------------------------------------- serving


def serve_acp(handshake: Handshake | None, parent: int) -> int:
    """Serve an ACP client over stdio; returns the exit code."""
    stdin, stdout = claim_stdio()
    settings = load_settings(os.environ)
    configure_logging(settings)
    return asyncio.run(_serve(settings, handshake, parent, stdin, stdout))


async def _serve(settings: Settings, handshake: Handshake | None, parent: int, stdin: int, stdout: int) -> int:
    app = App(settings)
    server = AcpServer(
        stdin,
        stdout,
        sessions=lambda editor: Sessions(app.services, app.defaults, editor),
        models=app.models.choices,
        problems=app.problems,
        parent=parent,
    )
    await server.run(handshake)
    await app.close()
    return 0


def configure_logging(settings: Settings) -> None:
    """Everything but the protocol goes to stderr."""
    logging.basicConfig(
        stream=sys.stderr,
        level=settings.log_level.value.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    for noisy in ("httpx2", "httpcore2", "anthropic", "mcp", "client", "asyncio", "aiosqlite"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    for problem in settings.problems:
        log.warning("%s", problem)
