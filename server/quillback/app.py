"""The composition root: the only module that makes the parts and joins them."""

import asyncio
import logging
import os
import random
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from attrs import evolve

from quillback.commands.session_commands import SessionCommands
from quillback.config import Settings
from quillback.config_tools import misspelled
from quillback.core.hooks import Hooks
from quillback.core.mask import Mask
from quillback.core.model import Model
from quillback.core.ports import Inspection, Inspector, SessionRecord, StoreError, Toolbox
from quillback.core.side import SideModel
from quillback.core.turn_types import Compacting, Limits
from quillback.credentials import OPENAI, base_url
from quillback.hooks.files import UserFile
from quillback.hooks.runner import CommandHooks
from quillback.inspectors import third_party
from quillback.inspectors.adversary import AdversaryInspector
from quillback.inspectors.chain import inspect
from quillback.inspectors.egress import EgressInspector, EgressPolicy
from quillback.inspectors.judge import Judge
from quillback.inspectors.permission import PermissionInspector
from quillback.inspectors.permission_rules import narrowest
from quillback.inspectors.sandbox import SandboxInspector
from quillback.inspectors.security import SecurityInspector
from quillback.inspectors.third_party import ThirdParty
from quillback.mcp.server import secrets_of
from quillback.models import SCRIPTED, Models
from quillback.problems import problems_of
from quillback.project_hooks import ProjectHooks
from quillback.providers.reach import reach
from quillback.providers.scripted import demo_workspace
from quillback.recipes.commands import RecipeCommands
from quillback.session.ids import IdSource
from quillback.session.permits import Inspected
from quillback.session.registry import Defaults
from quillback.session.services import CommandsRequest, Policy, Services, ToolboxRequest
from quillback.session.side import SmallModel
from quillback.session.system_prompt import system_prompt
from quillback.session.title import title_writer
from quillback.skills.context_files import context
from quillback.store.health import Health, examine
from quillback.store.sqlite import SqliteStore
from quillback.toolboxes import Toolboxes, sandbox_of
from quillback.tools.environment import secret_values
from quillback.tools.kept import sweep
from quillback.tools.restore import restorer
from quillback.tools.run_command import CommandRunner
from quillback.trust import Project, Standing, load_project, trust_of

MODELS_SECONDS = 0.5
SYSTEMS = 200
"""Sessions whose system prompt is kept."""
DOCTOR_SECONDS = 1.0
SWEEP_AFTER = 2.0
"""Seconds after the first session has begun until old outputs are looked for."""
log = logging.getLogger(__name__)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class App:
    """Everything of one process but its edge. `warm` prepares the model of each session that is opened."""

    def __init__(self, settings: Settings, mask: Mask | None = None, *, warm: bool = True) -> None:
        self.settings = settings
        self._warm = warm
        mask = mask or mask_of(settings)
        self.models = Models(settings, mask)
        self.problems = problems_of(settings, self.models)
        self.store = SqliteStore(settings.database, now=now_ms)
        self.defaults = Defaults(self.models.default, settings.mode, settings.thinking)
        small = SmallModel(self._small_model, self.models.provider)
        self._inspectors = inspectors_of(settings, small)
        self._third_party = ThirdParty()
        self._toolboxes = Toolboxes(settings, mask)
        self._systems: dict[str, str] = {}
        self._notices: dict[str, Callable[[str], None]] = {}
        self._user_hooks = UserFile(settings.user_hooks)
        self._run_command = CommandRunner(settings.secret_env, mask)
        self._sweeping: asyncio.Task[None] | None = None
        self.services = Services(
            store=self.store,
            model=self.models.get,
            provider=self.models.provider,
            toolbox=self._toolbox,
            system=self._system,
            inspect=self._inspect,
            rule=narrowest,
            new_id=IdSource(),
            now=now_ms,
            jitter=random.random,
            opened=self._opened,
            forgotten=self._forgotten,
            restore=restorer,
            small_model=self._small_model,
            models=self._model_names,
            run_command=self._run_command,
            hooks=self._hooks,
            commands=self._commands,
            policy=_policy(settings),
            title=title_writer(small) if settings.titles else None,
            mask=mask,
        )

    async def close(self, seconds: float | None = None) -> None:
        """Takes `seconds` at most, five if not told. Raises StoreError naming what is not saved."""
        begun = time.monotonic()
        if self._sweeping is not None:
            self._sweeping.cancel()
        try:
            async with asyncio.timeout(MODELS_SECONDS if seconds is None else min(MODELS_SECONDS, seconds / 2)):
                await asyncio.gather(self.models.close(), self._run_command.close())
        except Exception as error:
            log.warning("connections or commands were not closed properly: %s", error or type(error).__name__)
        finally:
            left = None if seconds is None else max(0.1, seconds - (time.monotonic() - begun))
            await self.store.close(left)

    def _small_model(self) -> Model:
        """A script has no small one beside it: it answers itself."""
        scripted = self.models.default.startswith(SCRIPTED)
        return self.models.get(self.models.default if scripted else self.models.small)

    def _toolbox(self, request: ToolboxRequest) -> Toolbox:
        if request.lender is None:
            self._notices[request.session_id] = request.notice
        return self._toolboxes.open(request)

    def _system(self, record: SessionRecord) -> str:
        """It stays as it was when the session was opened, so that the prompt cache holds."""
        if record.id not in self._systems:
            if len(self._systems) >= SYSTEMS:
                del self._systems[next(iter(self._systems))]
            roots = [Path(root) for root in record.roots]
            text = context(self.settings.config_file.parent, roots, self._notices.get(record.id, log.warning))
            self._systems[record.id] = "\n".join(filter(None, (system_prompt(record), text)))
        return self._systems[record.id]

    def _model_names(self) -> list[str]:
        return [name for name, _ in self.models.choices()]

    def _hooks(self, record: SessionRecord) -> Hooks:
        """Those of the user and, as long as it is trusted, of the session's project."""
        return CommandHooks(
            session_id=record.id,
            cwd=record.cwd,
            mode=record.mode.value,
            user=self._user_hooks,
            project=ProjectHooks(trust_of(self.settings), Path(record.cwd)),
            run=self._run_command,
        )

    def _commands(self, request: CommandsRequest) -> SessionCommands:
        """A project's command files count as long as they are trusted, and only as they were trusted."""
        cwd = Path(request.record.cwd)
        return SessionCommands(
            directory=self.settings.config_file.parent / "commands",
            project=lambda: load_project(self.settings, cwd).commands,
            untrusted=lambda: _untrusted(trust_of(self.settings).look(cwd)),
            toolbox=request.toolbox,
            doctor=self._doctor,
            notice=request.notice,
            more=(RecipeCommands(self.settings.recipes, lambda: load_project(self.settings, cwd).recipes),),
        )

    async def _doctor(self) -> str:
        """The part of `quillback doctor` that is quick."""
        from quillback.cli.doctor_report import report  # it imports this module

        try:
            async with asyncio.timeout(DOCTOR_SECONDS):
                return await asyncio.to_thread(report, self.settings)
        except TimeoutError:
            return "That took too long. `quillback doctor` in a terminal tells everything."

    async def _inspect(self, inspection: Inspection) -> Inspected:
        """A trusted project's rules count like the configured ones."""
        project = load_project(self.settings, Path(inspection.roots[0]))
        inspection = evolve(inspection, rules=(*inspection.rules, *project.rules))
        return await inspect(inspection, (*self._inspectors, *await self._third_party.inspectors()))

    def _outputs(self, session_id: str) -> Path:
        """Made by the first tool that keeps something; the directory around it is private from the beginning."""
        with suppress(OSError):
            self.settings.outputs.mkdir(mode=0o700, exist_ok=True)
            self.settings.outputs.chmod(0o700)
        return self.settings.outputs / session_id

    def _forgotten(self, session_id: str) -> None:
        shutil.rmtree(self.settings.outputs / session_id, ignore_errors=True)

    def _opened(self, record: SessionRecord) -> None:
        if self._warm:
            self.models.warm_up(record.model)
        self._third_party.start()
        self._systems.pop(record.id, None)
        self._system(record)  # now, so that its user hears with the first prompt of files that are left out
        self._notices.pop(record.id, None)
        if self._sweeping is None:
            self._sweeping = asyncio.create_task(self._sweep(), name="sweep outputs")

    async def _sweep(self) -> None:
        """Once in a process, some time after its first session has begun: remove outputs that are too old."""
        await asyncio.sleep(SWEEP_AFTER)
        try:
            live = await self.store.live_sessions()
        except StoreError as error:
            log.info("old outputs stay for now: %s", error)
            return
        # A thread that nobody waits for: the end of the process may cut it short at any file.
        work = threading.Thread(target=sweep, args=(self.settings.outputs, live, time.time()), daemon=True)
        work.start()


# ---------------------------------------------------------------- for the command line


def mask_of(settings: Settings) -> Mask:
    """Knows the keys that are configured or in the environment; what is found later is added to it."""
    passwords = [urlsplit(url).password or "" for url in (settings.anthropic_base_url, settings.openai_base_url)]
    own = (settings.anthropic_api_key, settings.anthropic_auth_token, settings.openai_api_key, *passwords)
    values = (value for server in settings.mcp_servers for value in secrets_of(server).results)
    return Mask((*own, *values, *secret_values(settings.secret_env)), salt=os.urandom(16))


def database_health(settings: Settings) -> Health:
    """What state the database is in; it is only read. May take a while."""
    return examine(settings.database)


async def service_answer(settings: Settings, service: str) -> tuple[str, bool]:
    """What came of a request to a model service without a key, and whether it knows it. Raises ProviderError."""
    return await reach(base_url(settings, service), chat=service == OPENAI)


def inspector_problems() -> list[str]:
    """What is wrong with inspectors of other packages; this loads them."""
    return third_party.load()[1]


def user_hooks(settings: Settings) -> tuple[int, tuple[str, ...]]:
    """How many hooks the user's own file has, and what is wrong with it."""
    found = UserFile(settings.user_hooks)()
    return len(found.hooks), found.problems


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
        SecurityInspector((str(settings.home), str(settings.config_file.parent)), outputs=str(settings.outputs)),
        EgressInspector(EgressPolicy(settings.egress_allow, settings.egress_deny, settings.egress_default.value)),
        SandboxInspector(),
        AdversaryInspector(settings.adversary, side, misspelled),
        PermissionInspector(str(settings.outputs.resolve()), settings.rules, Judge(side)),
    ]


def _untrusted(project: Project) -> tuple[str, ...]:
    """The paths of the commands and recipes that would count if the user trusted the project."""
    files = project.files.settings
    return () if project.standing is Standing.TRUSTED else (*files.commands, *files.recipes)


def _policy(settings: Settings) -> Policy:
    return Policy(
        limits=Limits(settings.max_steps, settings.max_cost, settings.max_duration),
        compacting=Compacting(settings.compact_at),
        grind_cost=settings.grind_cost,
        subagent_steps=settings.subagent_max_steps,
        tool_concurrency=settings.tool_concurrency,
        queue_when_busy=settings.on_busy.value == "queue",
        stop_on_reject=settings.on_reject.value == "stop",
    )
