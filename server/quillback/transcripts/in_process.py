"""Quillback as the agent of a transcript, in this process: quicker than a new one, and open to a debugger."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from quillback.app import App
from quillback.config import Settings
from quillback.edge.serve import AcpServer
from quillback.session.registry import Sessions
from quillback.transcripts.link import Link

END_SECONDS = 4.0


@asynccontextmanager
async def in_process(settings: Settings) -> AsyncIterator[Link]:
    """The same server as `quillback acp`, behind real pipes. Its log is that of this process."""
    loop = asyncio.get_running_loop()
    (agent_in, to_agent), (from_agent, agent_out) = os.pipe(), os.pipe()
    link = Link(await _writer(loop, to_agent))
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_agent, "rb", buffering=0)
    )
    link.read(reader)
    serving = asyncio.create_task(_serve(settings, agent_in, agent_out))
    try:
        yield link
    finally:
        link.writer.close()
        try:
            await serving
        finally:
            os.close(agent_in)
            assert link.reading is not None
            await link.reading
            transport.close()


async def _serve(settings: Settings, stdin: int, stdout: int) -> None:
    app = App(settings)
    server = AcpServer(
        stdin,
        stdout,
        sessions=lambda editor: Sessions(app.services, app.defaults, editor),
        models=app.models.choices,
        problems=app.problems,
        parent=os.getppid(),
        frontend_seconds=settings.frontend_timeout,
    )
    try:
        await server.serve(None)
    finally:
        try:
            await server.wind_up(asyncio.get_running_loop().time() + END_SECONDS)
            await app.close()
        finally:
            os.close(stdout)


async def _writer(loop: asyncio.AbstractEventLoop, fd: int) -> asyncio.StreamWriter:
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(fd, "wb", buffering=0)
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)
