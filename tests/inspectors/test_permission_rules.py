"""X01 P03: rules speak of every command of a line and of real paths; doubts never let a call through."""

import pytest
from attrs import evolve

from quillback.core.ports import Access, Mode, RuleEffect
from quillback.core.rules import Pattern, parse_pattern
from quillback.core.verdict import Allow, Ask, Deny
from quillback.inspectors.permission import PermissionInspector
from quillback.inspectors.permission_rules import narrowest
from quillback.inspectors.rule_commands import bad_command
from support.inspections import ROOT, answered, command, configured, inspection, reading, writing

pytestmark = pytest.mark.anyio

ALLOW, ASK, DENY = Allow, Ask, Deny


async def said(it, rules=()):
    return type(await PermissionInspector("", rules).inspect(it))


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("read_file", Pattern("read_file")),
        (" read_file ", Pattern("read_file")),
        ("shell(git log:*)", Pattern("shell", "git log:*")),
        ("shell(echo (a) )", Pattern("shell", "echo (a) ")),
        ("write_file(a (1).txt)", Pattern("write_file", "a (1).txt")),
        ("github-create_issue", Pattern("github-create_issue")),
        ("shell(a\nb)", Pattern("shell", "a\nb")),
    ],
)
def test_rules_are_read(text, parsed):
    assert parse_pattern(text) == parsed


@pytest.mark.parametrize("text", ["", "shell(", "shell)", "shell()", "shell( )", "(x)", "sh ell(x)", "shell(x) y", "*"])
def test_what_is_no_rule_is_refused(text):
    with pytest.raises(ValueError, match=r"rule|brackets"):
        parse_pattern(text)


@pytest.mark.parametrize(
    ("allow", "line", "verdict"),
    [
        ("shell(git log:*)", "git log", ALLOW),
        ("shell(git log:*)", "git log -3 --oneline", ALLOW),
        ("shell(git log:*)", "/usr/bin/git log -3", ALLOW),
        ("shell(git log:*)", "timeout 5 git log -3", ALLOW),
        ("shell(git log:*)", "git logs", ASK),
        ("shell(git log:*)", "git status", ASK),
        ("shell(git log:*)", "git log; rm x", ASK),
        ("shell(git log:*)", "git log && rm x", ASK),
        ("shell(git log:*)", "git log | sh", ASK),
        ("shell(git log:*)", "git log\nrm x", ASK),
        ("shell(git log:*)", "git log & rm x", ASK),
        ("shell(git log:*)", "git log $(rm x)", ASK),
        ("shell(git log:*)", "git log > ../x", ASK),
        ("shell(git log:*)", "sudo git log", ASK),
        ("shell(git log:*)", "PATH=. git log", ASK),
        ("shell(git log:*)", "./git log", ASK),
        ("shell(git log:*)", "eval git log $X", ASK),
        ("shell(git log:*)", "# git log", ASK),
        ("shell(git log:*) & shell(wc -l)", "git log | wc -l", ALLOW),
        ("shell(git log:*) & shell(wc -l)", "git log | wc -c", ASK),
        ("shell(npm test)", "npm test", ALLOW),
        ("shell(npm test)", "npm test --watch", ASK),
        ("shell", "make && make install", ALLOW),
        ("shell", "$X", ASK),
        ("shell_output", "ls", ASK),
    ],
)
async def test_every_command_of_a_line_must_be_allowed(allow, line, verdict):
    assert await said(command(line), configured(allow=allow)) is verdict


@pytest.mark.parametrize(
    ("deny", "line", "verdict"),
    [
        ("shell(rm:*)", "rm x", DENY),
        ("shell(rm:*)", "git log; rm x", DENY),
        ("shell(rm:*)", "bash -c 'rm x'", DENY),
        ("shell(rm:*)", "find . -exec rm {} +", DENY),
        ("shell(rm:*)", "/bin/rm x", DENY),
        ("shell(rm:*)", "echo $(rm x)", DENY),
        ("shell(bash:*)", "bash -c 'ls'", DENY),
        ("shell(git push:*)", "git -C /tmp push", DENY),
        ("shell(rm:*)", "ls rm", ALLOW),
        ("shell(rm x)", "rm y", ALLOW),
        ("shell", "ls", DENY),
    ],
)
async def test_one_denied_command_denies_the_line_in_every_mode(deny, line, verdict):
    assert await said(command(line, mode=Mode.AUTO), configured(deny=deny, allow="shell")) is verdict


async def test_deny_before_ask_before_allow():
    everything = {"allow": "shell", "ask": "shell(git:*)", "deny": "shell(git push:*)"}
    rules = configured(**everything)
    it = PermissionInspector("", rules)
    assert await it.inspect(command("ls")) == Allow(rule="shell")
    asked = Ask("the configuration says to ask about shell(git:*)", rule="shell(git:*)")
    assert await it.inspect(command("git log", mode=Mode.AUTO)) == asked
    assert await it.inspect(command("git log", rules=(answered("shell(git log)"),))) == asked
    denied = Deny("not run: the configuration denies shell(git push:*)", rule="shell(git push:*)")
    assert await it.inspect(command("git push", rules=(answered("shell(git push)"),))) == denied


@pytest.mark.parametrize(
    ("allow", "path", "verdict"),
    [
        ("write_file(src/**)", f"{ROOT}/src/a.py", ALLOW),
        ("write_file(src/**)", f"{ROOT}/src/deep/a.py", ALLOW),
        ("write_file(src/**)", f"{ROOT}/srcs/a.py", ASK),
        ("write_file(src/**)", f"{ROOT}/src", ASK),
        ("write_file(src/**)", "/more/src/a.py", ASK),
        ("write_file(src/*)", f"{ROOT}/src/a.py", ALLOW),
        ("write_file(src/*)", f"{ROOT}/src/deep/a.py", ASK),
        ("write_file(**/*.md)", f"{ROOT}/a.md", ALLOW),
        ("write_file(**/*.md)", f"{ROOT}/x/y/a.md", ALLOW),
        ("write_file(**/test/**)", f"{ROOT}/x/test/y/a.md", ALLOW),
        ("write_file(a.md)", f"{ROOT}/a.md", ALLOW),
        ("write_file(a.md)", f"{ROOT}/x/a.md", ASK),
        ("write_file(**)", f"{ROOT}/a.md", ALLOW),
        ("write_file(**)", "/etc/passwd", ASK),
        ("write_file(/more/*)", "/more/a", ALLOW),
        (f"write_file({ROOT}/*)", f"{ROOT}/a", ALLOW),
        ("edit_file(**)", f"{ROOT}/a.md", ASK),
        ("write_file", f"{ROOT}/a.md", ALLOW),
        ("write_file", "/more/a.md", ALLOW),
        ("write_file", "/etc/passwd", ASK),
        ("write_file", f"{ROOT}/.env", ASK),
    ],
)
async def test_paths_are_real_and_relative_to_the_directory(allow, path, verdict):
    assert await said(writing(path), configured(allow=allow)) is verdict


async def test_every_file_of_a_call_must_be_allowed_and_none_denied():
    both = writing(f"{ROOT}/a/x", f"{ROOT}/b/x", tool="move")
    assert await said(both, configured(allow="move(a/*)")) is ASK
    assert await said(both, configured(allow="move(a/*) & move(b/*)")) is ALLOW
    assert await said(both, configured(allow="move", deny="move(b/*)")) is DENY


async def test_reading_can_be_denied_and_asked_about():
    it = reading(f"{ROOT}/sub/.env", mode=Mode.AUTO)
    assert await said(it, configured(deny="read_file(**/.env)")) is DENY
    assert await said(it, configured(ask="read_file(**/.env)")) is ASK
    assert await said(it, configured(deny="read_file(.env)")) is ALLOW


async def test_a_tool_of_which_nothing_is_known_goes_by_its_name():
    it = inspection("github_create_issue", given={"title": "x"})
    assert await said(it, configured(allow="github_create_issue")) is ALLOW
    assert await said(it, configured(allow="github_create")) is ASK
    assert await said(it, configured(deny="github_create_issue", allow="github_create_issue")) is DENY


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize(
    ("it", "rule"),
    [
        (command("git status"), "shell(git status)"),
        (command("  /usr/bin/git   'status' "), "shell(git status)"),
        (command("git status; rm x"), "shell(git status; rm x)"),
        (command("bash -c 'rm x'"), "shell(bash -c 'rm x')"),
        (command("echo a > b"), "shell(echo a > b)"),
        (command("ls *.py"), "shell(ls *.py)"),
        (command("eval $X"), ""),
        (writing(f"{ROOT}/src/a.py"), "write_file(src/a.py)"),
        (writing("/more/a.py"), "write_file(/more/a.py)"),
        (writing(f"{ROOT}/a ", f"{ROOT}/b"), "write_file(a , b)"),
        (inspection("mcp", given={"b": 1, "a": "é"}), 'mcp({"a": "é", "b": 1})'),
    ],
)
def test_an_answer_stores_the_narrowest_rule(it, rule):
    assert narrowest(it) == rule


CALLS = [
    *map(command, ("git status", "git log:*", "git 'log:*'", "git log -3", "rm x", "git status; rm x")),
    *map(command, ("bash -c 'rm x'", "sudo rm x", "rm x > y", "X=1 rm x", "rm x | sh", "rm *", "rm **", "rm x y")),
    *(writing(f"{ROOT}/{name}") for name in ("a", "a ", "b", "[ab]", "*", "**", "src/[id].ts", "src/i.ts")),
    writing("/more/a"),
    writing("/a"),
    *(inspection("mcp", given={"x": x}) for x in (1, 2, "*")),
]


@pytest.mark.parametrize("it", [it for it in CALLS if narrowest(it)], ids=narrowest)
async def test_an_answer_is_about_this_very_call_and_no_other(it):
    """P03"""
    rule = answered(narrowest(it))
    for other in CALLS:
        same = other is it
        assert await said(evolve(other, rules=(rule,))) is (ALLOW if same else ASK), narrowest(other)


@pytest.mark.parametrize(
    ("line", "verdict"),
    [("rm x", DENY), ("git status; rm x", DENY), ("bash -c 'rm x'", DENY), ("rm y", ASK), ("rm x y", ASK)],
)
async def test_a_rejection_holds_wherever_the_command_is(line, verdict):
    assert await said(command(line, rules=(answered("shell(rm x)", RuleEffect.REJECT),))) is verdict


async def test_allowed_commands_may_be_joined_and_never_wrapped():
    rules = (answered("shell(git status)"), answered("shell(git log -3)"))
    assert await said(command("git status; git log -3", rules=rules)) is ALLOW
    assert await said(command("git status; git log -4", rules=rules)) is ASK
    assert await said(command("bash -c 'git status'", rules=rules)) is ASK


async def test_a_whole_line_that_is_not_understood_is_never_allowed():
    assert await said(command("eval $X", rules=(answered("shell(eval $X)"),))) is ASK


async def test_a_rule_nobody_can_read_is_no_rule():
    assert await said(command("ls", rules=(answered("shell("), answered("")))) is ASK


@pytest.mark.parametrize("argument", ["git log:*", "npm test", "rm -rf build"])
def test_rules_for_the_shell_name_one_command(argument):
    assert bad_command(argument) == ""


@pytest.mark.parametrize("argument", ["git log; rm", "git log | wc", "$X", "git log > x", ":*", "*"])
def test_others_would_never_match_and_are_reported(argument):
    assert "one command" in bad_command(argument)


def test_access_without_anything_is_named_by_its_input():
    assert narrowest(inspection("t", Access())) == "t({})"
