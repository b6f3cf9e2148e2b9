"""The editor of a session, as the session knows it: each request is made only where the client offered it."""

import asyncio
import logging
from collections.abc import Mapping
from typing import TypeVar

from quillback.core.ports import Choice, EditorCapabilities, EditorError, PermissionAsk, TerminalOutput
from quillback.edge.convert import contents, locations, raw_input
from quillback_protocol import acp
from quillback_protocol.converter import structure
from quillback_protocol.jsonrpc import REQUEST_CANCELLED, RpcError
from quillback_protocol.outgoing import ConnectionClosedError, RemoteError
from quillback_protocol.peer import Peer

REQUEST_SECONDS = 30.0
RULE_LENGTH = 60
log = logging.getLogger(__name__)
T = TypeVar("T")


class AcpEditor:
    """Implements the Editor port over a Peer. `capabilities` are set when the client initializes."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._capabilities = EditorCapabilities()
        self._background: set[asyncio.Task[None]] = set()

    @property
    def capabilities(self) -> EditorCapabilities:
        return self._capabilities

    def offered(self, client: acp.ClientCapabilities) -> None:
        self._capabilities = EditorCapabilities(client.fs.read_text_file, client.fs.write_text_file, client.terminal)

    # ------------------------------------------------------------ permission

    async def ask_permission(self, session_id: str, ask: PermissionAsk) -> Choice:
        """Anything but an offered option rejects: an error, an option never offered, a lost connection."""
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
            log.warning("permission question of %s: %s", ask.call.name, error)
            return Choice.CANCELLED if error.code == REQUEST_CANCELLED else Choice.REJECT_ONCE
        match answer.outcome:
            case acp.CancelledPermissionOutcome():
                return Choice.CANCELLED
            case acp.SelectedPermissionOutcome(option_id=option_id):
                offered = {o.option_id for o in options}
                return Choice(option_id) if option_id in offered else Choice.REJECT_ONCE

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
            raise EditorError(f"the editor's answer to {method} is odd: {error.message}", error.code) from None

    async def _send(self, method: str, request: acp.Base, seconds: float | None) -> object:
        """The raw result: some clients answer null, an empty list or a string where an object is due."""
        try:
            return await self._peer.request(method, request, timeout=seconds)
        except RemoteError as error:
            raise EditorError(f"the editor refused {method}: {error.message}", error.code) from None
        except TimeoutError:
            raise EditorError(f"the editor did not answer {method} within {seconds:.0f} s") from None
        except ConnectionClosedError:
            raise EditorError("the editor is gone") from None


def permission_options(ask: PermissionAsk) -> tuple[acp.PermissionOption, ...]:
    rule = ask.rule if len(ask.rule) <= RULE_LENGTH else ask.rule[: RULE_LENGTH - 1] + "…"
    rule = " ".join(rule.split())
    return (
        acp.PermissionOption("allow_once", "Allow", acp.PermissionOptionKind.ALLOW_ONCE),
        acp.PermissionOption("allow_always", f"Always allow {rule}", acp.PermissionOptionKind.ALLOW_ALWAYS),
        acp.PermissionOption("reject_once", "Reject", acp.PermissionOptionKind.REJECT_ONCE),
        acp.PermissionOption("reject_always", f"Always reject {rule}", acp.PermissionOptionKind.REJECT_ALWAYS),
    )
