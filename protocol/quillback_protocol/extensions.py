"""What Quillback adds to ACP, all of it inside the protocol's own extension points.

Objects live under the key `quillback.dev` of a spec object's `_meta`, methods start with `_quillback/`.
"""

import logging
from typing import Any

from attrs import field, frozen

from quillback_protocol.acp.base import LENIENT, STRICT, Base, JsonObject
from quillback_protocol.acp.content import ContentBlock
from quillback_protocol.acp.session import ForkSessionRequest, ForkSessionResponse
from quillback_protocol.acp.tool_call import ToolCallLocation
from quillback_protocol.converter import WireError, get_converter, unstructure
from quillback_protocol.methods import Direction, Kind, Method, agent_request, client_request, notification

META_KEY = "quillback.dev"
STEER = "_quillback/session/steer"
UNDO = "_quillback/session/undo"
AUDIT = "_quillback/audit"
FRONTEND_CALL = "_quillback/tool/call"
FRONTEND_PROGRESS = "_quillback/tool/progress"
SET_FRONTEND_TOOLS = "_quillback/frontend_tools/set"
HISTORY_REPLACED = "_quillback/session/history_replaced"
MCP_MESSAGE = "mcp/message"
FORK = "session/fork"
_FLAGS = ("messageIds", "historyReplaced", "mcpOverAcp")
log = logging.getLogger(__name__)


@frozen
class SteerRequest(Base):
    """Adds a user message to the running turn."""

    session_id: str
    prompt: tuple[ContentBlock, ...]


@frozen
class SteerResponse(Base):
    message_id: str


@frozen
class UndoRequest(Base):
    """Puts back what the latest turn that is not undone yet changed in files. Refused while a turn runs.

    With `after_message_id`, the id of any message that the client was shown, turns that began before it are left alone.
    """

    session_id: str
    after_message_id: str | None = field(default=None, metadata=STRICT)


@frozen
class LeftAlone(Base):
    """A file that an undo did not put back, and why."""

    path: str
    reason: str


@frozen
class UndoResponse(Base):
    """What came of it, with absolute paths; `text` says the same for the user. `message_id` is that of the turn's
    prompt, left out where there was nothing to undo."""

    text: str
    restored: tuple[str, ...] = field(default=(), metadata={"written": True})
    removed: tuple[str, ...] = field(default=(), metadata={"written": True})
    kept: tuple[LeftAlone, ...] = field(default=(), metadata={"written": True})
    message_id: str | None = None


@frozen
class HistoryReplacedNotification(Base):
    """For the model, one message stands for everything up to another; only for clients that declare it."""

    session_id: str
    hidden_through_message_id: str
    summary_message_id: str


@frozen
class FrontendToolDeclaration(Base):
    """A tool that the client runs itself. `replaces` names the server tool it stands in for."""

    name: str
    description: str
    input_schema: JsonObject
    title: str | None = None
    kind: str | None = None
    read_only: bool = False
    replaces: str | None = None


@frozen
class SetFrontendToolsNotification(Base):
    """The complete new list: of one session, or of every session that has none of its own. Raw, list or not."""

    tools: Any
    session_id: str | None = field(default=None, metadata=STRICT)


@frozen
class FrontendCallRequest(Base):
    """The client runs a tool of its own. `message_id` is the message that holds the call."""

    session_id: str
    tool_call_id: str
    message_id: str
    name: str
    arguments: JsonObject


@frozen
class FrontendCallResponse(Base):
    content: tuple[ContentBlock, ...] = field(default=(), metadata=STRICT)
    is_error: bool = field(default=False, metadata=STRICT)
    structured_content: Any = None
    locations: tuple[ToolCallLocation, ...] = ()


@frozen
class FrontendProgressNotification(Base):
    """What a running frontend tool has to show by now."""

    session_id: str
    tool_call_id: str
    content: tuple[ContentBlock, ...] = ()
    message: str | None = None


@frozen
class McpMessage(Base):
    """Unstable ACP: one MCP request of the agent to a server in the client, or a notification that belongs to one.

    The answer is `{"result": ...}` or `{"error": {code, message, data?}}` with what the server answered.
    """

    server_id: str
    request_id: str
    method: str
    params: JsonObject | None = None


@frozen
class AuditRequest(Base):
    """What was decided about the calls of a session, which need not be open."""

    session_id: str


@frozen
class AuditFinding(Base):
    """What one inspector said of a call. `verdict` is allow, ask or deny; `milliseconds` is the time it took.

    `rule` is the user's rule that it followed, `details` what it found, such as the hosts a command would talk to.
    """

    inspector: str
    verdict: str
    reason: str
    milliseconds: float
    rule: str | None = None
    details: tuple[str, ...] = ()


@frozen
class AuditEntry(Base):
    """One decision about a call. `decision` is allow or deny, `decided_by` inspectors, rule or user, `mode` the mode
    that the session was in.

    `at` is milliseconds since the epoch; `arguments` is JSON text, cut at 2,000 characters.
    """

    tool_call_id: str
    tool: str
    arguments: str
    decision: str
    decided_by: str
    mode: str
    at: int
    findings: tuple[AuditFinding, ...] = field(default=(), metadata={"written": True})


@frozen
class AuditResponse(Base):
    entries: tuple[AuditEntry, ...] = field(default=(), metadata={"written": True})


EXTENSION_METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        agent_request(STEER, SteerRequest, SteerResponse),
        agent_request(UNDO, UndoRequest, UndoResponse),
        agent_request(FORK, ForkSessionRequest, ForkSessionResponse),
        agent_request(AUDIT, AuditRequest, AuditResponse),
        notification(HISTORY_REPLACED, Direction.TO_CLIENT, HistoryReplacedNotification),
        client_request(FRONTEND_CALL, FrontendCallRequest, FrontendCallResponse),
        notification(FRONTEND_PROGRESS, Direction.TO_AGENT, FrontendProgressNotification),
        Method(MCP_MESSAGE, Direction.BOTH, Kind.REQUEST, McpMessage),
        notification(SET_FRONTEND_TOOLS, Direction.TO_AGENT, SetFrontendToolsNotification),
    )
}


@frozen
class ClientDeclaration:
    """In `clientCapabilities._meta`: what this client can do with our additions.

    `message_ids`: it tells messages apart by id, so nothing needs to be put between them on the wire.
    `mcp_over_acp`: it may hand over MCP servers of type `acp`. `history_replaced`: it wants the notification of that
    name. `session_fork`: it knows that sessions can be forked. `frontend_tools` are the tools it runs itself, raw, list
    or not.
    """

    message_ids: bool = False
    history_replaced: bool = False
    frontend_tools: Any = ()
    mcp_over_acp: bool = False
    session_fork: bool = False


@frozen
class Supersedes:
    """In a chunk's `_meta`: the ids of messages that a retry has replaced with the message that starts here."""

    supersedes: tuple[str, ...] = field(metadata=LENIENT)


@frozen
class TurnUsage:
    """Tokens of the whole turn; `cost` is US dollars."""

    input_tokens: int
    output_tokens: int
    cost: float | None = None


@frozen
class PromptResult:
    """In the `_meta` of a prompt's answer: the last message of the turn, `truncated` where its text is cut. `refused`
    says that a command was not carried out, or that a hook did not let the prompt through; the text says why."""

    message_id: str
    text: str
    usage: TurnUsage | None = None
    truncated: bool = False
    refused: bool = False


Addition = ClientDeclaration | Supersedes | PromptResult


def to_meta(addition: Addition, meta: JsonObject | None = None) -> JsonObject:
    """`meta` with our addition in it."""
    return {**(meta or {}), META_KEY: unstructure(addition)}


def client_declaration(meta: JsonObject | None) -> ClientDeclaration:
    """What the client declared; nothing, if it did not. What is in a form that cannot be read is logged."""
    raw = (meta or {}).get(META_KEY)
    if raw is None:
        return ClientDeclaration()
    try:
        declaration = get_converter().structure(raw, ClientDeclaration)
    except WireError as error:
        log.warning("%s in _meta: %s", META_KEY, error)
        return ClientDeclaration()
    for name in _FLAGS:
        if not isinstance(raw.get(name), bool | None):
            log.warning("%s of %s in _meta is neither true nor false", name, META_KEY)
    return declaration


def fork_at(meta: JsonObject | None) -> str:
    """The id of the message up to which session/fork copies, in the request's `_meta`; empty for all of them."""
    ours = (meta or {}).get(META_KEY)
    found = ours.get("messageId") if isinstance(ours, dict) else None
    return found if isinstance(found, str) else ""
