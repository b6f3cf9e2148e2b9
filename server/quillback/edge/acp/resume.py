"""session/resume: as session/load, without the replay."""

from quillback.edge.acp.commands import with_commands
from quillback.edge.acp.frontend_tools import declare_in_setup
from quillback.edge.acp.load import usage
from quillback.edge.acp.options import config_options, mode_state
from quillback.edge.connection import Connection, opened, servers_of
from quillback_protocol import acp
from quillback_protocol.peer import Reply


async def handle(connection: Connection, request: acp.ResumeSessionRequest) -> Reply:
    connection.check_configuration()
    servers = servers_of(connection, request.mcp_servers)
    opening = connection.sessions.open(request.session_id, request.cwd, request.additional_directories, servers)
    session = await opened(opening)
    declare_in_setup(connection, request.session_id, request.meta)
    await connection.show(request.session_id, usage(session))
    answer = acp.ResumeSessionResponse(modes=mode_state(session), config_options=config_options(connection, session))
    return with_commands(connection, session, answer)
