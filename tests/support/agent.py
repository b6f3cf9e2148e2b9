"""A real `quillback acp` process behind the headless client, checked for its manners while a test drives it.

    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await a.client.prompt(session, "[[fix]] please")

At the end every line of the agent must have been a JSON-RPC message in an order that ACP allows.
"""

import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from quillback_protocol.client import Client, choose
from support.manners import breaches

ARGV = [sys.executable, "-m", "quillback", "acp"]
KEY = "sk-ant-test-SECRET1"
Json = dict[str, Any]


class Agent:
    """`home` and `workspace` outlive the process, so that a second one can go on where it stopped."""

    def __init__(self, client: Client, workspace: Path) -> None:
        self.client = client
        self.workspace = workspace
        self.asked: list[Json] = []
        self.initialized: Json = {}

    async def session(self, cwd: Path | None = None, **more: object) -> str:
        answer = await self.client.new_session(cwd or self.workspace, **more)
        return str(answer["sessionId"])

    def answer_permissions(self, kind: str) -> None:
        """Every question is recorded in `asked` and answered with the option of this kind."""
        policy = choose(kind)

        async def answer(params: Json) -> object:
            self.asked.append(params)
            return await policy(params)

        self.client.on_request("session/request_permission", answer)

    def kill(self) -> None:
        """kill -9"""
        os.kill(self.pid, signal.SIGKILL)

    @property
    def pid(self) -> int:
        transport = self.client._process._transport
        assert transport is not None
        return int(transport.get_pid())


def environment(home: Path, base_url: str, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """What an editor would give it: nothing of the test run's own settings but PATH."""
    keep = {name: os.environ[name] for name in ("PATH", "LANG", "VIRTUAL_ENV") if name in os.environ}
    paths = os.pathsep.join(p for p in sys.path if p.endswith(("/server", "/protocol")))
    return {
        **keep,
        "HOME": str(home),
        "QUILLBACK_HOME": str(home / "quillback"),
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": base_url,
        **({"PYTHONPATH": paths} if paths else {}),
        **(more or {}),
    }


@asynccontextmanager
async def agent(
    tmp_path: Path,
    base_url: str = "http://127.0.0.1:9",
    *,
    env: Mapping[str, str] | None = None,
    capabilities: Json | None = None,
    permissions: str = "allow_once",
    initialize: bool = True,
    polite: bool = True,
) -> AsyncIterator[Agent]:
    """`polite=False` leaves the check of the wire to the test."""
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    home.mkdir(exist_ok=True)
    workspace.mkdir(exist_ok=True)
    async with Client.spawn(ARGV, cwd=workspace, env=environment(home, base_url, env)) as client:
        it = Agent(client, workspace)
        it.answer_permissions(permissions)
        if initialize:
            it.initialized = await client.initialize(capabilities)
        yield it
    if polite:
        assert breaches(client.log, capabilities or {}) == []


def scripted(tmp_path: Path, script: str) -> dict[str, str]:
    """The environment for a model that plays `script`."""
    path = tmp_path / "model.script"
    path.write_text(script)
    return {"QUILLBACK_MODEL": f"scripted:{path}"}


def processes(marker: str) -> list[int]:
    """The living processes whose command line or environment holds `marker`, this one apart."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def calls(updates: list[Json]) -> dict[str, Json]:
    """The tool calls of some updates as they stand at the end, each with `seen`: its statuses in order."""
    found: dict[str, Json] = {}
    for update in updates:
        if update["sessionUpdate"] not in ("tool_call", "tool_call_update"):
            continue
        call = found.setdefault(update["toolCallId"], {"seen": []})
        call.update({k: v for k, v in update.items() if k != "sessionUpdate"})
        if "status" in update:
            call["seen"].append(update["status"])
    return found


def texts(updates: list[Json], kind: str = "agent_message_chunk") -> dict[str, str]:
    """The text of each message of a kind, by message id, in order."""
    found: dict[str, str] = {}
    for update in updates:
        if update["sessionUpdate"] == kind and update["content"]["type"] == "text":
            found[update["messageId"]] = found.get(update["messageId"], "") + update["content"]["text"]
    return found


def result_of(call: Json) -> str:
    return "".join(c["content"]["text"] for c in call.get("content", []) if c["type"] == "content")
