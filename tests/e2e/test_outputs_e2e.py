"""Kept outputs of long ago go while an agent runs; those of a session that is open in another process stay."""

import os
import time
from pathlib import Path

import pytest

from support.agent import agent
from support.fake_model import FakeModel
from support.play import shell
from support.processes import until

pytestmark = pytest.mark.anyio
AUTO = {"QUILLBACK_MODE": "auto"}


def age(directory: Path, days: int) -> None:
    for file in directory.iterdir():
        os.utime(file, (time.time() - days * 86_400,) * 2)


async def test_old_outputs_go_unless_their_session_is_open(tmp_path, fake: FakeModel):
    outputs = tmp_path / "home" / "quillback" / "outputs"
    async with agent(tmp_path, fake.base_url, env=AUTO) as holder:
        held = await holder.session()
        async with agent(tmp_path, fake.base_url, env=AUTO) as a:
            left = await a.session()
            for agent_of_it, session in ((holder, held), (a, left)):
                await shell(agent_of_it, fake, session, "seq 20000")
        for session in (held, left):
            assert len(list((outputs / session).iterdir())) == 1
            age(outputs / session, 31)
        async with agent(tmp_path, fake.base_url, env=AUTO) as b:
            await b.session()
            assert await until(lambda: not (outputs / left).exists(), 10)
            assert len(list((outputs / held).iterdir())) == 1
