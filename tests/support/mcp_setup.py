"""MCP servers for sessions under test, in the words of session setup."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

from support import mcp_http, mcp_server
from support.processes import until

Json = dict[str, Any]


@frozen
class StdioSetup:
    """A server of `mcp_server`; what it notes is in `log`."""

    name: str
    mode: str
    log: Path
    env: dict[str, str]

    @property
    def setup(self) -> Json:
        args = ["-I", "-S", mcp_server.__file__, self.mode, str(self.log)]
        env = [{"name": name, "value": value} for name, value in self.env.items()]
        return {"name": self.name, "command": sys.executable, "args": args, "env": env}

    def noted(self, key: str) -> list[Any]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [entry[key] for line in lines if key in (entry := json.loads(line))]

    def kill(self) -> None:
        """kill -9 of the one that was started last."""
        os.kill(self.noted("start")[-1], signal.SIGKILL)


def stdio(tmp_path: Path, name: str, mode: str = "tools", **env: str) -> StdioSetup:
    return StdioSetup(name, mode, tmp_path / f"{name}.log", env)


class HttpSetup:
    """A server of `mcp_http` that can be killed and started again on its port."""

    def __init__(self, name: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        headers = [{"name": "x-token", "value": "let-me-in"}]
        url = f"http://127.0.0.1:{self.port}/mcp"
        self.setup = {"type": "http", "name": name, "url": url, "headers": headers}
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        command = [sys.executable, mcp_http.__file__, str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert await until(self._answers, 20)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@asynccontextmanager
async def http(name: str) -> AsyncIterator[HttpSetup]:
    server = HttpSetup(name)
    try:
        await server.start()
        yield server
    finally:
        await asyncio.to_thread(server.kill)
