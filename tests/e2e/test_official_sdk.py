"""The official Python SDK as the client: its own models must accept everything that the agent sends."""

import asyncio
import logging
from contextlib import asynccontextmanager

import acp
import pytest
from acp import schema

from support.agent import ARGV, environment
from support.fake_model import FakeModel, Hang, Reply, Say, Think, Use

pytestmark = pytest.mark.anyio


class Editor(acp.Client):
    """Allows once what it is asked, and keeps the updates as the SDK's objects."""

    def __init__(self) -> None:
        self.updates: list[object] = []
        self.asked: list[schema.ToolCallUpdate] = []
        self.arrived = asyncio.Event()

    async def session_update(self, session_id: str, update: object, **_: object) -> None:
        self.updates.append(update)
        self.arrived.set()

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **_: object
    ) -> schema.RequestPermissionResponse:
        self.asked.append(tool_call)
        option = next(o.option_id for o in options if o.kind == "allow_once")
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=option))

    async def until(self, kind: type) -> None:
        async with asyncio.timeout(15):
            while not any(isinstance(u, kind) for u in self.updates):
                self.arrived.clear()
                await self.arrived.wait()

    def text(self) -> str:
        return "".join(u.content.text for u in self.updates if isinstance(u, schema.AgentMessageChunk))

    def of(self, kind: type) -> list:
        return [u for u in self.updates if isinstance(u, kind)]


@asynccontextmanager
async def connected(tmp_path, fake: FakeModel):
    (tmp_path / "workspace").mkdir(exist_ok=True)
    editor = Editor()
    env = environment(tmp_path, fake.base_url)
    async with acp.spawn_agent_process(editor, *ARGV, env=env, cwd=tmp_path / "workspace") as (agent, process):
        answer = await agent.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=schema.ClientCapabilities(),
            client_info=schema.Implementation(name="sdk", version="1"),
        )
        assert answer.protocol_version == acp.PROTOCOL_VERSION
        assert answer.agent_capabilities.load_session
        yield agent, editor
    assert process.returncode == 0


async def test_the_official_client_can_do_its_work(tmp_path, fake: FakeModel, caplog):
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/a.txt").write_text("one\n")
    edit = Use("edit_file", {"path": "a.txt", "old_text": "one", "new_text": "two"})
    plan = Use("todo_write", {"items": [{"content": "rest", "status": "pending"}]})
    fake.script(
        "a",
        Reply(Think("hm"), Say("Reading."), Use("read_file", {"path": "a.txt"}), plan),
        Reply(edit),
        Reply(Use("shell", {"command": "cat a.txt; false"}), Use("no_such", {})),
        Reply(Say("Done.", 3)),
    )
    fake.script("b", Reply(Say("waiting "), Hang()))
    cwd = str(tmp_path / "workspace")
    async with connected(tmp_path, fake) as (agent, editor):
        session = await agent.new_session(cwd=cwd, mcp_servers=[])
        assert session.modes.current_mode_id == "approve"
        answer = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block("[[a]] go")])
        assert answer.stop_reason == "end_turn"
        assert editor.text() == "Reading.Done."
        assert [call.kind for call in editor.asked] == ["edit", "execute"]
        assert editor.asked[0].content[0].new_text == "two\n"
        assert len(editor.of(schema.ToolCallStart)) == 5
        ends = [u.status for u in editor.of(schema.ToolCallProgress) if u.status in ("completed", "failed")]
        assert sorted(ends) == ["completed"] * 3 + ["failed"] * 2
        assert len(editor.of(schema.AgentPlanUpdate)) == 1
        assert editor.of(schema.UsageUpdate)
        assert (tmp_path / "workspace/a.txt").read_text() == "two\n"
        await agent.set_session_mode(session_id=session.session_id, mode_id="auto")
        await agent.set_config_option(session_id=session.session_id, config_id="thinking", value="low")
        listed = await agent.list_sessions(cwd=cwd)
        assert [s.session_id for s in listed.sessions] == [session.session_id]
        for kind in (schema.CurrentModeUpdate, schema.ConfigOptionUpdate, schema.SessionInfoUpdate):
            assert editor.of(kind), kind
        editor.updates.clear()
        waiting = asyncio.create_task(
            agent.prompt(session_id=session.session_id, prompt=[acp.text_block("[[b]]")]), name="prompt"
        )
        await editor.until(schema.AgentMessageChunk)
        await agent.cancel(session_id=session.session_id)
        assert (await asyncio.wait_for(waiting, 10)).stop_reason == "cancelled"
    async with connected(tmp_path, fake) as (agent, editor):
        loaded = await agent.load_session(cwd=cwd, session_id=session.session_id, mcp_servers=[])
        assert loaded.modes.current_mode_id == "auto"
        assert editor.text() == "Reading.Done.waiting "
        assert len(editor.of(schema.UserMessageChunk)) == 2
        assert len(editor.of(schema.ToolCallStart)) == 5
        with pytest.raises(acp.RequestError) as unknown:
            await agent.load_session(cwd=cwd, session_id="sess_nobody", mcp_servers=[])
        assert unknown.value.code == -32002
        await agent.close_session(session_id=session.session_id)
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []
