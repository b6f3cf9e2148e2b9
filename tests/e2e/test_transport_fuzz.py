"""Rubbish between valid requests: the process lives, and every valid request is answered exactly once."""

import json
import random

import pytest

from support.fake_model import FakeModel, Reply, Say
from support.pipe import INITIALIZE, Pipe, pipe, prompt

pytestmark = pytest.mark.anyio
ROUNDS = 400


def rubbish(dice: random.Random, session: str) -> bytes:
    """One line that is no valid request, or a notification or answer that nobody waits for. Never holds a newline."""
    deep = dice.randint(1, 3000)
    value = dice.choice([None, True, -1, 1.5, "x", [], {}, [[]], {"a": {"b": []}}, "\ud800", "\0", 10**30])
    method = dice.choice(["session/prompt", "session/new", "session/cancel", "initialize", "$/cancel_request", "x", ""])
    valid = json.dumps({"jsonrpc": "2.0", "id": 1, **prompt(session, "x" * dice.randint(0, 200))}).encode()
    start = dice.randrange(len(valid))
    lines = [
        bytes(dice.choice([b for b in range(256) if b != 10]) for _ in range(dice.randint(1, 80))),
        b"[" * deep + b"]" * dice.randint(0, deep),
        b'{"a":' * deep,
        valid[:start],
        valid[start + 1 :],
        valid.replace(b'"2.0"', b'"1.0"'),
        valid.replace(b'"2.0"', b"2.0"),
        b"\xef\xbb\xbf" + valid[:-1],
        json.dumps({"jsonrpc": "2.0", "method": method, "params": value}).encode(),
        json.dumps({"jsonrpc": "2.0", "method": value, "id": {"no": "id"}}).encode(),
        json.dumps({"jsonrpc": "2.0", "id": [1], "method": method}).encode(),
        json.dumps({"jsonrpc": "2.0", "id": dice.choice([1, "a", None, 9999]), "result": value}).encode(),
        json.dumps({"jsonrpc": "2.0", "id": dice.choice([1, "a", None]), "error": value}).encode(),
        json.dumps([value, value]).encode(),
        json.dumps(value).encode(),
        b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"nobody"}}',
        b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"nobody"}}',
        b'{"jsonrpc":"2.0","id":NaN,"method":"x"}',
        b'{"jsonrpc":"2.0","jsonrpc":"2.0"}',
        b"\r\r \t",
    ]
    return dice.choice(lines)


def requests(dice: random.Random, number: int, session: str) -> tuple[dict, set[int | None]]:
    """A request with an id of its own, and the error codes it may be answered with; None is a result."""
    ask = {"id": f"ask-{number}" if number % 2 else 10_000 + number}
    return dice.choice(
        [
            (ask | {"method": "session/list", "params": {}}, {None}),
            (ask | {"method": "session/list", "params": {"cursor": "junk"}}, {-32602}),
            (ask | {"method": "session/set_mode", "params": {"sessionId": session, "modeId": "auto"}}, {None}),
            (ask | {"method": "session/set_mode", "params": {"sessionId": session}}, {-32602}),
            (ask | {"method": "session/close", "params": {"sessionId": "nobody"}}, {-32002}),
            (ask | {"method": "session/delete", "params": {"sessionId": "nobody"}}, {None}),
            (ask | {"method": "session/new", "params": {"cwd": 5}}, {-32602}),
            (ask | {"method": "session/new", "params": [1, 2]}, {-32602}),
            (ask | {"method": "_none/at/all"}, {-32601}),
            ({**prompt(session, "hello"), **ask}, {None}),
            (ask | {"method": "session/prompt", "params": {"sessionId": session, "prompt": "text"}}, {-32602}),
        ]
    )


@pytest.mark.parametrize("seed", [1, 2])
async def test_every_valid_request_is_answered_once_whatever_stands_between(tmp_path, fake: FakeModel, seed):
    fake.when(lambda _: True, *[Reply(Say("fine")) for _ in range(ROUNDS)])
    dice = random.Random(seed)
    async with pipe(tmp_path, fake.base_url) as p:
        p.listen()
        session = await p.session()
        due = {}
        for number in range(ROUNDS):
            request, allowed = requests(dice, number, session)
            due[json.dumps(request["id"])] = allowed
            await p.send(*(rubbish(dice, session) for _ in range(dice.randint(0, 3))), request)
        await p.send({"id": "the last", "method": "session/list"})
        await _all_answered(p, due)
        p.close_input()
        assert await p.ended() == 0
        assert b"Traceback" not in await p.process.stderr.read()
    answers = [m for m in p.lines if "method" not in m]
    for key, allowed in due.items():
        (answer,) = [m for m in answers if json.dumps(m["id"]) == key]
        assert answer.get("error", {}).get("code") in allowed, (key, answer)
    for message in p.lines:
        assert message["jsonrpc"] == "2.0"
        assert ("error" in message) + ("result" in message) + ("method" in message) == 1
        assert "Traceback" not in str(message.get("error"))


async def _all_answered(p: Pipe, due: dict[str, set[int | None]]) -> None:
    left = {*due, json.dumps("the last")}
    while left:
        message = await p.line()
        if "method" not in message:
            left.discard(json.dumps(message["id"]))


async def test_rubbish_before_the_first_request_does_no_harm(tmp_path, fake: FakeModel):
    for first in (b"\xff\xfe\x00", b"[]", b"null", b'{"jsonrpc":"2.0","method":"session/cancel"}', b"\r", b"{" * 5000):
        async with pipe(tmp_path, fake.base_url) as p:
            await p.send(first, INITIALIZE)
            assert (await p.answer("init"))["result"]["protocolVersion"] == 1
            p.close_input()
            assert await p.ended() == 0
