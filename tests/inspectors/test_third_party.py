"""Inspectors of other packages: run after ours, and a broken one asks instead of letting calls through."""

import asyncio
from importlib.metadata import EntryPoint

import pytest

from quillback.core.verdict import Allow, Ask
from quillback.inspectors import third_party
from quillback.inspectors.third_party import GROUP, Missing, ThirdParty, load
from support.inspections import inspection

pytestmark = pytest.mark.anyio


class Fine:
    name = "fine"

    async def inspect(self, _):
        return Allow()


def broken():
    raise RuntimeError("no licence")


def nothing():
    return None


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, GROUP)


def test_they_are_loaded_in_the_order_of_their_names(monkeypatch):
    monkeypatch.setattr(third_party, "Fine", Fine, raising=False)
    found, problems = load([point(n, "quillback.inspectors.third_party:Fine") for n in ("b", "a")])
    assert ([i.name for i in found], problems) == (["fine", "fine"], [])


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("no.such.module:x", "ModuleNotFoundError"),
        ("quillback.inspectors.third_party:nope", "AttributeError"),
        ("quillback.inspectors.third_party:broken", "RuntimeError: no licence"),
        ("quillback.inspectors.third_party:nothing", "without a name"),
        ("quillback.inspectors.third_party:GROUP", "TypeError"),
    ],
)
async def test_one_that_cannot_be_loaded_is_reported_and_asks(value, says, monkeypatch):
    monkeypatch.setattr(third_party, "broken", broken, raising=False)
    monkeypatch.setattr(third_party, "nothing", nothing, raising=False)
    (stand_in,), (problem,) = load([point("extra", value)])
    assert problem.startswith(f"the inspector extra ({value}) cannot be loaded: ")
    assert says in problem
    assert stand_in == Missing("extra")
    assert isinstance(await stand_in.inspect(inspection()), Ask)


async def test_they_are_loaded_once_when_they_are_needed(monkeypatch):
    loads = []

    def loading():
        loads.append(1)
        return [Fine()], []

    monkeypatch.setattr(third_party, "load", loading)
    them = ThirdParty()
    assert loads == []
    first, second = await asyncio.gather(them.inspectors(), them.inspectors())
    assert first is second
    assert len(loads) == 1
