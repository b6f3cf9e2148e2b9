"""What the mode and the roots say of a call that no rule speaks of."""

import pytest

from quillback.core.ports import Access, Mode, Rule, RuleEffect
from quillback.core.secrets import looks_secret
from quillback.core.verdict import Allow, Ask, Deny
from quillback.inspectors.permission import CHAT, PermissionInspector, outside_roots
from support.inspections import ROOT, inspection

pytestmark = pytest.mark.anyio

NOTHING = Access()


async def verdict(access=NOTHING, *, mode=Mode.APPROVE, read_only=False, rules=(), outputs=""):
    given = {"b": 1, "a": "é"}
    it = inspection("tool", access, read_only=read_only, mode=mode, rules=tuple(rules), given=given)
    return await PermissionInspector(outputs).inspect(it)


@pytest.mark.parametrize(
    ("mode", "read_only", "access", "said"),
    [
        (Mode.APPROVE, True, Access(), Allow()),
        (Mode.APPROVE, True, Access(reads=(f"{ROOT}/a", "/more/b")), Allow()),
        (Mode.APPROVE, True, Access(reads=(ROOT,)), Allow()),
        (Mode.APPROVE, True, Access(reads=("/etc/passwd",)), Ask("/etc/passwd is outside the workspace")),
        (Mode.APPROVE, True, Access(reads=(f"{ROOT}-too/a",)), Ask(f"{ROOT}-too/a is outside the workspace")),
        (
            Mode.APPROVE,
            True,
            Access(reads=(f"{ROOT}/.env",)),
            Ask(f"{ROOT}/.env looks like it holds keys or passwords"),
        ),
        (Mode.APPROVE, False, Access(), Ask("")),
        (Mode.APPROVE, False, Access(writes=(f"{ROOT}/a",)), Ask("")),
        (Mode.APPROVE, False, Access(command="ls", cwd=ROOT), Ask("")),
        (Mode.AUTO, False, Access(writes=(f"{ROOT}/a",)), Allow()),
        (Mode.AUTO, False, Access(command="ls", cwd=ROOT), Allow()),
        (Mode.AUTO, False, Access(writes=("/etc/x",)), Ask("/etc/x is outside the workspace")),
        (Mode.AUTO, True, Access(reads=(f"{ROOT}/a", "/elsewhere")), Ask("/elsewhere is outside the workspace")),
        (Mode.SMART, True, Access(reads=(f"{ROOT}/a",)), Allow()),
        (Mode.SMART, True, Access(reads=(f"{ROOT}/.env",)), Ask(f"{ROOT}/.env looks like it holds keys or passwords")),
        (Mode.SMART, False, Access(command="ls", cwd=ROOT), Ask("")),  # there is no judge
        (Mode.CHAT, True, Access(reads=(f"{ROOT}/a",)), Deny(CHAT)),
        (Mode.CHAT, False, Access(), Deny(CHAT)),
    ],
)
async def test_what_the_mode_says(mode, read_only, access, said):
    assert await verdict(access, mode=mode, read_only=read_only) == said


LIST = Access(command="git status", cwd=ROOT)


@pytest.mark.parametrize("mode", [Mode.APPROVE, Mode.SMART, Mode.AUTO])
async def test_a_stored_answer_comes_before_the_mode(mode):
    allow, reject = (Rule(ROOT, "tool(git status)", e) for e in (RuleEffect.ALLOW, RuleEffect.REJECT))
    assert await verdict(LIST, mode=mode, rules=[allow]) == Allow(rule="tool(git status)")
    said = Deny("not run: the user chose to always reject this call", rule="tool(git status)")
    assert await verdict(LIST, mode=mode, rules=[reject]) == said
    assert await verdict(LIST, mode=mode, rules=[allow, reject]) == said


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
