"""The ports: what the core and the session need from the outside, each implemented by one package.

`providers` implement `Provider`, `tools` `Tool`, `inspectors` `Inspector`, `store` `Store`, `edge` `Editor`.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from attrs import frozen

from quillback.core.frontend import FrontendAnswer, FrontendTool
from quillback.core.message import (
    NO_USAGE,
    FileSeen,
    JsonObject,
    Location,
    PlanEntry,
    ResultPart,
    Shown,
    ToolUse,
    Usage,
)
from quillback.core.model import ModelRequest, ProviderEvent, ToolSpec
from quillback.core.prompts import PromptSource
from quillback.core.rules import Mode as Mode
from quillback.core.rules import Rule as Rule
from quillback.core.rules import RuleEffect as RuleEffect
from quillback.core.storing import SessionBusyError as SessionBusyError
from quillback.core.storing import SessionRecord as SessionRecord
from quillback.core.storing import Store as Store
from quillback.core.storing import StoreError as StoreError
from quillback.core.verdict import ALLOW, Verdict


class Provider(Protocol):
    """Speaks to one model service."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """One reply, as it arrives; ends after StreamStopped. Raises ProviderError. Never retries by itself.

        Cancelling the consumer closes the connection.
        """
        ...

    async def close(self) -> None: ...


# ---------------------------------------------------------------- tools


class ToolError(Exception):
    """A call failed in a way the model should read about; the text says what to do instead."""


@frozen
class Access:
    """What a call will touch, for inspectors: real absolute paths, and the command line if there is one.

    `cwd` is where the command runs. `escalation` says why the call is not confined although a sandbox is configured.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    command: str = ""
    cwd: str = ""
    escalation: str = ""


@frozen
class ToolProgress:
    """`shown` is the whole of what the editor should show by now."""

    shown: tuple[Shown, ...]


@frozen
class ToolOutcome:
    """The end of a call. See `ToolResult` for the fields; `stop_turn` ends the turn after this step.

    `say` is then shown to the user as the turn's last message. `final` is the turn's final output; `cost` is what the
    call took of models, in US dollars, `usage` the same in tokens.
    """

    content: tuple[ResultPart, ...]
    is_error: bool = False
    shown: tuple[Shown, ...] = ()
    locations: tuple[Location, ...] = ()
    raw_output: Any = None
    plan: tuple[PlanEntry, ...] | None = None
    seen: tuple[FileSeen, ...] = ()
    stop_turn: bool = False
    say: str = ""
    final: str = ""
    cost: float = 0.0
    usage: Usage = NO_USAGE


class PreparedCall(Protocol):
    """A call that was looked at but not run: what it will touch and what it will change."""

    @property
    def access(self) -> Access: ...

    @property
    def shown(self) -> tuple[Shown, ...]:
        """What the permission request shows: the diff that will be applied, for instance."""
        ...

    @property
    def locations(self) -> tuple[Location, ...]: ...

    def run(self) -> AsyncIterator[ToolProgress | ToolOutcome]:
        """Run it: any number of ToolProgress, then one ToolOutcome.

        Checks again that what `prepare` saw still holds. Raises ToolError. Cancelling ends it and what it started.
        """
        ...


class Tool(Protocol):
    """A server tool of one session."""

    @property
    def spec(self) -> ToolSpec: ...

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        """Keys (real paths) that calls must not share at one time; calls with a common key run in call order."""
        ...

    async def prepare(self, call_id: str, arguments: JsonObject) -> PreparedCall:
        """Look at a call whose arguments fit the schema, without any effect. Raises ToolError."""
        ...


class Toolbox(PromptSource, Protocol):
    """The server tools of one session and what they keep alive; and the prompts of its servers."""

    def tools(self) -> Sequence[Tool]:
        """The tools there are now."""
        ...

    async def ready(self) -> None:
        """Wait, within limits, for tools that are still on their way."""
        ...

    async def close(self) -> None:
        """Ends every process the session's tools started."""
        ...


# ---------------------------------------------------------------- editor


class Choice(StrEnum):
    """The answer to a permission question; only the ALLOW ones run the call."""

    ALLOW_ONCE = "allow_once"
    ALLOW_ALWAYS = "allow_always"
    REJECT_ONCE = "reject_once"
    REJECT_ALWAYS = "reject_always"
    CANCELLED = "cancelled"


@frozen
class PermissionAsk:
    """`rule` is what allow_always or reject_always would store, for the option's label; where it is empty nothing
    lasting can be answered, and only allow_once and reject_once are offered. `subagent` says that a subagent wants to
    make the call, of which the editor has not heard."""

    call: ToolUse
    shown: tuple[Shown, ...]
    locations: tuple[Location, ...]
    reason: str
    rule: str
    subagent: bool = False


@frozen
class EditorCapabilities:
    read_text: bool = False
    write_text: bool = False
    terminal: bool = False
    questions: bool = False


@frozen
class TerminalOutput:
    """`exit_code` is None while it runs or when a signal ended it (then `signal` is set)."""

    text: str
    truncated: bool
    finished: bool
    exit_code: int | None = None
    signal: str = ""


@frozen
class FormAnswer:
    """What the user did with a form: `action` is accept, decline or cancel; `content` has its fields."""

    action: str
    content: JsonObject


class EditorError(Exception):
    """The editor refused or could not answer; `code` is its JSON-RPC error code, 0 for a time-out."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class Editor(Protocol):
    """The editor behind a session. Methods other than ask_permission are called only where offered.

    File and terminal requests have a time limit; permission and wait_terminal end by answer or cancel.
    """

    @property
    def capabilities(self) -> EditorCapabilities: ...

    async def ask_permission(self, session_id: str, ask: PermissionAsk) -> Choice: ...

    def retitled(self, session_id: str, title: str) -> None:
        """The session has another title, which came when no turn was running. Does not wait."""
        ...

    async def ask_user(self, session_id: str, call_id: str, question: str, choices: Sequence[str]) -> str | None:
        """The user's answer, one of `choices` if there are any; None when they do not answer. Raises EditorError.

        `call_id` is empty where no tool call is the cause.
        """
        ...

    async def ask_form(self, session_id: str, message: str, fields: JsonObject) -> FormAnswer:
        """Have the user fill in a form for somebody else; `fields` is a flat JSON schema of type object.

        Called only where questions are offered. Raises EditorError, also for fields that no form can have.
        """
        ...

    async def mcp_request(
        self, server_id: str, method: str, params: JsonObject, heard: Callable[[str, JsonObject], None]
    ) -> JsonObject:
        """A request to an MCP server in the editor; `heard` gets the notifications (method, params) that belong to it.

        Raises EditorError, with the server's own error code where it answered with an error.
        """
        ...

    def frontend_tools(self, session_id: str) -> Sequence[FrontendTool]:
        """The tools that the editor offers to this session now."""
        ...

    def call_tool(
        self, session_id: str, call_id: str, message_id: str, name: str, arguments: JsonObject
    ) -> AsyncGenerator[ToolProgress | FrontendAnswer, None]:
        """Have the editor run one of its tools: any progress, then its answer. Raises EditorError.

        Cancelling it withdraws the request; it ends by answer, cancel, disconnect, or the configured time limit.
        """
        ...

    async def read_text(self, session_id: str, path: str) -> str:
        """The whole text of a file as the editor has it, unsaved changes included. Raises EditorError."""
        ...

    async def write_text(self, session_id: str, path: str, content: str) -> None: ...

    async def create_terminal(
        self, session_id: str, command: str, cwd: str, env: Mapping[str, str], output_limit: int
    ) -> str: ...

    async def terminal_output(self, session_id: str, terminal_id: str) -> TerminalOutput: ...

    async def wait_terminal(self, session_id: str, terminal_id: str) -> TerminalOutput: ...

    def end_terminal(self, session_id: str, terminal_id: str, *, kill: bool) -> None:
        """Release it, after a kill if asked; does not wait."""
        ...


# ---------------------------------------------------------------- inspectors


@frozen
class Inspection:
    """What inspectors judge: a call and what it will touch, in which mode and inside which roots (real paths).

    The first of `roots` is the session's directory. `rules` are the answers stored for it. `task` is the text of the
    session's first prompt, `said` that of its last four. `so_far` is the verdict of the inspectors that came before.
    """

    session_id: str
    call: ToolUse
    spec: ToolSpec
    access: Access
    mode: Mode
    roots: tuple[str, ...]
    rules: tuple[Rule, ...]
    task: str = ""
    said: tuple[str, ...] = ()
    so_far: Verdict = ALLOW


class Inspector(Protocol):
    @property
    def name(self) -> str: ...

    async def inspect(self, inspection: Inspection) -> Verdict:
        """What it says of the call. An error, or no answer for 30 seconds, counts as Ask."""
        ...
