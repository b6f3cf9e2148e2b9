"""T15: every kind of block that a prompt can hold reaches the model or is refused, and is replayed as it was sent."""

import base64
import json

import pytest

from quillback_protocol.outgoing import RemoteError
from support.agent import agent
from support.fake_model import FakeModel, Reply, Say
from support.pictures import png
from support.requests import blocks, last_request, user_text

pytestmark = pytest.mark.anyio


IMAGE = {"type": "image", "data": png(), "mimeType": "image/png"}
TEXT_RESOURCE = {"type": "resource", "resource": {"uri": "file:///x/emb.txt", "text": "EMBEDDED-TEXT"}}
BLOB = {"uri": "file:///x/blob.bin", "blob": base64.b64encode(b"\0\1\2").decode(), "mimeType": "application/x-thing"}
BLOB_RESOURCE = {"type": "resource", "resource": BLOB}


async def test_what_is_offered_reaches_the_model_and_is_replayed(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("seen")))
    fake.script("b", Reply(Say("seen again")))
    async with agent(tmp_path, fake.base_url) as a:
        offered = a.initialized["agentCapabilities"]["promptCapabilities"]
        assert (offered["image"], offered["embeddedContext"], offered.get("audio", False)) == (True, True, False)
        ws = a.workspace
        (ws / "in side.txt").write_text("INSIDE-TEXT\n")
        (tmp_path / "outside.txt").write_text("OUTSIDE-TEXT\n")
        (ws / "sneaky.txt").symlink_to(tmp_path / "outside.txt")
        links = [
            {"type": "resource_link", "uri": uri, "name": uri.rpartition("/")[2]}
            for uri in (
                (ws / "in side.txt").as_uri(),
                (tmp_path / "outside.txt").as_uri(),
                (ws / "sneaky.txt").as_uri(),
                (ws / "no-such.txt").as_uri(),
                ws.as_uri(),
                "https://example.com/page",
            )
        ]
        sent = [{"type": "text", "text": "[[a]] look"}, IMAGE, TEXT_RESOURCE, BLOB_RESOURCE, *links]
        session = await a.session()
        assert (await a.client.prompt(session, sent)).stop_reason == "end_turn"
        body = last_request(fake, "a")
        text = user_text(body)
        assert [b["source"]["data"] for b in blocks(body, "user") if b["type"] == "image"] == [IMAGE["data"]]
        assert "EMBEDDED-TEXT" in text
        assert "emb.txt" in text
        assert "INSIDE-TEXT" in text
        assert "OUTSIDE-TEXT" not in json.dumps(body)
        for name in ("blob.bin", "outside.txt", "no-such.txt", "https://example.com/page"):
            assert name in text, name
    async with agent(tmp_path, fake.base_url) as b:
        await b.client.load_session(session, b.workspace)
        replayed = [u["content"] for u in b.client.updates[session] if u["sessionUpdate"] == "user_message_chunk"]
        assert replayed == sent
        assert (await b.client.prompt(session, "[[b]]")).stop_reason == "end_turn"
    again = last_request(fake, "b")
    assert next(m["content"] for m in again["messages"] if m["role"] == "user")[:3] == _unmarked(body)[:3]


def _unmarked(body):
    content = body["messages"][0]["content"]
    return [{k: v for k, v in part.items() if k != "cache_control"} for part in content]


async def test_what_was_not_offered_is_refused_at_once(tmp_path, fake: FakeModel):
    refused = {
        "unknown": {"type": "hologram", "x": 1},
        "audio": {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        "no type": {"text": "x"},
        "no data": {"type": "image", "mimeType": "image/png"},
        "resource of neither kind": {"type": "resource", "resource": {"uri": "file:///x"}},
        "text of the wrong type": {"type": "text", "text": 5},
        "no object": "text",
    }
    fake.script("a", Reply(Say("fine")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        for name, block in refused.items():
            with pytest.raises(RemoteError) as error:
                await a.client.prompt(session, [{"type": "text", "text": "[[a]]"}, block])
            assert error.value.code == -32602, name
            assert error.value.message, name
        assert (await a.client.prompt(session, "[[a]]")).stop_reason == "end_turn"
        assert len(fake.requests) == 1
        users = [b for b in blocks(fake.requests[0].body, "user") if b["type"] == "text"]
        assert len(users) == 1


@pytest.mark.parametrize("kind", ["damaged", "huge", "strange"])
async def test_an_image_the_model_cannot_take_is_no_dead_end(tmp_path, fake: FakeModel, kind):
    image = {
        "damaged": {"type": "image", "data": "not base64!", "mimeType": "image/png"},
        "huge": {"type": "image", "data": png(9000, 1), "mimeType": "image/png"},
        "strange": {"type": "image", "data": png(), "mimeType": "image/x-icon"},
    }[kind]
    fake.script("a", Reply(Say("saw it")))
    fake.script("b", Reply(Say("next")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        refusal = ""
        try:
            await a.client.prompt(session, [{"type": "text", "text": "[[a]] words"}, image])
        except RemoteError as error:
            refusal = error.message
        told = refusal or user_text(last_request(fake, "a"))  # the user is told, or the model
        assert "image" in told.lower()
        assert (await a.client.prompt(session, "[[b]]")).stop_reason == "end_turn"
    for seen in [s for s in fake.requests if s.violations]:
        assert "image" in str(seen.violations)
        seen.violations.clear()  # a refusal that is answered by leaving the image out
