"""The composition root: the only module that makes the parts and joins them."""

import asyncio
import logging
import os
import random
import shutil
import sys
import time

from quillback.config import Settings, load_settings
from quillback.core.model import Model
from quillback.core.ports import Inspection, Inspector, SessionRecord
from quillback.core.rules import parse_pattern
from quillback.core.side import SideModel
from quillback.core.turn_types import Limits
from quillback.edge.handshake import Handshake
from quillback.edge.serve import AcpServer
from quillback.edge.stdio import claim_stdio
from quillback.inspectors import third_party
from quillback.inspectors.adversary import AdversaryInspector
from quillback.inspectors.chain import inspect
from quillback.inspectors.judge import Judge
from quillback.inspectors.permission import PermissionInspector
from quillback.inspectors.permission_rules import narrowest
from quillback.inspectors.sandbox import SandboxInspector
from quillback.inspectors.third_party import ThirdParty
from quillback.models import SCRIPTED, Models
from quillback.providers.reach import reach
from quillback.providers.scripted import demo_workspace
from quillback.session.ids import IdSource
from quillback.session.permits import Inspected
from quillback.session.registry import Defaults, Sessions
from quillback.session.services import Policy, Services
from quillback.session.side import SmallModel
from quillback.session.system_prompt import system_prompt
from quillback.store.health import Health, examine
from quillback.store.sqlite import SqliteStore
from quillback.toolboxes import Toolboxes, sandbox_of

log = logging.getLogger(__name__)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class App:
    """Everything of one process but its edge."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.models = Models(settings)
        self.problems = (*settings.problems, *self.models.problems, *rule_problems(settings))
        self.store = SqliteStore(settings.database, now=now_ms)
        self.defaults = Defaults(self.models.default, settings.mode, settings.thinking)
        self._inspectors = inspectors_of(settings, SmallModel(self._small_model, self.models.provider))
        self._third_party = ThirdParty()
        self.services = Services(
            store=self.store,
            model=self.models.get,
            provider=self.models.provider,
            toolbox=Toolboxes(settings).open,
            system=system_prompt,
            inspect=self._inspect,
            rule=narrowest,
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

    def _small_model(self) -> Model:
        """A script has no small one beside it: it answers itself."""
        scripted = self.models.default.startswith(SCRIPTED)
        return self.models.get(self.models.default if scripted else self.settings.small_model)

    async def _inspect(self, inspection: Inspection) -> Inspected:
        return await inspect(inspection, (*self._inspectors, *await self._third_party.inspectors()))

    def _forgotten(self, session_id: str) -> None:
        shutil.rmtree(self.settings.outputs / session_id, ignore_errors=True)

    def _opened(self, record: SessionRecord) -> None:
        self.models.warm_up(record.model)
        self._third_party.start()


# ---------------------------------------------------------------- for the command line


def database_health(settings: Settings) -> Health:
    """What state the database is in; it is only read. May take a while."""
    return examine(settings.database)


async def service_answer(settings: Settings) -> str:
    """What came of a request to the model service, which was sent without a key. Raises ProviderError."""
    return await reach(settings.anthropic_base_url)


def inspector_problems() -> list[str]:
    """What is wrong with inspectors of other packages; this loads them."""
    return third_party.load()[1]


def rule_problems(settings: Settings) -> list[str]:
    """What is wrong with configured rules for the shell, which would never match."""
    problems = []
    for rule in settings.rules:
        pattern = parse_pattern(rule.pattern)
        if pattern.tool == "shell" and pattern.argument is not None:
            from quillback.inspectors.rule_commands import bad_command

            if why := bad_command(pattern.argument):
                problems.append(f"{settings.config_file}: {rule.pattern}: {why}")
    return problems


def sandbox_problem(settings: Settings) -> str:
    """Why commands cannot be confined as configured, after a try; empty when they can, or when it is off."""
    sandbox = sandbox_of(settings)
    return sandbox.probe() if sandbox is not None else ""


def demo_files() -> dict[str, str]:
    """The workspace of the demo: names and contents."""
    return demo_workspace()


# ---------------------------------------------------------------- parts


def inspectors_of(settings: Settings, side: SideModel) -> list[Inspector]:
    """Our own inspectors in the order in which they are run. The fifth, repetition, is in the core."""
    return [
        # security, then egress, come first
        SandboxInspector(),
        AdversaryInspector(settings.adversary, side),
        PermissionInspector(str(settings.outputs.resolve()), settings.rules, Judge(side)),
    ]


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
        frontend_seconds=settings.frontend_timeout,
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
