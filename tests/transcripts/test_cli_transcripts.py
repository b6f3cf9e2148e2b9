"""`quillback test` and `quillback sessions replay` as a person sees them."""

import json
import sys
from pathlib import Path

from support.cli import Shell
from support.puppets import answer, puppet

REPLAYS = Path(__file__).resolve().parent.parent / "replays"
PAGE = """\
# Hello

```script
text: Hello, world.
```

```acp
-> {"id": 1, "method": "initialize", "params": {"protocolVersion": 1, "clientCapabilities": {}}}
<- {"id": 1, "result": {"protocolVersion": 1, ...}}
-> {"id": 2, "method": "session/new", "params": {"cwd": "$CWD", "mcpServers": []}}
<- {"id": 2, "result": {"sessionId": $session, ...}}
skip {"method": "session/update", "params": {"update": {"sessionUpdate": "available_commands_update", ...}, ...}}
skip {"method": "session/update", "params": {"update": {"sessionUpdate": "session_info_update", ...}, ...}}
skip {"method": "session/update", "params": {"update": {"sessionUpdate": "usage_update", ...}, ...}}
-> {"id": 3, "method": "session/prompt", "params": {"sessionId": $session, "prompt": [{"type": "text", "text": "Hi"}]}}
<- {"method": "session/update", "params": {"sessionId": $session, "update": {
  "sessionUpdate": "agent_message_chunk",
  "messageId": $message,
  "content": {"type": "text", "text": "Hello, world."}
}}}
<- {"id": 3, "result": {"stopReason": "end_turn", ...}}
```
"""


def test_files_that_pass_and_files_that_do_not(shell: Shell):
    (shell.workspace / "good.md").write_text(PAGE)
    (shell.workspace / "bad.md").write_text(PAGE.replace('"Hello, world."', '"Bye."'))
    done = shell("test", "good.md", "bad.md", "--timeout", "60")
    assert done.returncode == 1
    assert done.stdout.startswith("ok      good.md\nfailed  bad.md\nbad.md:16: something else came")
    assert done.stdout.endswith("1 passed, 1 failed\n")
    assert '    -       "text": "Bye."\n    +       "text": "Hello, world."\n' in done.stdout
    assert done.stderr == ""


def test_in_this_process(shell: Shell):
    (shell.workspace / "good.md").write_text(PAGE)
    done = shell("test", "--in-process", "good.md", "--timeout", "60")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok      good.md\n1 passed\n", "")


def test_a_directory_stands_for_what_can_be_run_in_it(shell: Shell):
    pages = shell.workspace / "pages"
    pages.mkdir()
    (pages / "good.md").write_text(PAGE)
    (pages / "prose.md").write_text("# Nothing to run\n")
    (pages / "session.json").write_text((REPLAYS / "error.json").read_text())
    done = shell("test", "--in-process", "pages")
    assert done.stdout == "ok      pages/good.md\nok      pages/session.json: 3 turns played again\n2 passed\n"
    (pages / "good.md").unlink()
    (pages / "session.json").unlink()
    done = shell("test", "pages")
    assert done.returncode == 2
    assert "neither a Markdown file with an `acp` block nor a session" in done.stderr


def test_update_rewrites_the_file(shell: Shell):
    wrong = PAGE.replace('"Hello, world."', '"Bye."').replace('"end_turn"', '"refusal"')
    (shell.workspace / "page.md").write_text(wrong)
    done = shell("test", "--update", "page.md", "--timeout", "60")
    assert (done.returncode, done.stdout) == (0, "updated page.md\nok      page.md\n1 passed\n")
    assert (shell.workspace / "page.md").read_text() == PAGE


def test_an_agent_behind_two_dashes(shell: Shell):
    (shell.workspace / "page.md").write_text('```acp\n-> {"id": 1, "method": "m"}\n<- {"id": 1, "result": 5}\n```\n')
    done = shell("test", "page.md", "--", *puppet(shell.place, [answer(1, 5)]))
    assert (done.returncode, done.stdout) == (0, "ok      page.md\n1 passed\n")
    done = shell("test", "page.md", "--", *puppet(shell.place, [answer(1, 6)]))
    assert done.returncode == 1
    done = shell("test", "page.md", "--", "no-such-agent")
    assert (done.returncode, done.stderr) == (2, "quillback: no-such-agent: No such file or directory\n")


def test_a_workspace_of_the_users(shell: Shell):
    line = json.dumps({"id": 1, "result": str(shell.workspace)})
    page = f'```acp\n-> {{"id": 1, "method": "m", "params": "$CWD"}}\n<- {line}\n```\n'
    (shell.workspace / "page.md").write_text(page)
    agent = "import json; p = json.loads(input())['params']; print(json.dumps({'id': 1, 'result': p}))"
    done = shell("test", "page.md", "--cwd", ".", "--", sys.executable, "-c", agent)
    assert (done.returncode, done.stdout) == (0, "ok      page.md\n1 passed\n")


def test_what_cannot_be_run_is_said(shell: Shell):
    (shell.workspace / "odd.md").write_text("```acp\n-> {\n```\n")
    done = shell("test", "odd.md")
    assert done.returncode == 2
    assert done.stderr.startswith("quillback: odd.md:2: ")
    for arguments, words in (
        (["none.md"], "none.md: No such file or directory"),
        (["odd.md", "--timeout", "0"], "--timeout must be more than 0"),
        (["odd.md", "--in-process", "--", "agent"], "--in-process runs Quillback itself"),
        (["odd.md", "--cwd", "none"], "is not a directory"),
        ([], "FILE"),
    ):
        done = shell("test", *arguments)
        assert done.returncode == 2
        assert words in done.stderr
    done = shell("record", "x.md")
    assert done.returncode == 2
    assert "say which agent: quillback record FILE -- AGENT CMD" in done.stderr


def test_a_stored_session_is_played_again(shell: Shell):
    shell.script("call: list_dir {}\n---\ntext: Nothing there.\n")
    assert shell("run", "--yes", "Look around").returncode == 0
    session = json.loads(shell("sessions", "list", "--json").stdout)[0]["id"]
    done = shell("sessions", "replay", session)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"ok      {session}: 1 turn played again\n"


def test_a_session_that_comes_out_otherwise_fails_with_the_difference(shell: Shell):
    text = (REPLAYS / "limits.json").read_text()
    (shell.workspace / "session.json").write_text(text.replace("the limit of one turn", "a limit of one turn"))
    done = shell("test", "session.json")
    assert done.returncode == 1
    assert "failed  session.json: " in done.stdout
    assert "a limit of one turn" in done.stdout
    done = shell("test", "--update", "session.json")
    assert done.returncode == 2
    (shell.workspace / "session.json").write_text("{}")
    done = shell("test", "session.json")
    assert done.returncode == 2
    assert "it is no session that `quillback sessions export --format json` wrote" in done.stderr
