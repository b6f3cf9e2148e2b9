"""V01 V03 V05: what the model's service can do wrong, and what the turn makes of it."""

import asyncio
import re
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from quillback_protocol.outgoing import RemoteError
from support.agent import KEY, agent, calls, texts
from support.fake_model import Drop, Eof, ErrorEvent, FakeModel, Hang, Open, Redacted, Reply, Say, Think, Use
from support.requests import blocks, last_request, results

pytestmark = pytest.mark.anyio
AUTO = {"QUILLBACK_MODE": "auto"}


def refused(status: int, kind: str, message: str = "no luck", **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, error=(kind, message), headers=named)


def after(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


AGAIN = {  # what is tried again: the replies before the good one, and the least and the most seconds it takes
    "overloaded in mid-stream": (Reply(Open(Say("half of")), ErrorEvent()), 1.0, 2.5),
    "api_error in mid-stream": (Reply(Open(Say("half of")), ErrorEvent("api_error", "oops")), 1.0, 2.5),
    "rate limit in mid-stream": (Reply(ErrorEvent("rate_limit_error", "slow down")), 1.0, 2.5),
    "no message_stop": (Reply(Say("half of"), message_stop=False), 1.0, 2.5),
    "no stop reason": (Reply(Say("half of"), Eof()), 1.0, 2.5),
    "dropped connection": (Reply(Open(Say("half of")), Drop()), 1.0, 2.5),
    "dropped at once": (Reply(Drop()), 1.0, 2.5),
    "silence": (Reply(Open(Say("half of")), Hang()), 3.0, 5.0),  # two seconds until it is noticed
    "429": (refused(429, "rate_limit_error", retry_after="3"), 3.0, 4.5),
    "429 in milliseconds": (refused(429, "rate_limit_error", retry_after_ms="2500"), 2.5, 4.0),
    "503 with a date": (lambda _: refused(503, "api_error", retry_after=after(4)), 3.0, 5.5),
    "503 with a date gone by": (lambda _: refused(503, "api_error", retry_after=after(-90)), 1.0, 2.5),
    "529": (refused(529, "overloaded_error"), 1.0, 2.5),
    "500": (refused(500, "api_error"), 1.0, 2.5),
    "408": (refused(408, "timeout_error"), 1.0, 2.5),
    "409": (refused(409, "conflict_error"), 1.0, 2.5),
    "HTML": (Reply(status=502, error=("", "")), 1.0, 2.5),
}
NEVER = {  # what is not tried again, and what the user must be told
    "invalid in mid-stream": (Reply(Open(Say("half of")), ErrorEvent("invalid_request_error", "bad tool")), "bad tool"),
    "400": (refused(400, "invalid_request_error", "max_tokens too large"), "max_tokens too large"),
    "401": (refused(401, "authentication_error", "invalid x-api-key"), "key"),
    "401 that quotes the key": (refused(401, "authentication_error", f"bad key {KEY}"), "key"),
    "403": (refused(403, "permission_error", "not for you"), "not for you"),
    "404": (refused(404, "not_found_error", "model: nope"), "nope"),
    "413": (refused(413, "request_too_large", "too big"), "too big"),
    "an hour": (refused(429, "rate_limit_error", retry_after="3600"), "hour|60 minutes"),
}
LIMIT_SLACK = 6.0  # seconds that a busy machine may add


async def test_failed_requests_are_tried_again_where_that_helps(tmp_path, fake: FakeModel):
    """All at once, since most of it is waiting."""
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_STREAM_IDLE_TIMEOUT": "2"}) as a:
        answers = await asyncio.gather(
            *(_again(a, fake, f"again-{n}", name, *case) for n, (name, case) in enumerate(AGAIN.items())),
            *(_never(a, fake, f"never-{n}", name, *case) for n, (name, case) in enumerate(NEVER.items())),
            _five_failures(a, fake),
        )
    assert answers == ["all of it"] * len(AGAIN) + ["next"] * len(NEVER) + [""]


async def _again(a, fake: FakeModel, token: str, name: str, bad, least: float, most: float) -> str:
    """The answer in the end."""
    fake.script(token, bad, Reply(Say("all of it")))
    session = await a.session()
    begun = time.monotonic()
    turn = await a.client.prompt(session, f"[[{token}]]")
    took = time.monotonic() - begun
    assert turn.stop_reason == "end_turn", name
    assert least <= took < most + LIMIT_SLACK, f"{name}: {took:.1f} s"
    requests = [s for s in fake.requests if s.token == token]
    assert len(requests) == 2, name
    assert requests[0].body["messages"] == requests[1].body["messages"], name
    shown = texts(turn.updates)
    assert list(shown.values())[-1].strip() == "all of it"
    waits = "".join(texts(turn.updates, "agent_thought_chunk").values())
    assert re.search(r"again in \d+ s \(2 of 5\)", waits), name
    first = {u["messageId"]: u.get("_meta", {}) for u in reversed(turn.updates) if "chunk" in u["sessionUpdate"]}
    replaced = [m.get("quillback.dev", {}).get("supersedes") for i, m in first.items() if i == list(shown)[-1]]
    assert replaced == [list(shown)[:-1] or None], name
    return str(turn.result["_meta"]["quillback.dev"]["text"])


async def _never(a, fake: FakeModel, token: str, name: str, bad: Reply, told: str) -> str:
    """The answer to the prompt after the one that failed."""
    fake.script(token, bad)
    fake.script(f"{token}-b", Reply(Say("next")))
    session = await a.session()
    with pytest.raises(RemoteError, match=told) as error:
        await a.client.prompt(session, f"[[{token}]]")
    assert error.value.code == -32603, name
    assert "Traceback" not in str(error.value.data), name
    assert KEY not in f"{error.value.message}{error.value.data}"
    assert sum(s.token == token for s in fake.requests) == 1, name
    turn = await a.client.prompt(session, f"[[{token}-b]]")
    assert turn.stop_reason == "end_turn", name
    return turn.text


async def _five_failures(a, fake: FakeModel) -> str:
    """No answer."""
    fake.script("five", *[refused(529, "overloaded_error", "Overloaded") for _ in range(6)])
    session = await a.session()
    begun = time.monotonic()
    with pytest.raises(RemoteError, match=r"Overloaded.*5 tries"):
        await a.client.prompt(session, "[[five]]")
    assert sum(s.token == "five" for s in fake.requests) == 5
    assert 15 <= time.monotonic() - begun < 15 * 1.25 + LIMIT_SLACK
    return ""


async def test_an_abandoned_reply_leaves_one_reply_in_the_stream(tmp_path, fake: FakeModel):
    read = Use("read_file", {"path": "r.txt"}, id="toolu_first")
    cut = Use("shell", {"command": "touch never.txt"}, id="toolu_cut")
    fake.script(
        "a",
        Reply(Think("thinking"), Say("first try"), read, Open(cut), ErrorEvent()),
        Reply(Say("second try"), Use("read_file", {"path": "r.txt"}, id="toolu_second")),
        Reply(Say("done")),
    )
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        (a.workspace / "r.txt").write_text("x\n")
        session = await a.session()
        turn = await a.client.prompt(session, "[[a]]")
        ends = [c["seen"][-1] for c in calls(turn.updates).values()]
        assert len(ends) == 3
        assert ends[1:] == ["failed", "completed"]
        assert not (a.workspace / "never.txt").exists()
        shown = texts(turn.updates)
        first_try, second_try, _ = shown
        thought = next(iter(texts(turn.updates, "agent_thought_chunk")))
        told = [u["_meta"]["quillback.dev"]["supersedes"] for u in turn.updates if "supersedes" in str(u.get("_meta"))]
        assert [sorted(t) for t in told] == [sorted([thought, first_try])]
        marked = next(u for u in turn.updates if u.get("_meta"))
        assert marked["messageId"] == second_try
    body = last_request(fake, "a")
    assert "first try" not in str(body)
    assert list(results(body)) == ["toolu_second"]
    async with agent(tmp_path, fake.base_url) as b:
        await b.client.load_session(session, b.workspace)
        assert [t.strip() for t in texts(b.client.updates[session]).values()] == ["second try", "done"]


FULL = "model_context_window_exceeded"


async def test_every_stop_reason_ends_a_turn_as_it_should(tmp_path, fake: FakeModel):
    call = Use("shell", {"command": "touch cut.txt"})
    cases = {  # the replies, the stop reason of the turn, how many requests, and what is shown at its end
        "stop_sequence": ([Reply(Say("said"), stop="stop_sequence")], "end_turn", 1, "said"),
        "max_tokens": ([Reply(Say("long"), stop="max_tokens")], "max_tokens", 1, "cut off"),
        "cut call": ([Reply(Open(call), stop="max_tokens"), Reply(Say("smaller"))], "end_turn", 2, "smaller"),
        "always cut": ([Reply(Open(call), stop="max_tokens") for _ in range(5)], "max_tokens", 3, "cut off"),
        "refusal": ([Reply(Say("I must"), stop="refusal")], "refusal", 1, "declined"),
        "silent refusal": ([Reply(stop="refusal")], "refusal", 1, "declined"),
        "pause": ([Reply(Say("search"), stop="pause_turn"), Reply(Say("ed"))], "end_turn", 2, "ed"),
        "always paused": ([Reply(Say(f"p{n}"), stop="pause_turn") for n in range(9)], "end_turn", 6, "paused"),
        "window": ([Reply(Say("half"), stop=FULL), Reply(Say("the rest"))], "end_turn", 2, "the rest"),
        "always full": ([Reply(Say("half"), stop=FULL) for _ in range(5)], "max_tokens", 3, "context window"),
        "made up": ([Reply(Say("odd"), stop="cosmic_ray")], "end_turn", 1, "odd"),
        "no call": ([Reply(Say("I will"), stop="tool_use") for _ in range(9)], "end_turn", 4, "sent none"),
        "empty": ([Reply(), Reply(), Reply(Say("at last"))], "end_turn", 3, "at last"),
        "always empty": ([Reply() for _ in range(9)], "end_turn", 4, "empty reply"),
        "thoughts alone": ([Reply(Think("hm")), Reply(Say("so"))], "end_turn", 2, "so"),
        "blank": ([Reply(Say(" \n ")), Reply(Say("text"))], "end_turn", 2, "text"),
    }
    async with agent(tmp_path, fake.base_url, env={**AUTO, "QUILLBACK_LOG": "warning"}) as a:

        async def turn(number: int, name: str) -> None:
            replies, reason, requests, shown = cases[name]
            fake.script(f"s{number}", *replies)
            fake.script(f"s{number}-b", Reply(Say("next")))
            session = await a.session()
            it = await a.client.prompt(session, f"[[s{number}]] forbidden-{number}")
            assert it.stop_reason == reason, name
            assert sum(s.token == f"s{number}" for s in fake.requests) == requests, name
            assert shown in list(texts(it.updates).values())[-1], name
            await a.client.prompt(session, f"[[s{number}-b]]")
            later = str(last_request(fake, f"s{number}-b")["messages"])
            assert (f"forbidden-{number}" in later) == (reason != "refusal"), name

        await asyncio.gather(*(turn(number, name) for number, name in enumerate(cases)))
        assert not (a.workspace / "cut.txt").exists()
        assert "cosmic_ray" in a.client.stderr
    paused = last_request(fake, "s6")["messages"]
    assert (paused[-1]["role"], blocks(last_request(fake, "s6"), "assistant")[0]["text"]) == ("assistant", "search")


async def test_each_wait_is_told_under_an_id_of_its_own(tmp_path, fake: FakeModel):
    busy, read = refused(529, "overloaded_error"), Use("read_file", {"path": "r.txt"})
    fake.script("a", busy, Reply(read), busy, Reply(Say("one")))
    fake.script("b", busy, Reply(Say("two")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turns = [await a.client.prompt(session, f"[[{token}]]") for token in "ab"]
    remarks = texts([u for turn in turns for u in turn.updates], "agent_thought_chunk")
    assert [text.strip().count("Trying again") for text in remarks.values()] == [1, 1, 1]


async def test_redacted_thoughts_alone_are_an_empty_reply(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Redacted("c2VjcmV0")), Reply(Say("said")))
    async with agent(tmp_path, fake.base_url) as a:
        turn = await a.client.prompt(await a.session(), "[[a]]")
        assert (turn.stop_reason, turn.text) == ("end_turn", "said")
