"""The table of command lines: what security alone says, and what the chain says with the rule `git log:*`."""

from pathlib import Path

import pytest

from quillback.core.ports import Mode
from quillback.core.verdict import Allow, merge
from quillback.inspectors.permission import PermissionInspector
from quillback.inspectors.security import SecurityInspector
from quillback.inspectors.security_paths import Places
from quillback.inspectors.security_patterns import PATTERNS, hits
from quillback.inspectors.security_scene import Scene
from quillback.inspectors.shell_rules import allowed
from quillback.inspectors.shell_syntax import parse
from support.inspecting import HOME, ROOT, shell, table

pytestmark = pytest.mark.anyio

TABLE = table(Path(__file__).with_name("commands.tsv"))
LINES = [line for rows in TABLE.values() for _, _, line in rows]
RULES = ["git log:*"]


def word(verdict: object) -> str:
    return type(verdict).__name__.lower()


@pytest.mark.parametrize("section", TABLE)
async def test_security_says_what_the_table_says(section):
    security = SecurityInspector((f"{HOME}/.q",), home=HOME)
    wrong = []
    for _, expected, line in TABLE[section]:
        verdict = await security.inspect(shell(line))
        if word(verdict) != expected:
            wrong.append((line, expected, verdict))
    assert wrong == []


@pytest.mark.parametrize("section", TABLE)
async def test_the_chain_says_what_the_table_says(section):
    security, permission = SecurityInspector((f"{HOME}/.q",), home=HOME), PermissionInspector()
    wrong = []
    for expected, _, line in TABLE[section]:
        call = shell(line, mode=Mode.APPROVE)
        by_rules = Allow() if allowed(parse(line), RULES) else await permission.inspect(call)
        verdict = merge([await security.inspect(call), by_rules])
        if word(verdict) != expected:
            wrong.append((line, expected, verdict))
    assert wrong == []


def test_the_table_is_large_and_has_no_line_twice():
    assert len(LINES) > 1000
    assert len(set(LINES)) == len(LINES)


def test_every_pattern_is_hit_by_a_line_of_the_table():
    places = Places((ROOT,), HOME, (f"{HOME}/.q",))
    hit = {id(found.pattern) for line in LINES for found in hits(Scene(parse(line), places, ROOT))}
    assert [p.reason for p in PATTERNS if id(p) not in hit] == []


async def test_a_denial_says_what_is_wrong_and_not_that_the_user_refused():
    verdict = await SecurityInspector(home=HOME).inspect(shell("ls; timeout 5 rm -rf / #"))
    assert verdict.reason.startswith("not run: `rm -rf /` removes")
    assert "user declined" not in verdict.reason
