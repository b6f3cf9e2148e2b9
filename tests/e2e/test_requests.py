"""V07 V09 V11: what is in the requests to the model: thoughts, cache marks, settings, and where they are sent."""

import base64
import json

import pytest

from quillback_protocol.outgoing import RemoteError
from support.agent import agent, processes, texts
from support.fake_model import FakeModel, Hang, Raw, Redacted, Reply, Say, Think, Use
from support.pictures import png
from support.play import kill, play
from support.processes import until
from support.requests import blocks, last_request, result_text, results

pytestmark = pytest.mark.anyio
AUTO = {"QUILLBACK_MODE": "auto"}
KEYS = ("type", "text", "thinking", "signature", "data", "id", "name", "input")


def shape(parts):
    return [{k: v for k, v in part.items() if k in KEYS} for part in parts]


async def test_thoughts_go_back_as_they_came_even_after_a_kill(tmp_path, fake: FakeModel):
    one = Use("read_file", {"path": "r.txt"}, id="toolu_one")
    two = Use("shell", {"command": "sleep 603.1"}, id="toolu_two")
    served = [
        Think("", signature="c2lnLWVtcHR5"),
        Redacted("cmVkYWN0ZWQ="),
        Think("first\n  thought ", signature="c2lnLW9uZQ==", deltas=4),
        Say("Reading."),
        one,
        Think("second 😀", signature="c2lnLXR3bw==", deltas=3),
        two,
    ]
    fake.script("a", Reply(*served))
    fake.script("b", Reply(Say("next")))
    fake.script("c", Reply(Say("last")))
    env = {**AUTO, "QUILLBACK_THINKING": "high"}
    async with agent(tmp_path, fake.base_url, env=env, polite=False) as a:
        (a.workspace / "r.txt").write_text("x\n")
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        assert await until(lambda: processes("603.1"), 20)
        await turn.until(lambda u: u.get("status") == "completed")
        await kill(a, turn)
    assert await until(lambda: not processes("603.1"))
    for token in "bc":
        async with agent(tmp_path, fake.base_url, env=env) as b:
            await b.client.load_session(session, b.workspace)
            await b.client.prompt(session, f"[[{token}]]")
    sent = shape(blocks(last_request(fake, "b"), "assistant"))
    assert sent == [
        {"type": "thinking", "thinking": "", "signature": "c2lnLWVtcHR5"},
        {"type": "redacted_thinking", "data": "cmVkYWN0ZWQ="},
        {"type": "thinking", "thinking": "first\n  thought ", "signature": "c2lnLW9uZQ=="},
        {"type": "text", "text": "Reading."},
        {"type": "tool_use", "id": "toolu_one", "name": "read_file", "input": {"path": "r.txt"}},
        {"type": "thinking", "thinking": "second 😀", "signature": "c2lnLXR3bw=="},
        {"type": "tool_use", "id": "toolu_two", "name": "shell", "input": {"command": "sleep 603.1"}},
    ]
    assert shape(blocks(last_request(fake, "c"), "assistant"))[:7] == sent
    found = results(last_request(fake, "c"))
    assert not found["toolu_one"].get("is_error")
    assert found["toolu_two"]["is_error"]
    assert "interrupted" in result_text(found["toolu_two"])


def event(**fields: object) -> Raw:
    return Raw(f"event: {fields['type']}\ndata: {json.dumps(fields)}\n\n".encode())


async def test_a_thought_that_was_cut_before_its_signature_is_not_sent_back(tmp_path, fake: FakeModel):
    opened = event(
        type="content_block_start", index=0, content_block={"type": "thinking", "thinking": "", "signature": ""}
    )
    grown = event(type="content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "half a thought"})
    fake.script("a", Reply(opened, grown, Hang()))
    fake.script("b", Reply(Say("next")))
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_THINKING": "high"}) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(lambda u: u["sessionUpdate"] == "agent_thought_chunk")
        a.client.cancel(session)
        await turn.finished()
        assert (await a.client.prompt(session, "[[b]]")).stop_reason == "end_turn"
    assert "half a thought" not in json.dumps(last_request(fake, "b"))
    async with agent(tmp_path, fake.base_url) as b:  # it was on the screen, so it stays there
        await b.client.load_session(session, b.workspace)
        assert list(texts(b.client.updates[session], "agent_thought_chunk").values()) == ["half a thought"]


def marks(value: object) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(marks(v) for v in value.values())
    return sum(marks(v) for v in value) if isinstance(value, list) else 0


def unmarked(value: object) -> object:
    if isinstance(value, dict):
        return {k: unmarked(v) for k, v in value.items() if k != "cache_control"}
    return [unmarked(v) for v in value] if isinstance(value, list) else value


async def test_requests_grow_at_their_end_only_and_carry_few_marks(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        (a.workspace / "r.png").write_bytes(base64.b64decode(png()))
        session = await a.session()
        for n in range(6):
            uses = [Use("shell", {"command": f"echo {n}"}), Use("nope", {}), Use("read_file", {"path": "r.png"})]
            fake.script(f"t{n}", Reply(Think(f"thought {n}"), Say("x"), *uses), Reply(Say(f"answer {n}")))
            assert (await a.client.prompt(session, f"[[t{n}]]")).stop_reason == "end_turn"
    fake.script("again", Reply(Say("after the restart")))
    async with agent(tmp_path, fake.base_url, env=AUTO) as b:
        await b.client.request("session/resume", {"sessionId": session, "cwd": str(b.workspace), "mcpServers": []})
        await b.client.prompt(session, "[[again]]")
    bodies = [seen.body for seen in fake.requests]
    assert len(bodies) == 13
    assert json.dumps(bodies[-1]).count('"type": "image"') == 6
    for before, body in zip([None, *bodies], bodies, strict=False):
        assert 1 <= marks(body) <= 4
        assert marks(body["tools"]) == 1
        if before is not None:
            assert unmarked(before["system"]) == unmarked(body["system"])
            assert json.dumps(unmarked(before["tools"])) == json.dumps(unmarked(body["tools"]))
            old, new = unmarked(before["messages"]), unmarked(body["messages"])
            assert json.dumps(old) == json.dumps(new[: len(old)])
    assert [t["name"] for t in bodies[0]["tools"]] == sorted(t["name"] for t in bodies[0]["tools"])


async def test_settings_of_a_session_reach_its_requests(tmp_path, fake: FakeModel):
    for n in range(5):
        fake.script(f"t{n}", Reply(Think("hm"), Say("said")))
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_CONTEXT_WINDOW": "54321"}) as a:
        answer = await a.client.new_session(a.workspace)
        session, options = answer["sessionId"], {o["id"]: o for o in answer["configOptions"]}

        async def choose(option: str, value: str) -> dict:
            params = {"sessionId": session, "configId": option, "value": value}
            told = (await a.client.request("session/set_config_option", params))["configOptions"]
            return {o["id"]: o["currentValue"] for o in told}

        assert {o["category"] for o in options.values()} == {"mode", "model", "thought_level"}
        turn = await a.client.prompt(session, "[[t0]]")
        plain = fake.requests[-1].body
        assert plain["model"] == options["model"]["currentValue"] == "claude-sonnet-5-5"
        assert [u["size"] for u in turn.updates if u["sessionUpdate"] == "usage_update"] == [54321]
        assert (await choose("thinking", "high"))["thinking"] == "high"
        await a.client.prompt(session, "[[t1]]")
        high = fake.requests[-1].body
        assert (await choose("thinking", "low"))["thinking"] == "low"
        await a.client.prompt(session, "[[t2]]")
        low = fake.requests[-1].body
        levels = [json.dumps({k: b.get(k) for k in ("thinking", "output_config")}) for b in (plain, low, high)]
        assert len(set(levels)) == 3, levels
        assert any(b["type"] == "thinking" for b in blocks(low, "assistant"))
        other = next(o["value"] for o in options["model"]["options"] if "haiku" in o["value"])
        assert (await choose("model", other))["model"] == other
        await a.client.prompt(session, "[[t3]]")
        assert fake.requests[-1].body["model"] == other
        assert not any(b["type"] == "thinking" for b in blocks(fake.requests[-1].body, "assistant"))
        for option, value in (("model", "no-such"), ("thinking", "extreme"), ("colour", "red"), ("model", None)):
            with pytest.raises(RemoteError) as refused:
                await choose(option, value)
            assert refused.value.code == -32602
    async with agent(tmp_path, fake.base_url) as b:  # and they stay with the session
        loaded = await b.client.load_session(session, b.workspace)
        assert {o["id"]: o["currentValue"] for o in loaded["configOptions"]} == {
            "mode": "approve",
            "model": other,
            "thinking": "low",
        }
        await b.client.prompt(session, "[[t4]]")
        assert fake.requests[-1].body["model"] == other


@pytest.mark.parametrize("tail", ["/v1/", "/", "/v1/messages"])
async def test_base_urls_lead_to_one_path(tmp_path, fake: FakeModel, tail):
    fake.script("a", Reply(Say("reached")))
    async with agent(tmp_path, fake.base_url + tail) as a:
        assert (await a.client.prompt(await a.session(), "[[a]]")).text == "reached"
    assert [s.path for s in fake.requests] == ["/v1/messages"]
    assert fake.others == []


async def test_a_path_of_the_base_url_is_kept(tmp_path):
    async with FakeModel() as elsewhere:
        async with agent(tmp_path, f"{elsewhere.base_url}/proxy/v1") as a:
            with pytest.raises(RemoteError, match="base URL"):
                await a.client.prompt(await a.session(), "[[a]]")
        assert {s.path for s in elsewhere.others} == {"/proxy/v1/messages"}


@pytest.mark.parametrize(("offered", "code"), [({}, -32603), ({"auth": {"terminal": True}}, -32000)])
async def test_without_a_key_the_user_is_told_where_to_get_one(tmp_path, offered, code):
    env = {"ANTHROPIC_API_KEY": "", "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
    async with agent(tmp_path, "", env=env, capabilities=offered) as a:
        assert bool(a.initialized["authMethods"]) == bool(offered)
        with pytest.raises(RemoteError, match="ANTHROPIC_API_KEY") as refused:
            await a.client.prompt(await a.session(), "hello")
        assert refused.value.code == code


async def test_a_server_of_ones_own_needs_no_key(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("local")))
    async with agent(tmp_path, fake.base_url, env={"ANTHROPIC_API_KEY": ""}) as a:
        session = await a.session()
        assert (await a.client.prompt(session, "[[a]]")).text == "local"
        assert "x-api-key" not in fake.requests[0].headers
        (outcome,) = await play(a, fake, session, Use("todo_write", {"items": []}))
        assert not outcome.get("is_error")
