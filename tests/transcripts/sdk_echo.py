"""An agent made with the official Python SDK that says what it is told, in pieces, after it was allowed to."""

import asyncio

import acp
from acp import schema


class Echo(acp.Agent):
    def on_connect(self, conn):
        self._client = conn
        self._sessions = 0

    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **_):
        return acp.InitializeResponse(protocol_version=protocol_version, agent_info=None)

    async def new_session(self, cwd, mcp_servers=None, **_):
        self._sessions += 1
        return acp.NewSessionResponse(session_id=f"echo-session-{id(self)}-{self._sessions}")

    async def cancel(self, session_id, **_):
        pass

    async def prompt(self, prompt, session_id, **_):
        call = schema.ToolCallUpdate(tool_call_id=f"call-{id(prompt)}", title="Say it", kind="other", status="pending")
        options = [schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once")]
        answer = await self._client.request_permission(options=options, session_id=session_id, tool_call=call)
        if answer.outcome.outcome != "selected":
            return acp.PromptResponse(stop_reason="cancelled")
        for block in prompt:
            for word in block.text.split(" "):
                await self._client.session_update(session_id, acp.update_agent_message(acp.text_block(word + " ")))
        return acp.PromptResponse(stop_reason="end_turn")


asyncio.run(acp.run_agent(Echo()))
