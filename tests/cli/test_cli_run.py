"""`quillback run` without a terminal: what it prints, which session it uses, how it ends."""

import json

import pytest

SHELL = """\
text: I will list.
call: shell {"command": "echo made > made.txt; echo printed"}
---
text: Done.
"""
WRITE = """\
call: write_file {"path": "new.txt", "content": "one\\ntwo\\n"}
---
text: Written.
"""


def events(done) -> list[dict]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def of_type(done, kind: str) -> list[dict]:
    return [event for event in events(done) if event["type"] == kind]


def test_the_answer_is_printed_plain(shell):
    shell.script('think: Hm.\ntext: # Answer\\n\\nIt is **42**.\nusage: {"input_tokens": 1200, "output_tokens": 7}')
    done = shell("run", "What", "is", "it?")
    assert (done.returncode, done.stderr) == (0, "")
    assert "thinking: Hm.\n\n# Answer\n\nIt is **42**.\n\n1,200 tokens in, 7 out · sess_" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "stdin", "prompt"),
    [
        (["say", "this"], "", "say this"),
        (["-"], "from the pipe\n", "from the pipe\n"),
        ([], "from the pipe", "from the pipe"),
        (["explain", "-"], "the log", "explain\n\nthe log"),
        (["--", "--not-an-option"], "", "--not-an-option"),
        (["before", "--thinking", "off", "after"], "", "before after"),
        (["review", "this"], "the diff\n", "review this\n\nthe diff\n"),
        (["review"], " \n", "review"),
    ],
)
def test_where_the_prompt_comes_from(shell, arguments, stdin, prompt):
    done = shell("run", "--json", *arguments, stdin=stdin, env={"QUILLBACK_MODEL": "scripted:echo"})
    assert done.returncode == 0
    assert of_type(done, "message_added")[0]["message"]["parts"] == [{"type": "text", "text": prompt, "run_id": ""}]


def test_bytes_that_are_no_text_do_not_stop_a_prompt(shell):
    done = shell("run", "a\udcffb", env={"QUILLBACK_MODEL": "scripted:echo"})
    assert done.returncode == 0
    assert "a\ufffdb" in done.stdout


def test_json_tells_the_whole_turn_one_object_a_line(shell):
    shell.script(SHELL)
    done = shell("run", "--json", "--mode", "auto", "go")
    assert (done.returncode, done.stderr) == (0, "")
    kinds = [event["type"] for event in events(done)]
    assert kinds[0] == "session"
    assert kinds[-1] == "turn_completed"
    assert kinds.count("turn_completed") == 1
    assert {"message_added", "message_started", "part_grew", "part_closed", "message_ended", "tool_started"} <= {*kinds}
    (session,) = of_type(done, "session")
    assert session["mode"] == "auto"
    assert session["cwd"] == str(shell.workspace)
    call = of_type(done, "tool_started")[0]["call"]
    assert (call["type"], call["name"], call["kind"]) == ("tool_use", "shell", "execute")
    results = [p for e in of_type(done, "message_added") for p in e["message"]["parts"] if p["type"] == "tool_result"]
    assert [(r["call_id"], r["is_error"], r["content"][0]["text"]) for r in results] == [(call["id"], False, "printed")]
    last = of_type(done, "turn_completed")[0]
    assert (last["stop_reason"], last["text"], last["error"]) == ("end_turn", "Done.", "")


def test_json_records_the_answer_to_a_question(shell):
    shell.script(WRITE)
    refused = shell("run", "--json", "go")
    (question,) = of_type(refused, "permission")
    assert (question["choice"], question["call"]["name"]) == ("reject_once", "write_file")
    assert question["shown"][0] == {
        "type": "diff",
        "path": str(shell.workspace / "new.txt"),
        "old": None,
        "new": "one\ntwo\n",
    }
    assert "--yes" in question["note"]
    assert not (shell.workspace / "new.txt").exists()
    allowed = shell("run", "--json", "--yes", "go")
    assert of_type(allowed, "permission")[0]["choice"] == "allow_once"
    assert (shell.workspace / "new.txt").read_text() == "one\ntwo\n"


def test_nobody_to_ask_means_no_and_says_so(shell):
    shell.script(SHELL)
    done = shell("run", "go")
    assert done.returncode == 1
    assert "rejected (there is no terminal to ask; --yes" in done.stdout
    assert "Done." in done.stdout, "the model had its say"
    assert done.stderr.startswith("quillback: 1 call did not run, since nobody was there to ask; --yes")
    assert not (shell.workspace / "made.txt").exists()
    told = shell("run", "--json", "go")
    assert told.returncode == 1
    (result,) = [p for e in of_type(told, "message_added") for p in e["message"]["parts"] if p["type"] == "tool_result"]
    assert "nobody was there to ask" in result["content"][0]["text"]


def test_yes_allows_what_is_asked_and_shows_it(shell):
    shell.script(WRITE)
    done = shell("run", "--yes", "go")
    assert done.returncode == 0
    assert "  +++ new.txt\n" in done.stdout
    assert "  +one\n  +two\n" in done.stdout
    assert "allowed once (by --yes)" in done.stdout
    assert done.stdout.count("+++ new.txt") == 1
    assert "✓ Write new.txt" in done.stdout
    (shell.workspace / "new.txt").unlink()
    assert shell("run", "--json", "again").stdout.count('"choice":"reject_once"') == 1, "yes once is not always"


def test_calls_are_lines_with_their_status_and_commands_show_their_end(shell):
    shell.script(
        'call: shell {"command": "seq 1 15; exit 3"}\ncall: read_file {"path": "gone.txt"}\n---\ntext: So it is.'
    )
    out = shell("run", "--mode", "auto", "go").stdout
    assert "✗ $ seq 1 15; exit 3\n" in out
    assert "\n    15\n" in out
    assert "\n    1\n" not in out
    assert "✗ Read gone.txt\n" in out


def test_a_plan_is_shown(shell):
    items = [{"content": "look", "status": "completed"}, {"content": "do", "status": "in_progress"}]
    shell.script(f"call: todo_write {json.dumps({'items': items})}\n---\ntext: On it.")
    assert "  [x] look\n  [>] do\n" in shell("run", "go").stdout


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ("text: Fine.", 0, ""),
        ("text: Cut\nstop: max_tokens", 1, ""),
        ("stop: refusal", 1, ""),
        ("error: 400 That was wrong", 1, "That was wrong"),
        ("nonsense", 2, "nonsense"),
    ],
)
def test_exit_codes(shell, script, code, said):
    shell.script(script)
    done = shell("run", "go")
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert bool(done.stderr) is bool(said)


def test_no_credentials(shell):
    done = shell("run", "--json", "go", env={"QUILLBACK_MODEL": "claude-sonnet-5-5"})
    assert done.returncode == 4
    (completed,) = of_type(done, "turn_completed")
    assert (completed["error_kind"], completed["stop_reason"]) == ("no_credentials", "error")
    assert "Set ANTHROPIC_API_KEY, or api_key_command" in done.stderr
    assert "login" not in done.stderr, "there is no keyring here"
    assert done.stderr.count("No Anthropic API key") == 1
    plain = shell("run", "go", env={"QUILLBACK_MODEL": "claude-sonnet-5-5"})
    assert (plain.returncode, plain.stdout) == (4, "")
    assert json.loads(shell("sessions", "list", "--json").stdout) == []


def test_a_key_command_that_fails_runs_once(shell):
    shell.home.mkdir()
    (shell.home / "config.toml").write_text('[anthropic]\napi_key_command = "echo x >> ran; exit 5"\n')
    done = shell("run", "go")
    assert done.returncode == 4
    assert "exit code 5" in done.stderr
    assert (shell.workspace / "ran").read_text() == "x\n"


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("scripted:", "use scripted:demo, scripted:echo, scripted:slow or scripted:FILE"),
        ("scripted:gone.script", "gone.script: No such file"),
    ],
)
def test_a_script_that_is_not_there_leaves_no_session(shell, model, said):
    done = shell("run", "--model", model, "go")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert json.loads(shell("sessions", "list", "--json").stdout) == []


def test_the_end_of_a_turn_is_told_once(shell):
    shell.script("text: Cut\nstop: max_tokens")
    (shell.home).mkdir()
    (shell.home / "config.toml").write_text("max_steps = 1\n")
    out = shell("run", "go").stdout
    assert out.lower().count("limit") == 1, out
    shell.script('call: todo_write {"items": []}\n---\ntext: More.')
    out = shell("run", "go").stdout
    assert out.lower().count("limit") + out.count("Stopped") == 2, out
    shell.script("stop: refusal")
    out = shell("run", "go").stdout
    assert out.count("declined") == 1, out


def test_an_unreachable_service_is_named_with_its_address(shell):
    env = {"ANTHROPIC_API_KEY": "sk-x", "ANTHROPIC_BASE_URL": "http://localhost:9", "QUILLBACK_MODEL": "m"}
    with shell.start("run", "go", env=env) as process:
        assert any("Cannot reach http://localhost:9 (connection refused)." in line for line in process.stdout)


def test_retries_are_told(shell):
    shell.script("text: Half\nerror: 529 retry-after=0.1 Overloaded\n---\ntext: Whole.")
    out = shell("run", "go").stdout
    assert "Half" in out
    assert "is not kept" in out
    assert "(2 of 5)" in out
    assert "Whole." in out


def test_continue_goes_on_in_the_newest_session_of_the_directory(shell):
    echo = {"QUILLBACK_MODEL": "scripted:echo"}
    first = of_type(shell("run", "--json", "one", env=echo), "session")[0]["session_id"]
    other = shell.workspace / "other"
    other.mkdir()
    elsewhere = of_type(shell("run", "--json", "--cwd", "other", "two", env=echo), "session")[0]
    assert elsewhere["cwd"] == str(other)
    again = of_type(shell("run", "--json", "--continue", "three", env=echo), "session")[0]["session_id"]
    assert again == first
    named = shell("run", "--json", "--session", elsewhere["session_id"][-8:], "--mode", "chat", "four", env=echo)
    assert of_type(named, "session")[0] == {**elsewhere, "mode": "chat"}


def test_continue_without_a_session_and_unknown_sessions(shell):
    shell.script("text: Hello.")
    for arguments, said in ((["--continue"], "no session of"), (["--session", "sess_0000"], "no session")):
        done = shell("run", "--json", *arguments, "go")
        assert done.returncode == 2
        assert said in done.stderr
        assert said in of_type(done, "error")[0]["message"]


def test_a_database_that_cannot_be_used_is_an_error_for_people(shell):
    shell.script("text: Hello.")
    shell.home.mkdir()
    (shell.home / "quillback.db").write_text("this is no database, but it is long enough to look like one" * 40)
    done = shell("run", "--json", "go")
    assert done.returncode == 1
    assert "quillback.db" in done.stderr
    assert "Traceback" not in done.stderr
    assert [event["type"] for event in events(done)] == ["error"]


def test_wrong_settings_are_named(shell):
    shell.script("text: Hello.")
    done = shell("run", "--json", "go", env={"QUILLBACK_MODE": "wild"})
    assert done.returncode == 2
    assert "QUILLBACK_MODE" in done.stderr
    ending = "nothing was run; mend the settings above (quillback doctor shows all)"
    assert done.stderr.endswith(f"quillback: {ending}\n")
    (error,) = events(done)
    assert error["type"] == "error"
    assert error["message"].startswith("QUILLBACK_MODE: 'wild' is not allowed")
    assert not shell.home.exists()


def test_a_wrong_catalog_and_the_demo_are_refused_too(shell):
    shell.home.mkdir()
    (shell.home / "config.toml").write_text('[models."foo"]\nwindow = 3\n')
    for arguments in (["run", "go"], ["run", "--demo"]):
        done = shell(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert 'models."foo".window is not known' in done.stderr


def test_nothing_untrusted_steers_the_terminal(shell):
    evil = "\\u001b]0;title\\u0007\\u001b[2J\\u009b31m\\u202egnp"
    (shell.workspace / "x.txt").write_text("a\x1b[31mb\n")
    shell.script(
        f'call: shell {{"command": "printf \'\\\\033[31mred\' # {evil}"}}\n'
        f'call: write_file {{"path": "y{evil}.txt", "content": "{evil}"}}\n'
        f'call: read_file {{"path": "no{evil}.txt"}}\n'
        "---\ntext: \x1b]0;owned\x07 and \x1b[31mred\x1b[0m\nthink: \x9b2J"
    )
    with shell.terminal("run", "--yes", "go \x1b[5m", env={"NO_COLOR": "1"}) as terminal:
        assert terminal.end() == 0
    assert "owned" in terminal.output
    steering = {c for c in terminal.output if (ord(c) < 32 and c not in "\r\n\t") or 0x7F <= ord(c) <= 0x9F}
    assert steering | {c for c in terminal.output if "\u202a" <= c <= "\u202e"} == set()


def test_colours_in_a_terminal_that_has_them(shell):
    shell.script(WRITE.replace("text: Written.", "text: # Big\\n\\n```\\ncode\\n```\\nEnd."))
    with shell.terminal("run", "--yes", "go") as terminal:
        assert terminal.end() == 0
    assert "\x1b[1m# Big" in terminal.output
    assert "\x1b[32m+one" in terminal.output.replace("  +one", "+one")
    with shell.terminal("run", "--yes", "go", env={"TERM": "dumb"}) as dumb:
        assert dumb.end() == 0
    assert "\x1b" not in dumb.output
