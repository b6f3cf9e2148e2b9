"""Hook files: which hook is for which tool, and what is said about what is wrong with a file."""

import json
from pathlib import Path

import pytest

from quillback.core.hooks import HookPoint
from quillback.hooks.files import HOOKS_LIMIT, SECONDS, UserFile, only_hooks, read_hooks
from quillback.hooks.names import from_other, to_other
from support.hooks import hook_file


def the_hook(matcher: object, *, claude: bool = False):
    group = {"hooks": [{"type": "command", "command": "x"}], **({} if matcher is None else {"matcher": matcher})}
    found = read_hooks(json.dumps({"hooks": {"PreToolUse": [group]}}).encode(), "f", claude=claude)
    assert found.problems == ()
    return found.hooks[0]


MATCHES = [
    # matcher, our tool, what the hook calls it; nothing where it is not for it
    (None, "shell", "shell"),
    ("", "shell", "shell"),
    ("*", "edit_file", "edit_file"),
    ("shell", "shell", "shell"),
    ("shell", "shell_output", ""),
    ("shell.*", "shell_output", "shell_output"),
    ("hell", "shell", ""),
    ("Bash", "shell", "Bash"),
    ("bash", "shell", ""),
    ("Bash|Edit", "edit_file", "Edit"),
    ("MultiEdit", "edit_file", "MultiEdit"),
    ("Edit|MultiEdit|Write", "edit_file", "Edit"),
    ("Edit|MultiEdit|Write", "write_file", "Write"),
    ("Edit|MultiEdit|Write", "read_file", ""),
    ("Read", "read_file", "Read"),
    ("Grep", "grep", "Grep"),
    ("Glob", "glob", "Glob"),
    ("LS", "list_dir", "LS"),
    ("TodoWrite", "todo_write", "TodoWrite"),
    ("Web.*", "web_fetch", "WebFetch"),
    ("Task", "subagent", "Task"),
    ("shell|Bash", "shell", "shell"),
    ("mcp__github__create_issue", "github_create_issue", "mcp__github__create_issue"),
    ("mcp__github__.*", "github_create_issue", "mcp__github__create_issue"),
    ("mcp__git_hub__.*", "git_hub_create", "mcp__git_hub__create"),
    ("mcp__git_hub__.*", "git-hub_create", "mcp__git_hub__create"),
    ("mcp__.*__write.*", "memory_write_all", "mcp__memory__write_all"),
    ("mcp__other__.*", "github_create_issue", ""),
    ("mcp__.*", "shell_output", ""),
    ("github_.*", "github_create_issue", "github_create_issue"),
]


@pytest.mark.parametrize(("matcher", "tool", "called"), MATCHES)
def test_matchers(matcher: str | None, tool: str, called: str):
    assert the_hook(matcher).tool_name(tool) == called


@pytest.mark.parametrize(
    ("tool", "called"), [("shell", "Bash"), ("edit_file", "Edit"), ("github_x", "github_x"), ("git", "git")]
)
def test_a_file_of_the_other_style_gets_its_own_names_for_every_tool(tool: str, called: str):
    assert the_hook("*", claude=True).tool_name(tool) == called


def test_arguments_go_by_the_other_names_and_come_back():
    ours = {"path": "src/a.py", "old_text": "a", "new_text": "b", "replace_all": True}
    theirs = to_other("edit_file", ours, "/p")
    assert theirs == {"file_path": "/p/src/a.py", "old_string": "a", "new_string": "b", "replace_all": True}
    assert from_other("edit_file", theirs) == {**ours, "path": "/p/src/a.py"}
    assert to_other("shell", {"command": "ls", "background": True}, "/p") == {
        "command": "ls",
        "run_in_background": True,
    }
    assert to_other("unknown", {"path": "x"}, "/p") == {"path": "x"}


WRONG = {
    "not JSON": ("{", "f: not valid JSON: "),
    "deep": ("[" * 100_000, "f: not valid JSON: "),
    "no object": ("[]", "f: must be an object"),
    "no table": ('{"hooks": []}', "f: hooks: must be an object with a list for each moment"),
    "unknown key": ('{"hook": {}}', "f: hook: this key is not known and was ignored; known: hooks"),
    "unknown moment": ('{"hooks": {"Notification": []}}', "f: hooks.Notification: this moment is not known"),
    "no list": ('{"hooks": {"Stop": {}}}', "f: hooks.Stop: must be a list of objects"),
    "no group": ('{"hooks": {"Stop": ["x"]}}', "f: hooks.Stop[0]: must be an object"),
    "no hooks": ('{"hooks": {"Stop": [{}]}}', "f: hooks.Stop[0].hooks: must be a list of objects"),
    "matcher": ('{"hooks": {"PreToolUse": [{"matcher": "(", "hooks": []}]}}', "is no regular expression"),
    "matcher type": ('{"hooks": {"PreToolUse": [{"matcher": 3, "hooks": []}]}}', "must be a regular expression"),
    "type": ('{"hooks": {"Stop": [{"hooks": [{"type": "prompt"}]}]}}', "'prompt' is not supported; it must be \"comm"),
    "command": ('{"hooks": {"Stop": [{"hooks": [{"command": " "}]}]}}', "Stop[0].hooks[0].command: must be a command"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name: str):
    text, said = WRONG[name]
    found = read_hooks(text.encode(), "f")
    assert found.hooks == ()
    (problem,) = found.problems
    assert said in problem
    assert problem.startswith("f: ")


def test_the_good_rest_of_a_file_works():
    text = """{"hooks": {"Nope": 3, "Stop": [{"hooks": [{"type": "http"}, {"command": "a"}]}, 7],
        "PreToolUse": [{"matcher": "[", "hooks": [{"command": "never"}]}, {"hooks": [{"command": "b"}]}]}}"""
    found = read_hooks(text.encode(), "f")
    assert [(h.point, h.command) for h in found.hooks] == [(HookPoint.STOP, "a"), (HookPoint.PRE_TOOL_USE, "b")]
    assert len(found.problems) == 4


@pytest.mark.parametrize("moment", ["UserPromptSubmit", "Stop", "TurnCompleted"])
@pytest.mark.parametrize("matcher", ["(", 3, "nothing is called so"])
def test_where_a_matcher_is_not_looked_at_a_bad_one_costs_no_hook(moment: str, matcher: object):
    text = json.dumps({"hooks": {moment: [{"matcher": matcher, "hooks": [{"command": "a"}]}]}})
    found = read_hooks(text.encode(), "f")
    assert found.problems == ()
    assert [h.is_for("x") for h in found.hooks] == [True]


@pytest.mark.parametrize(
    ("given", "seconds", "problems"),
    [({}, SECONDS, 0), ({"timeout": 5}, 5.0, 0), ({"timeout": 0.5}, 0.5, 0), ({"timeout": 9999}, 600.0, 0)]
    + [({"timeout": bad}, SECONDS, 1) for bad in (0, -1, "5", True, None)],
)
def test_time_limits(given: dict, seconds: float, problems: int):
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"command": "x", **given}]}]}})
    found = read_hooks(text.encode(), "f")
    assert (found.hooks[0].seconds, len(found.problems)) == (seconds, problems)


@pytest.mark.parametrize(
    ("given", "strict", "problems"),
    [({}, False, 0), ({"on_failure": "allow"}, False, 0), ({"on_failure": "deny"}, True, 0)]
    + [({"on_failure": bad}, True, 1) for bad in ("block", "", 1, None)],
)
def test_failure_policies(given: dict, strict: bool, problems: int):
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"command": "x", **given}]}]}})
    found = read_hooks(text.encode(), "f")
    assert (found.hooks[0].strict, len(found.problems)) == (strict, problems)


def test_unknown_keys_are_told_in_our_files_and_passed_over_in_others_unless_they_change_what_runs():
    hook = {"command": "x", "statusMessage": "…", "timout": 3, "async": True}
    text = json.dumps({"permissions": {}, "hooks": {"Stop": [{"hooks": [hook]}]}}).encode()
    ours, theirs = read_hooks(text, "f"), read_hooks(text, "f", claude=True)
    assert [p.split(": ")[1].rpartition(".")[2] for p in ours.problems] == [
        "permissions",
        "statusMessage",
        "timout",
        "async",
    ]
    assert [p.split(": ")[1].rpartition(".")[2] for p in theirs.problems] == ["async"]
    assert len(ours.hooks) == len(theirs.hooks) == 1


def test_too_many_and_too_much():
    many = {"hooks": {"Stop": [{"hooks": [{"command": f"c{n}"} for n in range(HOOKS_LIMIT + 5)]}]}}
    found = read_hooks(json.dumps(many).encode(), "f")
    assert len(found.hooks) == HOOKS_LIMIT
    assert len(found.problems) == 1
    assert "larger" in read_hooks(b" " * 2_000_000 + b"{}", "f").problems[0]


def test_of_settings_of_others_only_the_hooks_count():
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}
    one = json.dumps({"permissions": {"allow": ["a"]}, "hooks": hooks}).encode()
    two = json.dumps({"hooks": hooks, "model": "m"}, indent=3).encode()
    assert only_hooks(one) == only_hooks(two)
    assert [h.command for h in read_hooks(only_hooks(one) or b"", "f", claude=True).hooks] == ["x"]
    for nothing in (b"{}", b'{"hooks": {}}', b"[]", b'{"hooks": {"Stop": []}, "disableAllHooks": true}'):
        assert only_hooks(nothing) is None
    assert only_hooks(b"{") == b"{"


def test_the_users_file_is_read_again_when_it_changes(tmp_path: Path):
    path = tmp_path / "hooks.json"
    source = UserFile(path)
    assert source() == read_hooks(b"", "")
    hook_file(path, Stop=[("", "one")])
    assert [h.command for h in source().hooks] == ["one"]
    assert source() is source()
    hook_file(path, Stop=[("", "two")])
    assert [h.command for h in source().hooks] == ["two"]
    path.write_text("{")
    assert source().problems[0].startswith(f"{path}: not valid JSON")
    path.unlink()
    assert source().hooks == ()
