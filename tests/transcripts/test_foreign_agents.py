"""Transcripts against agents that are not Quillback."""

import sys
from pathlib import Path

import pytest

from quillback.transcripts.document import read_transcript
from quillback.transcripts.running import How, run, update

pytestmark = pytest.mark.anyio
ECHO = (sys.executable, str(Path(__file__).parent / "sdk_echo.py"))
PAGE = """\
An agent of the official Python SDK, which gives its messages no ids:

```acp
-> {"id": 1, "method": "initialize", "params": {"protocolVersion": 1, "clientCapabilities": {}}}
<- {"id": 1, "result": {"protocolVersion": 1, ...}}
-> {"id": 2, "method": "session/new", "params": {"cwd": "$CWD", "mcpServers": []}}
<- {"id": 2, "result": {"sessionId": $session, ...}}
-> {"id": 3, "method": "session/prompt", "params": {"sessionId": $session, "prompt": [
  {"type": "text", "text": "some words"}
]}}
<- {"id": $question, "method": "session/request_permission", "params": {"sessionId": $session, ...}}
-> {"id": $question, "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}}
<- {"method": "session/update", "params": {"sessionId": $session, "update": {
  "sessionUpdate": "agent_message_chunk",
  "content": {"type": "text", "text": "some words "}
}}}
<- {"id": 3, "result": {"stopReason": "end_turn"}}
```
"""


async def test_an_agent_of_the_official_sdk_passes():
    assert await run(read_transcript(PAGE, "echo.md"), How(ECHO, seconds=60)) == ""


async def test_what_it_says_otherwise_is_shown():
    told = await run(read_transcript(PAGE.replace('"some words "', '"other words "'), "echo.md"), How(ECHO, seconds=60))
    assert told.startswith("echo.md:13: something else came")
    assert '+       "text": "some words "' in told


async def test_what_it_says_can_be_written_into_the_file():
    wrong = PAGE.replace('"some words "', '"other words "').replace('"end_turn"', '"refusal"')
    assert await update(read_transcript(wrong, "echo.md"), How(ECHO, seconds=60)) == (PAGE, "")


async def test_it_keeps_its_environment_but_for_transcripts_with_a_script(tmp_path, monkeypatch):
    agent = tmp_path / "agent.py"
    agent.write_text(
        "import os, sys, json\n"
        "for line in sys.stdin:\n"
        "    names = ('QUILLBACK_HOME', 'QUILLBACK_MODEL', 'MY_KEY')\n"
        "    told = {n: os.environ[n] for n in names if n in os.environ}\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': 1, 'result': told}), flush=True)\n"
    )
    for name in ("QUILLBACK_HOME", "QUILLBACK_MODEL", "MY_KEY"):
        monkeypatch.setenv(name, "mine")
    asked = '```acp\n-> {"id": 1, "method": "m"}\n<- {"id": 1, "result": %s}\n```\n'
    how = How((sys.executable, str(agent)), seconds=60)
    kept = asked % '{"QUILLBACK_HOME": "mine", "QUILLBACK_MODEL": "mine", "MY_KEY": "mine"}'
    assert await run(read_transcript(kept, "env.md"), how) == ""
    own = asked % r'{"QUILLBACK_HOME": /.*quillback-test-.*/, "QUILLBACK_MODEL": /scripted:.*/, "MY_KEY": "mine"}'
    assert await run(read_transcript("```script\ntext: a\n```\n" + own, "env.md"), how) == ""
