"""session/fork (unstable): a new session that begins as a copy of another, up to a message or to its end."""

from quillback.edge.acp.commands import with_commands
from quillback.edge.acp.frontend_tools import declare_in_setup
from quillback.edge.acp.options import config_options, mode_state
from quillback.edge.connection import Connection, opened, servers_of
from quillback.session.fork import ForkError
from quillback_protocol import acp
from quillback_protocol.extensions import fork_at
from quillback_protocol.jsonrpc import INVALID_PARAMS, RpcError
from quillback_protocol.peer import Reply


async def handle(connection: Connection, request: acp.ForkSessionRequest) -> Reply:
    connection.check_configuration()
    servers = servers_of(connection, request.mcp_servers)
    through = fork_at(request.meta)
    forking = connection.sessions.fork(
        request.session_id, request.cwd, request.additional_directories, servers, through
    )
    try:
        session = await opened(forking)
    except ForkError as error:
        raise RpcError(INVALID_PARAMS, f"_meta: messageId: {error}") from None
    declare_in_setup(connection, session.record.id, request.meta)
    answer = acp.ForkSessionResponse(
        session.record.id, modes=mode_state(session), config_options=config_options(connection, session)
    )
    return with_commands(connection, session, answer)
