"""The editor of a session, as the session knows it: each request is made only where the client offered it."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TypeVar

from quillback.core.frontend import FrontendAnswer, FrontendTool
from quillback.core.message import JsonObject
from quillback.core.ports import (
    Choice,
    EditorCapabilities,
    EditorError,
    FormAnswer,
    PermissionAsk,
    TerminalOutput,
    ToolProgress,
)
from quillback.core.validate import check
from quillback.edge.convert import contents, locations, raw_input
from quillback.edge.frontend import FrontendCalls
from quillback.edge.mcp_over_acp import McpMessages
from quillback_protocol import acp
from quillback_protocol.converter import structure
from quillback_protocol.extensions import FRONTEND_CALL, MCP_MESSAGE, FrontendCallRequest, McpMessage
from quillback_protocol.framing import EncodeError
from quillback_protocol.jsonrpc import REQUEST_CANCELLED, RpcError
from quillback_protocol.outgoing import ConnectionClosedError, RemoteError
from quillback_protocol.peer import Peer

REQUEST_SECONDS = 30.0
RULE_LENGTH = 60
log = logging.getLogger(__name__)
T = TypeVar("T")


class AcpEditor:
    """Implements the Editor port over a Peer. `capabilities` are set when the client initializes.

    `frontend_seconds` limits a call of a frontend tool; None is no limit.
    """

    def __init__(self, peer: Peer, frontend_seconds: float | None = None) -> None:
        self._peer = peer
        self._capabilities = EditorCapabilities()
        self._background: set[asyncio.Task[None]] = set()
        self._frontend_seconds = frontend_seconds
        self._declared: tuple[FrontendTool, ...] = ()
        self._session_tools: dict[str, tuple[FrontendTool, ...]] = {}
        self.calls = FrontendCalls(self._call_frontend)
        self.mcp = McpMessages(self._send_mcp)

    @property
    def capabilities(self) -> EditorCapabilities:
        return self._capabilities

    def offered(self, client: acp.ClientCapabilities) -> None:
        elicitation = client.elicitation
        self._capabilities = EditorCapabilities(
            read_text=client.fs.read_text_file,
            write_text=client.fs.write_text_file,
            terminal=client.terminal,
            questions=elicitation is not None and elicitation.form is not None,
        )

    # ------------------------------------------------------------ frontend tools

    def declare(self, tools: tuple[FrontendTool, ...], session_id: str | None = None) -> None:
        """The editor's tools from now on: of one session, or of all that have no list of their own."""
        if session_id is None:
            self._declared = tools
        else:
            self._session_tools[session_id] = tools

    def forget(self, session_id: str) -> None:
        """The session was closed: its own list of tools goes with it."""
        self._session_tools.pop(session_id, None)

    def frontend_tools(self, session_id: str) -> tuple[FrontendTool, ...]:
        return self._session_tools.get(session_id, self._declared)

    def call_tool(
        self, session_id: str, call_id: str, message_id: str, name: str, arguments: JsonObject
    ) -> AsyncGenerator[ToolProgress | FrontendAnswer, None]:
        return self.calls.run(FrontendCallRequest(session_id, call_id, message_id, name, arguments))

    async def _call_frontend(self, request: FrontendCallRequest) -> object:
        return await self._send(FRONTEND_CALL, request, self._frontend_seconds)

    # ------------------------------------------------------------ questions

    async def ask_user(self, session_id: str, call_id: str, question: str, choices: Sequence[str]) -> str | None:
        answer_field = acp.StringPropertySchema(title="Answer", enum=tuple(choices) or None)
        form = acp.ElicitationSchema(properties={"answer": answer_field}, required=("answer",))
        request = acp.FormElicitation(question, form, session_id=session_id, tool_call_id=call_id or None)
        raw = await self._send("elicitation/create", request, None)
        match raw:
            case {"action": "accept", "content": {"answer": str(answer)}} if not choices or answer in choices:
                return answer
            case {"action": "decline" | "cancel"}:
                return None
            case _:
                raise odd("elicitation/create", "neither an answer to the question nor a refusal")

    async def ask_form(self, session_id: str, message: str, fields: JsonObject) -> FormAnswer:
        try:
            form = structure(acp.ElicitationSchema, dict(fields))
        except RpcError as error:
            raise EditorError(f"this is no form: {error.message}", error.code) from None
        raw = await self._send("elicitation/create", acp.FormElicitation(message, form, session_id=session_id), None)
        match raw:
            case {"action": "accept", "content": dict() as content}:
                if problem := check(content, fields):
                    raise EditorError(f"the answer does not fit the form: {problem}")
                return FormAnswer("accept", content)
            case {"action": "accept"} if not form.required:
                return FormAnswer("accept", {})
            case {"action": "decline" | "cancel" as action}:
                return FormAnswer(action, {})
            case _:
                raise odd("elicitation/create", "neither the form nor a refusal")

    # ------------------------------------------------------------ MCP servers in the editor

    async def mcp_request(
        self, server_id: str, method: str, params: JsonObject, heard: Callable[[str, JsonObject], None]
    ) -> JsonObject:
        return await self.mcp.request(server_id, method, params, heard)

    async def _send_mcp(self, message: McpMessage) -> object:
        return await self._send(MCP_MESSAGE, message, None)

    # ------------------------------------------------------------ permission

    async def ask_permission(self, session_id: str, ask: PermissionAsk) -> Choice:
        """Raises EditorError where nobody has chosen: an error, an option never offered, a lost connection.

        A subagent's call is shown as one of the session for as long as the question is open.
        """
        if not ask.subagent:
            return await self._ask_permission(session_id, ask)
        self._update(session_id, call_of(ask))
        status, note = acp.ToolCallStatus.FAILED, "not allowed"
        try:
            choice = await self._ask_permission(session_id, ask)
            if choice in (Choice.ALLOW_ONCE, Choice.ALLOW_ALWAYS):
                status, note = acp.ToolCallStatus.COMPLETED, "allowed; the subagent goes on"
            return choice
        finally:
            said = acp.Content(acp.TextContent(note))
            self._update(session_id, acp.ToolCallUpdate(ask.call.id, status=status, content=(said,)))

    async def _ask_permission(self, session_id: str, ask: PermissionAsk) -> Choice:
        options = permission_options(ask)
        shown = contents(ask.shown)
        if ask.reason:
            shown = (*shown, acp.Content(acp.TextContent(f"Asked because {ask.reason}.")))
        call = acp.ToolCallUpdate(
            ask.call.id,
            kind=acp.ToolKind(ask.call.kind.value),
            status=acp.ToolCallStatus.PENDING,
            title=ask.call.title or ask.call.name,
            name=ask.call.name,
            content=shown,
            locations=locations(ask.locations),
            raw_input=raw_input(ask.call),
        )
        request = acp.RequestPermissionRequest(session_id, call, options)
        try:
            answer = await self._call("session/request_permission", request, acp.RequestPermissionResponse, None)
        except EditorError as error:
            if error.code == REQUEST_CANCELLED:
                return Choice.CANCELLED
            log.warning("permission question of %s: %s", ask.call.name, error)
            raise
        match answer.outcome:
            case acp.CancelledPermissionOutcome():
                return Choice.CANCELLED
            case acp.SelectedPermissionOutcome(option_id=option_id):
                if option_id not in {o.option_id for o in options}:
                    raise odd("session/request_permission", "no option that was offered")
                return Choice(option_id)

    # ------------------------------------------------------------ updates

    def retitled(self, session_id: str, title: str) -> None:
        self._update(session_id, acp.SessionInfoUpdate(title=title))

    def _update(self, session_id: str, update: acp.SessionUpdate) -> None:
        try:
            self._peer.notify("session/update", acp.SessionNotification(session_id, update))
        except EncodeError:
            log.exception("%s has no JSON form", type(update).__name__)

    # ------------------------------------------------------------ files

    async def read_text(self, session_id: str, path: str) -> str:
        request = acp.ReadTextFileRequest(session_id, path)
        return (await self._call("fs/read_text_file", request, acp.ReadTextFileResponse, REQUEST_SECONDS)).content

    async def write_text(self, session_id: str, path: str, content: str) -> None:
        request = acp.WriteTextFileRequest(session_id, path, content)
        await self._send("fs/write_text_file", request, REQUEST_SECONDS)

    # ------------------------------------------------------------ terminals

    async def create_terminal(
        self, session_id: str, command: str, cwd: str, env: Mapping[str, str], output_limit: int
    ) -> str:
        variables = tuple(acp.EnvVariable(name, value) for name, value in env.items())
        request = acp.CreateTerminalRequest(session_id, command, env=variables, cwd=cwd, output_byte_limit=output_limit)
        answer = await self._call("terminal/create", request, acp.CreateTerminalResponse, REQUEST_SECONDS)
        return answer.terminal_id

    async def terminal_output(self, session_id: str, terminal_id: str) -> TerminalOutput:
        request = acp.TerminalOutputRequest(session_id, terminal_id)
        answer = await self._call("terminal/output", request, acp.TerminalOutputResponse, REQUEST_SECONDS)
        status = answer.exit_status
        return TerminalOutput(
            answer.output,
            answer.truncated,
            finished=status is not None,
            exit_code=status.exit_code if status else None,
            signal=(status.signal or "") if status else "",
        )

    async def wait_terminal(self, session_id: str, terminal_id: str) -> TerminalOutput:
        request = acp.WaitForTerminalExitRequest(session_id, terminal_id)
        await self._call("terminal/wait_for_exit", request, acp.WaitForTerminalExitResponse, None)
        return await self.terminal_output(session_id, terminal_id)

    def end_terminal(self, session_id: str, terminal_id: str, *, kill: bool) -> None:
        task = asyncio.ensure_future(self._end_terminal(session_id, terminal_id, kill=kill))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _end_terminal(self, session_id: str, terminal_id: str, *, kill: bool) -> None:
        try:
            if kill:
                await self._send("terminal/kill", acp.KillTerminalRequest(session_id, terminal_id), REQUEST_SECONDS)
            await self._send("terminal/release", acp.ReleaseTerminalRequest(session_id, terminal_id), REQUEST_SECONDS)
        except EditorError as error:
            log.warning("ending terminal %s: %s", terminal_id, error)

    # ------------------------------------------------------------ requests

    async def _call(self, method: str, request: acp.Base, answer: type[T], seconds: float | None) -> T:
        result = await self._send(method, request, seconds)
        try:
            return structure(answer, result)
        except RpcError as error:
            raise odd(method, error.message, error.code) from None

    async def _send(self, method: str, request: acp.Base, seconds: float | None) -> object:
        """The raw result: some clients answer null, an empty list or a string where an object is due."""
        return await asked(self._peer, method, request, seconds)


async def asked(peer: Peer, method: str, params: object, seconds: float | None) -> object:
    """The editor's answer to a request; its failures as EditorError. Without `seconds` it may take any time."""
    try:
        return await peer.request(method, params, timeout=seconds)
    except RemoteError as error:
        raise EditorError(f"the editor refused {method}: {error.message}", error.code) from None
    except TimeoutError:
        raise EditorError(f"the editor did not answer {method} within {seconds:g} s") from None
    except ConnectionClosedError:
        raise EditorError("the editor is gone") from None


def call_of(ask: PermissionAsk) -> acp.ToolCall:
    """The call of a question, for an editor that does not know it."""
    return acp.ToolCall(
        ask.call.id,
        ask.call.title or ask.call.name,
        name=ask.call.name,
        kind=acp.ToolKind(ask.call.kind.value),
        status=acp.ToolCallStatus.PENDING,
        locations=locations(ask.locations),
    )


def odd(method: str, why: str, code: int = 0) -> EditorError:
    return EditorError(f"the editor's answer to {method} is odd: {why}", code)


def permission_options(ask: PermissionAsk) -> tuple[acp.PermissionOption, ...]:
    allow = acp.PermissionOption("allow_once", "Allow", acp.PermissionOptionKind.ALLOW_ONCE)
    reject = acp.PermissionOption("reject_once", "Reject", acp.PermissionOptionKind.REJECT_ONCE)
    if not ask.rule:
        return allow, reject
    rule = ask.rule if len(ask.rule) <= RULE_LENGTH else ask.rule[: RULE_LENGTH - 1] + "…"
    rule = " ".join(rule.split())
    return (
        allow,
        acp.PermissionOption("allow_always", f"Always allow {rule}", acp.PermissionOptionKind.ALLOW_ALWAYS),
        reject,
        acp.PermissionOption("reject_always", f"Always reject {rule}", acp.PermissionOptionKind.REJECT_ALWAYS),
    )
