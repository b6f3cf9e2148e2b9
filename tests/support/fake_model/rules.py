"""What the Messages API refuses, checked as strictly as it does; pure."""

import base64
import binascii
import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence

from support.fake_model.pairing import THOUGHTS, Body, Issued, blocks, last_thoughts, merged, pairs

NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
ID = re.compile(r"^[a-zA-Z0-9_-]+$")
IMAGE_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
IMAGE_BYTES = 5 * 1024 * 1024
TOP = {"model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "stream"}
TOP |= {"metadata", "stop_sequences", "cache_control", "service_tier", "container", "speed"}
KEYS = {
    "text": {"text"},
    "image": {"source"},
    "tool_use": {"id", "name", "input"},
    "tool_result": {"tool_use_id", "content", "is_error"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
}


def check(body: Body, issued: Issued) -> list[str]:
    """The complaints about a request, empty for a valid one."""
    found = list(_top(body))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*found, "messages: at least one message is required"]
    found += _tools(body.get("tools") or [])
    found += _system(body.get("system"))
    for i, message in enumerate(messages):
        found += _message(i, message, issued)
    turns = merged(messages)
    found += pairs(turns)
    found += last_thoughts(body, turns, issued)
    found += _marks(body)
    found += _many_images(messages)
    return list(dict.fromkeys(found))


def _top(body: Body) -> Iterator[str]:
    yield from (f"{key}: Extra inputs are not permitted" for key in body.keys() - TOP)
    for key, kind in (("model", str), ("max_tokens", int)):
        if not isinstance(body.get(key), kind) or not body[key]:
            yield f"{key}: Field required"
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        yield "The request body is not valid JSON: lone surrogate"
    thinking = body.get("thinking") or {"type": "disabled"}
    if thinking.get("type") not in ("enabled", "disabled", "adaptive", "between_tools"):
        yield "thinking.type: unknown"
    if thinking.get("type") == "enabled" and not 1024 <= thinking.get("budget_tokens", 0) < body.get("max_tokens", 0):
        yield "thinking.enabled.budget_tokens: must be at least 1024 and below max_tokens"
    if (body.get("output_config") or {}).get("effort", "low") not in ("low", "medium", "high", "xhigh", "max"):
        yield "output_config.effort: unknown"


def _tools(tools: Sequence[Body]) -> Iterator[str]:
    names = [str(t.get("name")) for t in tools]
    yield from (
        f"tools.{i}.name: {n!r} does not match {NAME.pattern}" for i, n in enumerate(names) if not NAME.match(n)
    )
    yield from (f"tools: Tool names must be unique ({n})" for n in set(names) if names.count(n) > 1)
    for i, tool in enumerate(tools):
        schema = tool.get("input_schema")
        if not isinstance(schema, Mapping) or schema.get("type") != "object":
            yield f"tools.{i}.input_schema.type: must be object ({names[i]})"
        elif schema.keys() & {"anyOf", "oneOf", "allOf"}:
            yield f"tools.{i}.input_schema: oneOf, allOf, anyOf are not supported at the top level ({names[i]})"


def _system(system: object) -> Iterator[str]:
    for i, block in enumerate(blocks(system)):
        if not str(block.get("text") or "").strip():
            yield f"system.{i}: text content blocks must be non-empty"


def _message(i: int, message: Body, issued: Issued) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant"):
        yield f"messages.{i}.role: {role!r}"
    if i == 0 and role != "user":
        yield "messages: first message must use the user role"
    if not content:
        yield f"messages.{i}: all messages must have non-empty content"
    for j, block in enumerate(blocks(content)):
        yield from _block(f"messages.{i}.content.{j}", block, str(role), issued)


def _block(at: str, block: Body, role: str, issued: Issued) -> Iterator[str]:
    kind = str(block.get("type"))
    if kind not in KEYS:
        yield f"{at}.type: unknown block {kind!r}"
        return
    yield from (
        f"{at}.{k}: Extra inputs are not permitted" for k in block.keys() - KEYS[kind] - {"type", "cache_control"}
    )
    if kind in ("tool_use", *THOUGHTS) and role != "assistant":
        yield f"{at}: {kind} in a {role} message"
    if kind in ("tool_result", "image") and role != "user":
        yield f"{at}: {kind} in an {role} message"
    match kind:
        case "text" if not str(block.get("text") or "").strip():
            yield f"{at}: text content blocks must contain non-whitespace text"
        case "tool_use":
            yield from _tool_use(at, block)
        case "tool_result":
            if block.get("is_error") and not block.get("content"):
                yield f"{at}.tool_result: content cannot be empty if `is_error` is true"
            for k, inner in enumerate(blocks(block.get("content"))):
                yield from _block(f"{at}.content.{k}", inner, "user", issued)
        case "thinking" if issued.signatures.get(str(block.get("signature"))) != block.get("thinking"):
            yield f"{at}: Invalid `signature` in `thinking` block"
        case "redacted_thinking" if block.get("data") not in issued.redacted:
            yield f"{at}: Invalid `data` in `redacted_thinking` block"
        case "image":
            yield from _image(at, block.get("source") or {})


def _tool_use(at: str, block: Body) -> Iterator[str]:
    if not isinstance(block.get("input"), Mapping):
        yield f"{at}.tool_use.input: Input should be a valid dictionary"
    if not ID.match(str(block.get("id"))):
        yield f"{at}.tool_use.id: String should match pattern {ID.pattern}"
    if not NAME.match(str(block.get("name"))):
        yield f"{at}.tool_use.name: bad name {block.get('name')!r}"


def _image(at: str, source: Body) -> Iterator[str]:
    if source.get("media_type") not in IMAGE_TYPES:
        yield f"{at}.image.source.media_type: {source.get('media_type')!r} is not supported"
    try:
        data = base64.b64decode(str(source.get("data")), validate=True)
    except binascii.Error:
        yield f"{at}.image.source.data: Could not process image"
        return
    if len(data) > IMAGE_BYTES:
        yield f"{at}.image.source.base64: image exceeds 5 MB maximum"
    if max(_png_size(data)) > 8000:
        yield f"{at}.image.source: At least one of the image dimensions exceed max allowed size: 8000 pixels"


def _png_size(data: bytes) -> tuple[int, int]:
    return struct.unpack(">II", data[16:24]) if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24 else (0, 0)


def _marks(body: Body) -> Iterator[str]:
    marked = [b for b in _markable(body) if b.get("cache_control")]
    count = len(marked) + bool(body.get("cache_control"))
    if count > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {count}."
    for block in marked:
        if block.get("type") in THOUGHTS:
            yield f"cache_control: not allowed on {block['type']}"
        if block.get("type") == "text" and not str(block.get("text")).strip():
            yield "cache_control cannot be set for empty text blocks"


def _markable(body: Body) -> Iterator[Body]:
    yield from blocks(body.get("system"))
    yield from body.get("tools") or []
    for message in body.get("messages") or []:
        for block in blocks(message.get("content")):
            yield block
            yield from blocks(block.get("content"))


def _many_images(messages: Sequence[Body]) -> Iterator[str]:
    every = [b for m in messages for b in blocks(m.get("content"))]
    every += [inner for b in every for inner in blocks(b.get("content"))]
    data = [str((b.get("source") or {}).get("data")) for b in every if b.get("type") == "image"]
    if len(data) > 20 and any(max(_png_size(base64.b64decode(d[:64] + "=" * (-len(d[:64]) % 4)))) > 2000 for d in data):
        yield "image dimensions exceed max allowed size for many-image requests: 2000 pixels"
