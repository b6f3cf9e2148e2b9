"""An editor with three tools of its own: one that only reads, one that is slow and reports progress, and one in place
of read_file.

    async with demo(tmp_path, fake.base_url) as (a, editor):
        ...
        editor.answers["editor_selection"] = {"content": [...]}
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.agent import Agent, agent
from support.processes import until

Json = dict[str, Any]
CALL = "_quillback/tool/call"
PROGRESS = "_quillback/tool/progress"
SET = "_quillback/frontend_tools/set"


def tool(name: str, description: str = "does it", **more: object) -> Json:
    """A declaration; its schema takes any object."""
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}


PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
SELECTION = tool("selection", "What the user has selected", readOnly=True, kind="read", title="Read the selection")
BUILD = tool("build", "Builds the project in the editor", kind="execute", title="Build")
OPEN_BUFFER = tool("read_buffer", "Reads a file as it is in the editor", inputSchema=PATH, replaces="read_file")
OPEN_BUFFER |= {"kind": "read", "title": "Read buffer"}
TOOLS = [SELECTION, BUILD, OPEN_BUFFER]


def declaring(*tools: object, **more: object) -> Json:
    """The `_meta` that declares tools."""
    return {"quillback.dev": {"frontendTools": list(tools), **more}}


def text(*texts: str) -> Json:
    return {"content": [{"type": "text", "text": t} for t in texts]}


class DemoEditor:
    """`calls` are those it got, in order. `answers` are by tool: a value, an exception, or a function of the call.

    A call of a tool in `held` is answered once the test lets it go; `withdrawn` names the tools of calls that were
    cancelled. A `stubborn` editor answers those as well, late.
    """

    def __init__(self, a: Agent) -> None:
        self.calls: list[Json] = []
        self.answers: dict[str, object] = {}
        self.held: dict[str, asyncio.Event] = {}
        self.withdrawn: list[str] = []
        self.stubborn = False
        self._a = a
        a.client.on_request(CALL, self._called)

    def hold(self, name: str) -> asyncio.Event:
        """Calls of the tool wait from now on until the event is set."""
        self.held[name] = asyncio.Event()
        return self.held[name]

    async def called(self, name: str, times: int = 1) -> Json:
        """The call of a tool, once it is there."""

        def found() -> list[Json]:
            return [c for c in self.calls if c["name"] == name]

        assert await until(lambda: len(found()) >= times, 15), f"{name} was not called"
        return found()[times - 1]

    def progress(self, call: Json, message: str, **more: object) -> None:
        told = {"sessionId": call["sessionId"], "toolCallId": call["toolCallId"], "message": message, **more}
        self._a.client.notify(PROGRESS, told)

    def answer_again(self, call: Json, answer: object) -> None:
        """Answer a call's request once more, past the client's own bookkeeping."""
        sent = (m for way, m in self._a.client.log if way == "<-" and isinstance(m, dict) and m.get("params") == call)
        self._a.client._process.write({"jsonrpc": "2.0", "id": next(sent)["id"], "result": answer})

    def declare(self, *tools: object, session: str | None = None) -> None:
        self._a.client.notify(SET, {"tools": list(tools), **({"sessionId": session} if session else {})})

    async def _called(self, call: Json) -> object:
        self.calls.append(call)
        while (gate := self.held.get(call["name"])) is not None and not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                self.withdrawn.append(call["name"])
                if not self.stubborn:
                    raise
        answer = self.answers.get(call["name"], self._usual)
        if isinstance(answer, Exception):
            raise answer
        return answer(call) if callable(answer) else answer

    def _usual(self, call: Json) -> Json:
        match call["name"]:
            case "selection":
                return text("def chosen(): ...")
            case "build":
                return text("built")
            case "read_buffer":
                return text((self._a.workspace / call["arguments"]["path"]).read_text())
            case name:
                return text(f"{name} done")


@asynccontextmanager
async def demo(
    tmp_path: Path,
    base_url: str,
    *,
    tools: list[Any] | None = None,
    capabilities: Json | None = None,
    env: Mapping[str, str] | None = None,
    **more: Any,
) -> AsyncIterator[tuple[Agent, DemoEditor]]:
    """An agent whose client declares `tools` (the three above, if not said) when it initializes."""
    offers = {**(capabilities or {}), "_meta": declaring(*(TOOLS if tools is None else tools))}
    async with agent(tmp_path, base_url, env=env, capabilities=offers, initialize=False, **more) as a:
        editor = DemoEditor(a)
        a.initialized = await a.client.initialize(offers)
        yield a, editor
