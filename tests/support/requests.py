"""Reads requests that the fake model got."""

from typing import Any

from support.fake_model import FakeModel

Json = dict[str, Any]


def last_request(fake: FakeModel, token: str) -> Json:
    """The body of the last request of a token."""
    return [seen.body for seen in fake.requests if seen.token == token][-1]


def blocks(body: Json, role: str) -> list[Json]:
    """All content blocks of a role, in order."""
    found: list[Json] = []
    for message in body["messages"]:
        if message["role"] == role:
            content = message["content"]
            found += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return found


def user_text(body: Json) -> str:
    return "\n".join(b["text"] for b in blocks(body, "user") if b["type"] == "text")


def results(body: Json) -> dict[str, Json]:
    """All tool results by the provider's id of their call, in order."""
    return {b["tool_use_id"]: b for b in blocks(body, "user") if b["type"] == "tool_result"}


def result_text(block: Json) -> str:
    content = block["content"]
    return content if isinstance(content, str) else "".join(b.get("text", "") for b in content)
