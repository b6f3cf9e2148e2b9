"""Every rule can fail, and holds for a good agent."""

import sys
from pathlib import Path

import pytest

from quillback.conformance.rule import Failed, Passed
from quillback.conformance.runner import chosen
from support.checking import mock, verdicts
from support.misbehaviour import GOOD, GOOD_ALONE, GOOD_ELSEWHERE, MISBEHAVIOURS, NAIVE, Misbehaviour

pytestmark = pytest.mark.anyio
AGENT = Path(__file__).parents[1] / "support" / "naive_agent.py"


def test_every_rule_has_an_agent_that_breaks_it():
    broken = {name for one in MISBEHAVIOURS for name in one.breaks}
    broken |= {f"ACP-{name}" for names in NAIVE.values() for name in names}
    assert broken == {rule.id for rule in chosen([])}


@pytest.mark.parametrize("one", MISBEHAVIOURS, ids=lambda one: one.name)
async def test_an_agent_that_breaks_rules_fails_them(tmp_path: Path, one: Misbehaviour):
    found = await verdicts(
        mock(tmp_path, one.script),
        tmp_path,
        one.breaks,
        prompts=one.prompts,
        long_prompt=one.long_prompt,
        timeout=one.timeout,
    )
    assert {name: v for name, v in found.items() if not isinstance(v, Failed)} == {}


@pytest.mark.parametrize("way", NAIVE)
async def test_a_naive_way_of_reading_fails(tmp_path: Path, way: str):
    only = [f"ACP-{name}" for name in NAIVE[way]]
    found = await verdicts([sys.executable, str(AGENT), way], tmp_path, only, timeout=4.0)
    assert {name: v for name, v in found.items() if not isinstance(v, Failed)} == {}


async def test_the_naive_agent_is_good_where_it_is_not_naive(tmp_path: Path):
    found = await verdicts([sys.executable, str(AGENT), "none"], tmp_path, ["ACP-WIRE-00"])
    assert {name for name, v in found.items() if isinstance(v, Passed)} == {f"ACP-WIRE-00{n}" for n in range(1, 10)}


async def test_a_good_agent_passes_every_rule(tmp_path: Path):
    """The paging of lists needs more sessions than a page has; the rule makes them."""
    found = await verdicts(mock(tmp_path, GOOD), tmp_path)
    alone = {f"ACP-{name}" for name in GOOD_ALONE}
    assert {
        name: v for name, v in found.items() if not isinstance(v, Passed) and name not in GOOD_ELSEWHERE | alone
    } == {}


@pytest.mark.parametrize("name", GOOD_ALONE)
async def test_a_good_agent_of_another_kind_passes(tmp_path: Path, name: str):
    found = await verdicts(mock(tmp_path, GOOD_ALONE[name]), tmp_path, [f"ACP-{name}"])
    assert found == {f"ACP-{name}": Passed()}
