"""session/prompt: the turn's events go out as updates; the answer comes after the last of them."""

from quillback.core.event import HistoryReplaced, SettingsChanged, StopReason, TurnCompleted, UsageChanged
from quillback.core.model import Failure
from quillback.core.text import one_line
from quillback.edge.acp.options import config_options
from quillback.edge.connection import Connection
from quillback.edge.convert import prompt_parts
from quillback.session.pipe import EventPipe
from quillback.session.session import BusyError, ClosedError, Session
from quillback_protocol import acp
from quillback_protocol.extensions import (
    HISTORY_REPLACED,
    HistoryReplacedNotification,
    PromptResult,
    TurnUsage,
    to_meta,
)
from quillback_protocol.jsonrpc import AUTH_REQUIRED, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RpcError

ERROR_LENGTH = 2_000
TEXT_LENGTH = 65_536
"""Characters of the last message that the answer repeats; the updates have had all of it."""
LOGIN_HELPS = {Failure.NO_CREDENTIALS.value, Failure.AUTHENTICATION.value}


async def handle(connection: Connection, request: acp.PromptRequest) -> acp.PromptResponse:
    session = connection.session(request.session_id)
    connection.advertising.before_prompt(session)
    try:
        pipe = session.submit(prompt_parts(request.prompt))
    except ValueError as error:
        raise RpcError(INVALID_PARAMS, f"prompt: {error}") from None
    except (BusyError, ClosedError) as error:
        raise RpcError(INVALID_REQUEST, str(error)) from None
    connection.prompts[id(request)] = session, pipe
    try:
        completed = await _show(connection, session, pipe)
    except Exception:
        # what cannot be shown must not go on unseen
        session.withdraw(pipe)
        await _completed(pipe)
        raise
    finally:
        pipe.never_full()
        del connection.prompts[id(request)]
        connection.advertising.after_prompt(session)
    return _answer(connection, completed)


async def _show(connection: Connection, session: Session, pipe: EventPipe) -> TurnCompleted:
    """Send the turn's updates; its last event."""
    session_id, view = session.record.id, connection.view()
    completed = TurnCompleted(StopReason.CANCELLED)
    async for event in pipe:
        await connection.show(session_id, view.live(event))
        match event:
            case TurnCompleted():
                completed = event
            case SettingsChanged():
                options = acp.ConfigOptionUpdate(config_options(connection, session))
                await connection.show(session_id, [acp.CurrentModeUpdate(session.record.mode.value), options])
            case HistoryReplaced(hidden_through=hidden, summary_id=summary) if connection.history_replaced:
                told = HistoryReplacedNotification(session_id, hidden, summary)
                connection.peer.notify(HISTORY_REPLACED, told)
            case UsageChanged():
                connection.advertising.at_a_break(session)
            case _:
                pass
    return completed


async def _completed(pipe: EventPipe) -> None:
    async for _ in pipe:
        pass


def withdraw(connection: Connection, request: acp.PromptRequest | None) -> None:
    """`$/cancel_request` of a prompt: like a cancel of this prompt alone; it is answered `cancelled`."""
    running = connection.prompts.get(id(request))
    if running is not None:
        session, pipe = running
        session.withdraw(pipe)


def _answer(connection: Connection, completed: TurnCompleted) -> acp.PromptResponse:
    if completed.error:
        login = completed.error_kind in LOGIN_HELPS and connection.auth_methods
        code = AUTH_REQUIRED if login else INTERNAL_ERROR
        raise RpcError(
            code,
            one_line(completed.error, ERROR_LENGTH),
            {"kind": completed.error_kind, "details": one_line(completed.error, ERROR_LENGTH)},
        )
    usage = TurnUsage(completed.input_tokens, completed.output_tokens, completed.cost)
    text = completed.text
    result = PromptResult(
        completed.message_id,
        text[:TEXT_LENGTH],
        usage,
        truncated=len(text) > TEXT_LENGTH,
        refused=completed.refused,
    )
    return acp.PromptResponse(acp.StopReason(completed.stop_reason.value), meta=to_meta(result))
