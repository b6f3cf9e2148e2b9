"""A real process whose pipes a test handles itself, byte by byte."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from support.agent import ARGV, environment

INITIALIZE = {"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {"protocolVersion": 1}}


class Pipe:
    """Lines of the process are read on demand only. `lines` holds what was read so far."""

    def __init__(self, process: asyncio.subprocess.Process, workspace: Path) -> None:
        self.process = process
        self.workspace = workspace
        self.lines: list[Any] = []

    async def send(self, *messages: Mapping[str, Any] | bytes) -> None:
        """Messages, or lines of bytes as they are, in one write."""
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
            self.process.stdin.write(line + b"\n")
        await self.process.stdin.drain()

    async def line(self, seconds: float = 20.0) -> Any:
        """The next line as JSON. Raises EOFError at the end of the output."""
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), seconds)
        if not line:
            raise EOFError
        self.lines.append(json.loads(line))
        return self.lines[-1]

    async def answer(self, request_id: object) -> dict[str, Any]:
        """Read on up to the answer of a request."""
        while True:
            message = await self.line()
            if "method" not in message and message.get("id") == request_id:
                return dict(message)

    async def session(self, request_id: object = "new") -> str:
        params = {"cwd": str(self.workspace), "mcpServers": []}
        await self.send(INITIALIZE, {"id": request_id, "method": "session/new", "params": params})
        return str((await self.answer(request_id))["result"]["sessionId"])

    def listen(self) -> None:
        """From now on read ahead what comes, and take long lines; until then next to nothing is read unasked."""
        assert self.process.stdout is not None
        self.process.stdout._limit = 1 << 26  # it has no public setter

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def ended(self, seconds: float = 15.0) -> int:
        """Wait for its end, taking what it still writes; the exit code."""
        with suppress(EOFError):
            while True:
                await self.line(seconds)
        return await asyncio.wait_for(self.process.wait(), seconds)


def prompt(session: str, text: str, request_id: object = "prompt") -> dict[str, Any]:
    params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
    return {"id": request_id, "method": "session/prompt", "params": params}


@asynccontextmanager
async def pipe(tmp_path: Path, base_url: str, **env: str) -> AsyncIterator[Pipe]:
    workspace, home = tmp_path / "workspace", tmp_path / "home"
    workspace.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        *ARGV,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=workspace,
        env=environment(home, base_url, env),
        limit=1 << 16,
    )
    try:
        yield Pipe(process, workspace)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()  # what nobody has read holds up the end of a pipe
        process._transport.close()  # else it warns when it is collected
