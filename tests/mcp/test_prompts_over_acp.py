"""Prompts of a server inside the editor, over the editor's own connection."""

import asyncio
from pathlib import Path

import pytest
from attrs import define, field

from quillback.core.mcp_server import AcpServer
from quillback.core.message import Text
from quillback.core.ports import EditorCapabilities, EditorError
from quillback.core.prompts import PromptArgument, PromptError
from quillback.mcp.manager import McpToolbox
from support.processes import until

pytestmark = pytest.mark.anyio
LISTENING = "subscriptions/listen"


@define
class InnerEditor:
    """Answers for the server; `heard` are those who listen for changes."""

    capabilities: EditorCapabilities = field(factory=EditorCapabilities)
    prompts: list[object] = field(factory=list)
    asked: list[tuple[str, dict]] = field(factory=list)
    heard: list = field(factory=list)

    async def mcp_request(self, server_id, method, params, heard):
        self.asked.append((method, params))
        match method:
            case "server/discover":
                return {"capabilities": {"tools": {}, "prompts": {"listChanged": True}}}
            case "tools/list":
                return {"tools": []}
            case "prompts/list":
                return {"prompts": self.prompts}
            case "prompts/get" if params["name"] == "broken":
                raise EditorError("no buffer is open", -32000)
            case "prompts/get":
                said = {"type": "text", "text": f"Explain {params['arguments']}"}
                return {"messages": [{"role": "user", "content": said}]}
            case "subscriptions/listen":
                self.heard.append(heard)
                await asyncio.Event().wait()
        raise EditorError("no such method", -32601)


async def test_prompts_are_listed_asked_for_and_change(tmp_path: Path):
    editor = InnerEditor()
    editor.prompts = [{"name": "explain", "arguments": [{"name": "what", "required": True}]}, {"name": "broken"}, 7]
    box = McpToolbox(
        [AcpServer("editor", "id-1")],
        session_id="s",
        cwd=tmp_path,
        outputs=tmp_path / "outputs",
        on_notice=lambda _: None,
        editor=editor,
    )
    changes = []
    box.on_prompts(lambda: changes.append([p.name for p in box.prompts()]))
    box.start()
    try:
        await box.ready(5)
        broken, explain = box.prompts()
        assert (broken.name, explain.name) == ("editor:broken", "editor:explain")
        assert explain.arguments == (PromptArgument("what", "", required=True),)
        assert await explain.parts({"what": "this"}) == (Text("Explain {'what': 'this'}"),)
        with pytest.raises(PromptError, match="no buffer is open"):
            await broken.parts({})
        assert await until(lambda: editor.heard, 5)
        wanted = next(params["notifications"] for method, params in editor.asked if method == LISTENING)
        assert wanted["promptsListChanged"] is True
        editor.prompts = [{"name": "fresh"}]
        editor.heard[0]("notifications/prompts/list_changed", {})
        assert await until(lambda: changes[-1] == ["editor:fresh"], 5)
    finally:
        await box.close()
    assert changes[-1] == []
