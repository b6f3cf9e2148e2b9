"""session/new"""

from quillback.edge.acp.commands import with_commands
from quillback.edge.acp.frontend_tools import declare_in_setup
from quillback.edge.acp.options import config_options, mode_state
from quillback.edge.connection import Connection, opened, servers_of
from quillback_protocol import acp
from quillback_protocol.peer import Reply


async def handle(connection: Connection, request: acp.NewSessionRequest) -> Reply:
    connection.check_configuration()
    servers = servers_of(connection, request.mcp_servers)
    session = await opened(connection.sessions.new(request.cwd, request.additional_directories, servers))
    declare_in_setup(connection, session.record.id, request.meta)
    answer = acp.NewSessionResponse(
        session.record.id, modes=mode_state(session), config_options=config_options(connection, session)
    )
    return with_commands(connection, session, answer)
