"""One file per wire shape, named by its type in the ACP schema: what is read is written back the same."""

import json
from pathlib import Path

import pytest

from quillback_protocol import acp
from quillback_protocol.acp.unions import TAGGED
from quillback_protocol.converter import get_converter, unstructure
from quillback_protocol.methods import METHODS

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.json"))
SHAPES = {path: path.name.partition(".")[0] for path in GOLDEN}


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden(path):
    obj = json.loads(path.read_text(encoding="utf-8"))
    kind = getattr(acp, SHAPES[path])
    value = get_converter().structure(obj, kind)
    assert unstructure(value, kind) == obj


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_unknown_keys_are_tolerated_and_not_written(path):
    obj = json.loads(path.read_text(encoding="utf-8"))
    kind = getattr(acp, SHAPES[path])
    value = get_converter().structure({**obj, "fromTheFuture": {"a": 1}}, kind)
    assert unstructure(value, kind) == obj


def test_every_method_has_a_golden_file():
    types = [kind for method in METHODS.values() for kind in (method.params, method.result) if kind]
    assert len(types) == 46
    missing = [kind for kind in types if not any(getattr(acp, name) == kind for name in SHAPES.values())]
    assert missing == []


@pytest.mark.parametrize("union", TAGGED, ids=lambda union: "-".join(union.members))
def test_every_member_of_a_union_has_a_golden_file(union):
    seen = set()
    for path, name in SHAPES.items():
        if getattr(acp, name) == union.union:
            seen.add(type(get_converter().structure(json.loads(path.read_text(encoding="utf-8")), union.union)))
    assert seen == set(union.members.values()) | ({union.untagged} if union.untagged else set())
