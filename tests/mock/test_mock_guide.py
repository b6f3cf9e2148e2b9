"""The guide page of the mock agent: its scripts play, and it leaves nothing out."""

import re
import sys
from pathlib import Path

import pytest

from quillback.mock import parse
from quillback.mock.script import MOMENTS
from quillback_protocol.client import Client, choose
from quillback_protocol.jsonrpc import JsonObject

pytestmark = pytest.mark.anyio
PAGE = (Path(__file__).parents[2] / "server" / "guide" / "mock-agent.md").read_text(encoding="utf-8")
SCRIPTS = re.findall(r"^```mock\n(.*?)^```$", PAGE, re.M | re.S)


def client(tmp_path, number: int):
    (tmp_path / "x.mock").write_text(SCRIPTS[number])
    return Client.spawn([sys.executable, "-m", "quillback", "mock-agent", str(tmp_path / "x.mock")])


async def test_the_example_of_a_permission(tmp_path):
    async with client(tmp_path, 0) as c:
        c.on_request("session/request_permission", choose("reject_once"))
        await c.initialize()
        session = (await c.new_session(tmp_path))["sessionId"]
        turn = await c.prompt(session, "anything")
    assert turn.text == "You said reject_once."
    assert [u["status"] for u in turn.updates if "status" in u] == ["pending", "failed"]


async def test_the_example_of_other_methods(tmp_path):
    async with client(tmp_path, 1) as c:
        answer = await c.initialize()
        assert answer["agentCapabilities"]["loadSession"] is False
        assert answer["agentInfo"]["name"] == "picky"
        assert (await c.new_session(tmp_path))["sessionId"] == "mock-1"
        server: JsonObject = {"name": "x", "command": "/x", "args": [], "env": []}
        for method, params, code in (
            ("session/new", {"cwd": "/", "mcpServers": [server]}, -32602),
            ("session/load", {"sessionId": "x", "cwd": "/", "mcpServers": []}, -32601),
        ):
            with pytest.raises(Exception, match=f"\\({code}\\)"):
                await c.request(method, params)


async def test_the_example_of_several_scenarios(tmp_path):
    async with client(tmp_path, 2) as c:
        await c.initialize()
        session = (await c.new_session(tmp_path))["sessionId"]
        assert (await c.prompt(session, "anything")).text == "hello hello hello "
        await c.prompt(session, "late")
        after = await c.wait_for(lambda: next((i for i, e in enumerate(c.log) if "After." in str(e)), None))
        assert "end_turn" in str(c.log[after - 1])
        with pytest.raises(Exception, match="exited with code 1"):
            await c.prompt(session, "broken")


async def test_the_example_of_moments(tmp_path):
    async with client(tmp_path, 3) as c:
        await c.initialize()
        await c.close()
        assert c.stderr == "goodbye\n"
        assert "Starting up" not in str(c.log[0])
    assert len(SCRIPTS) == 4


def test_every_step_name_and_moment_is_on_the_page():
    steps = {*parse._READERS, *parse._CHUNKS, *parse._BARE, "raw"}
    assert {step for step in steps if f"`{step}" not in PAGE} == set()
    assert {moment for moment in MOMENTS if f"`{moment}`" not in PAGE} == set()


def test_the_scenarios_that_the_page_names_are_there():
    from quillback.mock.library import by_name

    for name in ("permission", "diff", "slow", "error-internal", "update-after-answer", "dies", "wrong-version"):
        assert f"{name}" in PAGE
        assert name in by_name()
