"""A session of thousands of steps: all requests valid, nothing lost, memory and time per step as at its start."""

import os
import statistics

import pytest

from support.agent import agent, calls
from support.marathon import ENV, Marathon, compactions, shown

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
LONG = os.environ.get("SOAK") == "long"


async def proven(tmp_path, model: Marathon, window: int, turns: list[int], least: int) -> None:
    """Runs it, and looks at what a second process shows of it."""
    async with agent(tmp_path, model.base_url, env={**ENV, "QUILLBACK_CONTEXT_WINDOW": str(window)}) as a:
        session = await model.run(a, turns)
    assert model.violations == []
    assert len(model.marks) == sum(turns)
    assert max(model.sizes) < window
    assert len(model.side_requests) >= least
    async with agent(tmp_path, model.base_url) as b:
        await b.client.load_session(session, b.workspace)
        updates = b.client.updates[session]
        assert compactions(updates) == len(model.side_requests)
        assert shown(updates) == model.wanted
        assert {call["status"] for call in calls(updates).values()} == {"completed"}


async def test_a_session_of_150_steps(tmp_path):
    async with Marathon(size=2_000) as model:
        await proven(tmp_path, model, window=20_000, turns=[90, 1, 29, 30], least=3)


@pytest.mark.skipif(not LONG, reason="takes minutes: make soak")
@pytest.mark.timeout(1_800)
async def test_a_session_of_2000_steps(tmp_path):
    async with Marathon(size=6_000) as model:
        await proven(tmp_path, model, window=200_000, turns=[1_000, *[1] * 50, *[50] * 19], least=10)
    growth = model.marks[1_999].memory - model.marks[199].memory
    early, late = model.pace(50, 150), model.pace(1_900, 2_000)
    print(f"memory: {model.marks[199].memory:.1f} MiB at step 200, {growth:+.1f} at step 2,000")
    print(f"a step: {statistics.median(early) * 1000:.1f} ms, later {statistics.median(late) * 1000:.1f} ms")
    print(f"processor: {model.cpu(50, 150) * 1000:.1f} ms, later {model.cpu(1_900, 2_000) * 1000:.1f} ms")
    print(f"{len(model.side_requests)} compactions")
    assert growth < 15
    assert statistics.median(late) < 1.5 * statistics.median(early)
    assert model.cpu(1_900, 2_000) < 1.5 * model.cpu(50, 150)
