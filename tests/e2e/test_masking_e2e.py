"""Keys in files and output reach neither the model, nor the editor, nor the disk; files keep theirs."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from quillback.core.mask import masks_in
from support.agent import KEY, agent
from support.fake_model import FakeModel, Reply, Say, Use
from support.keys import KEYS, PRIVATE_KEY
from support.play import Desk, by_kind, play, shell
from support.requests import last_request, result_text, user_text

pytestmark = pytest.mark.anyio
AUTO = {"QUILLBACK_MODE": "auto"}
OTHER = KEYS["GitHub"]


async def test_keys_that_tools_meet_stay_on_this_machine(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env={**AUTO, "QUILLBACK_LOG": "debug"}) as a:
        session = await a.session()
        (a.workspace / "keys.txt").write_text(f"own = {KEY}\nother = {OTHER}\n{PRIVATE_KEY}\n")
        outputs = await shell(
            a,
            fake,
            session,
            "cat keys.txt",
            f"for n in $(seq 2000); do echo {OTHER[:9]}; done; cat keys.txt; seq 9000; exit 3",
            f"printf %s {KEY[:9]}; sleep 0.3; tail -c +16 keys.txt | head -1; sleep 0.3",
        )
        read, found, all_of_it, job = await play(
            a,
            fake,
            session,
            Use("read_file", {"path": "keys.txt"}),
            Use("grep", {"pattern": "=", "path": "keys.txt"}),
            Use("grep", {"pattern": ".", "path": "keys.txt"}),
            Use("shell", {"command": "cat keys.txt", "background": True}),
        )
        output = await play(a, fake, session, Use("shell_output", {"job": "job_1", "wait": 5}))
        for text in (outputs[0], *map(result_text, (read, found, all_of_it, *output))):
            assert len(masks_in(text)) == (2 if text == result_text(found) else 3), text
        assert masks_in(outputs[2]) <= masks_in(outputs[0])
        assert masks_in(outputs[2])
        assert "Started job_1" in result_text(job)
        wire = json.dumps([message for _, message in a.client.log], ensure_ascii=False)
        requests = json.dumps([seen.body for seen in fake.requests], ensure_ascii=False)
        await a.client.close()
        told = wire + requests + a.client.stderr
    for secret in (KEY, OTHER, "MIIEow"):
        assert secret not in told
        assert [p.name for p in tmp_path.rglob("*") if p.is_file() and secret.encode() in p.read_bytes()] == [
            "keys.txt"
        ]


async def test_a_diff_in_a_question_hides_keys_and_the_audit_too(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        path = a.workspace / "settings"
        path.write_text(f"name = a\nkey = {OTHER}\n")
        desk = Desk(a, by_kind("allow_once"), by_kind("allow_once"))
        await play(
            a,
            fake,
            session,
            Use("read_file", {"path": "settings"}),
            Use("edit_file", {"path": "settings", "old_text": "name = a", "new_text": "name = b"}),
            Use("shell", {"command": f"echo {'.' * 1950} {OTHER}"}),
        )
        (diff,) = desk.asked[0]["toolCall"]["content"]
        assert diff["oldText"].startswith("name = a\nkey = [masked secret ")
        assert diff["newText"] == diff["oldText"].replace("name = a", "name = b")
        assert path.read_text() == f"name = b\nkey = {OTHER}\n"
        entries = (await a.client.request("_quillback/audit", {"sessionId": session}))["entries"]
        assert len(entries) == 3
        assert OTHER[:12] not in json.dumps(entries)


async def test_a_linked_file_is_passed_on_without_its_keys(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("seen")))
    async with agent(tmp_path, fake.base_url) as a:
        (a.workspace / "notes").write_text(f"say {KEY} and {OTHER}")
        link = {"type": "resource_link", "uri": (a.workspace / "notes").as_uri(), "name": "notes"}
        await a.client.prompt(await a.session(), [{"type": "text", "text": "[[a]]"}, link])
    said = user_text(last_request(fake, "a"))
    assert len(masks_in(said)) == 2
    assert OTHER not in said


async def test_the_values_of_mcp_servers_are_known(tmp_path, fake: FakeModel):
    home = tmp_path / "home/quillback"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(
        '[mcp.x]\nurl = "http://127.0.0.1:9/"\n'
        'headers = { Authorization = "Bearer header-0123", X-Kind = "harmless-kind" }\n'
    )
    server = {"name": "y", "command": "false", "args": [], "env": [{"name": "API_TOKEN", "value": "token-4567"}]}
    async with agent(tmp_path, fake.base_url, env=AUTO, polite=False) as a:
        session = await a.session(mcpServers=[server])
        (text,) = await shell(a, fake, session, "echo header-0123 token-4567 harmless-kind")
        assert len(masks_in(text)) == 2
        assert text.strip().endswith("harmless-kind")


LESS = ["setpriv", "--bounding-set=-sys_ptrace,-sys_admin,-perfmon"] if os.geteuid() == 0 else []


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc here")
@pytest.mark.skipif(
    bool(LESS) and shutil.which("setpriv") is None,
    reason="root reads everything, and no setpriv limits it",
)
async def test_the_environment_of_the_agent_is_closed_to_commands(tmp_path, fake: FakeModel):
    """Root with all its powers can read it all the same; then the key is masked."""
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        (shown,) = await shell(a, fake, await a.session(), f"cat /proc/{a.pid}/environ; env")
        assert KEY not in shown
        assert "PATH=" in shown
        done = subprocess.run([*LESS, "cat", f"/proc/{a.pid}/environ"], capture_output=True)
        assert done.stdout == b""
        assert b"denied" in done.stderr


async def test_a_key_that_a_command_printed_is_known_too(tmp_path, fake: FakeModel):
    home = tmp_path / "home" / "quillback"
    home.mkdir(parents=True)
    (home / "config.toml").write_text("[anthropic]\napi_key_command = 'echo key-of-the-command'\n")
    async with agent(tmp_path, fake.base_url, env={**AUTO, "ANTHROPIC_API_KEY": ""}) as a:
        (text,) = await shell(a, fake, await a.session(), "echo key-of-the-command key-of-another")
        (mask,) = masks_in(text)
        assert text.strip() == f"{mask} key-of-another"
