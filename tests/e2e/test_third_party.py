"""Inspectors of installed packages: they run after ours, and one that is broken never lets a call through unseen."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.agent import agent, environment
from support.fake_model import FakeModel, Use
from support.play import Desk, play
from support.requests import result_text

pytestmark = pytest.mark.anyio

CODE = """
from quillback.core.verdict import Allow, Deny

class Picky:
    name = "picky"

    async def inspect(self, inspection):
        return Deny("it says forbidden") if "forbidden" in inspection.access.command else Allow()

def broken():
    raise RuntimeError("no licence")
"""


def installed(tmp_path: Path, *points: str) -> dict[str, str]:
    """The environment in which a package with these entry points is installed."""
    site = tmp_path / "site"
    info = site / "picky-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "picky.py").write_text(CODE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: picky\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(["[quillback.inspectors]", *points]))
    paths = environment(tmp_path, "").get("PYTHONPATH", "")
    return {"PYTHONPATH": os.pathsep.join([str(site), paths]), "QUILLBACK_MODE": "auto"}


async def test_one_that_denies_is_heard(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=installed(tmp_path, "picky = picky:Picky")) as a:
        session = await a.session()
        uses = [Use("shell", {"command": f"echo {word}"}) for word in ("fine", "forbidden")]
        fine, forbidden = await play(a, fake, session, *uses)
        assert "fine" in result_text(fine)
        assert result_text(forbidden) == "not run: it says forbidden"
        entries = (await a.client.request("_quillback/audit", {"sessionId": session}))["entries"]
        assert [e["findings"][-1]["inspector"] for e in entries] == ["picky", "picky"]


async def test_one_that_is_broken_asks_and_the_doctor_says_why(tmp_path, fake: FakeModel):
    env = installed(tmp_path, "picky = picky:broken")
    async with agent(tmp_path, fake.base_url, env=env) as a:
        session = await a.session()
        desk = Desk(a)
        (result,) = await play(a, fake, session, Use("shell", {"command": "echo hi"}))
        assert result["is_error"]
        assert "picky inspector could not be loaded" in str(desk.asked[0]["toolCall"]["content"])
    command = [sys.executable, "-m", "quillback", "doctor"]
    done = subprocess.run(
        command, env=environment(tmp_path / "home", "", env), capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 1
    assert "the inspector picky (picky:broken) cannot be loaded: RuntimeError: no licence" in done.stdout
