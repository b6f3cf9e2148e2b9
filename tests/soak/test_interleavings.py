"""Random interleavings of all that users, hooks, the model's service and kills do, against the real process.

Whatever happens: one answer to each prompt, valid requests only, no word of the user lost, no call left open, and a
clean exit at the end of the input.
"""

import os
import time
from pathlib import Path
from random import Random

import pytest

from support.agent import agent
from support.chaos import ChaoticModel, answers, hooks
from support.interleaving import Interleaving, files, unanswered
from support.manners import breaches

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
LONG = os.environ.get("SOAK") == "long"
ROUNDS = int(os.environ.get("SOAK_ROUNDS", "100"))
FIRST = int(os.environ.get("SOAK_SEED", "0")) or int(time.time())
SEEDS = range(FIRST, FIRST + ROUNDS) if LONG else range(3)


@pytest.mark.parametrize("seed", SEEDS)
async def test_promises_hold_in_any_order(tmp_path: Path, seed: int):
    it = Interleaving(seed)
    try:
        await lives(tmp_path, it, seed)
    except BaseException as error:
        told = "\n".join(it.steps)
        raise AssertionError(f"seed {seed}: {error!r}, after\n{told}") from error


async def lives(tmp_path: Path, it: Interleaving, seed: int) -> None:
    """Three processes, one after the other, with the same sessions."""
    hooks(tmp_path / "home/quillback")
    files(tmp_path / "workspace")
    rng = Random(f"{seed} lives")
    async with ChaoticModel(seed) as model:
        for number in range(3):
            end = "settled" if number == 2 else rng.choice(["settled", "eof", "killed", "killed"])
            it.steps.append(f"-- process {number}, until it is {end}")
            async with agent(tmp_path, model.base_url, env={"QUILLBACK_MODE": "auto"}, polite=False) as a:
                answers(a, Random(f"{seed} editor {number}"))
                await it.life(a, sessions=3, steps=rng.randrange(6, 18), end=end)
            assert breaches(a.client.log, {}) == []
            assert "Traceback" not in a.client.stderr
            if end != "killed":
                assert unanswered(a.client.log) == {}
                assert a.client.exit_code == 0, a.client.stderr
            assert model.violations == []
