import pytest

from quillback.core.message import ToolUse
from quillback.core.ports import Access, Inspection, Mode, Rule, RuleEffect
from quillback.core.rules import matching, pattern
from quillback.core.secrets import looks_secret
from quillback.core.verdict import Allow, Ask, Deny
from quillback.inspectors.permission import CHAT, PermissionInspector, outside_roots
from support.replies import spec

pytestmark = pytest.mark.anyio

ROOT = "/ws/space"
CALL = ToolUse("c1", "t1", "tool", {"b": 1, "a": "é"})


NOTHING = Access()


async def verdict(access=NOTHING, *, mode=Mode.APPROVE, read_only=False, rules=(), outputs=""):
    of = spec("tool", read_only=read_only)
    inspection = Inspection("s1", CALL, of, access, mode, (ROOT, "/more"), tuple(rules))
    return await PermissionInspector(outputs).inspect(inspection)


@pytest.mark.parametrize(
    ("mode", "read_only", "access", "said"),
    [
        (Mode.APPROVE, True, Access(), Allow()),
        (Mode.APPROVE, True, Access(reads=(f"{ROOT}/a", "/more/b")), Allow()),
        (Mode.APPROVE, True, Access(reads=(ROOT,)), Allow()),
        (Mode.APPROVE, True, Access(reads=("/etc/passwd",)), Ask("/etc/passwd is outside the workspace")),
        (Mode.APPROVE, True, Access(reads=(f"{ROOT}-too/a",)), Ask(f"{ROOT}-too/a is outside the workspace")),
        (Mode.APPROVE, True, Access(reads=(f"{ROOT}/.env",)), Ask(f"{ROOT}/.env looks like it holds credentials")),
        (Mode.APPROVE, False, Access(), Ask("")),
        (Mode.APPROVE, False, Access(writes=(f"{ROOT}/a",)), Ask("")),
        (Mode.APPROVE, False, Access(command="ls", cwd=ROOT), Ask("")),
        (Mode.AUTO, False, Access(writes=(f"{ROOT}/a",)), Allow()),
        (Mode.AUTO, False, Access(command="ls", cwd=ROOT), Allow()),
        (Mode.AUTO, False, Access(writes=("/etc/x",)), Ask("/etc/x is outside the workspace")),
        (Mode.AUTO, True, Access(reads=(f"{ROOT}/a", "/elsewhere")), Ask("/elsewhere is outside the workspace")),
        (Mode.CHAT, True, Access(reads=(f"{ROOT}/a",)), Deny(CHAT)),
        (Mode.CHAT, False, Access(), Deny(CHAT)),
    ],
)
async def test_what_the_mode_says(mode, read_only, access, said):
    assert await verdict(access, mode=mode, read_only=read_only) == said


LIST = Access(command="git status", cwd=ROOT)


@pytest.mark.parametrize("mode", [Mode.APPROVE, Mode.AUTO])
async def test_a_stored_answer_comes_before_the_mode(mode):
    allow, reject = (Rule(ROOT, "tool(git status)", effect) for effect in RuleEffect)
    assert await verdict(LIST, mode=mode, rules=[allow]) == Allow()
    assert isinstance(await verdict(LIST, mode=mode, rules=[reject]), Deny)
    assert isinstance(await verdict(LIST, mode=mode, rules=[allow, reject]), Deny)


async def test_a_stored_answer_opens_nothing_in_chat_mode():
    assert await verdict(LIST, mode=Mode.CHAT, rules=[Rule(ROOT, "tool(git status)", RuleEffect.ALLOW)]) == Deny(CHAT)


async def test_a_session_reads_its_own_outputs_and_no_others():
    own, other = Access(reads=("/out/s1/x.txt",)), Access(reads=("/out/s2/x.txt",))
    assert await verdict(own, read_only=True, outputs="/out") == Allow()
    assert isinstance(await verdict(own, read_only=True), Ask)
    assert isinstance(await verdict(other, read_only=True, outputs="/out"), Ask)
    assert isinstance(await verdict(Access(writes=("/out/s1/x",)), outputs="/out", mode=Mode.AUTO), Ask)
    mixed = Access(reads=("/out/s1/x", "/etc/passwd"))
    assert isinstance(await verdict(mixed, read_only=True, outputs="/out"), Ask)


@pytest.mark.parametrize(
    "name", [".env", ".env.local", "x.pem", "server.KEY", "id_rsa", "id_ed25519.pub", ".netrc", "credentials.json"]
)
def test_files_with_secrets_are_known_by_name(name):
    assert looks_secret(f"/w/{name}")


@pytest.mark.parametrize("name", ["env", "a.py", "keys.md", "environment", "my_credentials", "monkey"])
def test_other_files_are_not(name):
    assert not looks_secret(f"/w/{name}")


def test_the_first_path_outside_is_named():
    access = Access(reads=("/a/x", "/c/x"), writes=("/d",))
    assert outside_roots(access, ("/a", "/b")) == "/c/x"
    assert outside_roots(access, ("/",)) == ""
    assert outside_roots(Access(), ()) == ""


# ---------------------------------------------------------------- rules


def test_a_rule_names_the_command_the_files_or_the_input():
    assert pattern(CALL, Access(reads=("/a",), command="ls /a")) == "tool(ls /a)"
    assert pattern(CALL, Access(reads=("/a", "/b"), writes=("/a",))) == "tool(/a, /b)"
    assert pattern(CALL, Access()) == 'tool({"a": "é", "b": 1})'


@pytest.mark.parametrize(
    "line",
    [
        "git status; rm x",
        "git status && rm x",
        "git status | sh",
        "git status\nrm x",
        "git status & rm x",
        "git  status",
    ],
)
def test_a_rule_for_one_command_says_nothing_of_another(line):
    """X01"""
    rules = [Rule(ROOT, "tool(git status)", RuleEffect.ALLOW)]
    assert matching(rules, CALL, Access(command=line)) is None
    assert matching(rules, CALL, LIST) is RuleEffect.ALLOW
