"""A neutral model request as the body of a Messages API request: the same history gives the same bytes."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from quillback.core.message import (
    Image,
    Notice,
    Part,
    RedactedThinking,
    Resource,
    ResourceLink,
    ResultPart,
    Summary,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from quillback.core.model import Model, ModelRequest, RequestMessage, ToolSpec
from quillback.core.model import Thinking as ThinkingLevel
from quillback.providers.wire_parts import (
    NO_CONTENT,
    NO_OUTPUT,
    call_input,
    call_name,
    clean,
    link_text,
    object_schema,
    resource_text,
    unsendable,
)

Block: TypeAlias = dict[str, Any]

MAX_MARKS = 4
_MARK = {"type": "ephemeral"}
_UNMARKABLE = frozenset({"thinking", "redacted_thinking"})
_IMAGE_MEGABYTES = 5

# What turns thinking off; it differs by model, and the wrong one is refused. Others get nothing, which all accept.
_OFF = {"claude-sonnet-5-5": {"type": "between_tools"}, "claude-haiku-5-5": {"type": "disabled"}}
_ADAPTIVE = {"type": "adaptive", "display": "summarized"}
_BUDGETS = {ThinkingLevel.LOW: 2_048, ThinkingLevel.MEDIUM: 8_192, ThinkingLevel.HIGH: 24_576}
_SMALLEST_BUDGET = 1_024


def body(request: ModelRequest, *, official: bool) -> Block:
    """The keyword arguments of `messages.create`. `official` says that the host is Anthropic's own."""
    out: Block = {"model": request.model.id, "max_tokens": max(1, request.max_tokens)}
    tools = [_tool(spec) for spec in sorted(request.tools, key=lambda t: t.name)]
    if tools:
        tools[-1]["cache_control"] = _MARK
        out["tools"] = tools
    if request.system.strip():
        out["system"] = [{"type": "text", "text": clean(request.system), "cache_control": _MARK}]
    out["messages"] = _messages(request, MAX_MARKS - ("tools" in out) - ("system" in out))
    out |= _thinking(request.model, request.thinking, out["max_tokens"], official=official)
    return out


def _messages(request: ModelRequest, free_marks: int) -> list[Block]:
    ids = {p.id: p.provider_id for m in request.messages for p in m.parts if isinstance(p, ToolUse)}
    chosen = sorted(set(request.marks))[-free_marks:]
    out = []
    for number, message in enumerate(request.messages):
        ends = [part for at, part in chosen if at == number]
        out.append({"role": message.role, "content": _content(message, ids, ends, images=request.model.images)})
    return out


def _content(message: RequestMessage, ids: Mapping[str, str], marks: Sequence[int], *, images: bool) -> list[Block]:
    """Blocks of one message; a mark whose part gives no markable block goes to the one before."""
    blocks: list[Block] = []
    ends: list[int] = []
    for number, part in enumerate(message.parts):
        block = _block(part, ids, images=images)
        blocks += [block] if block else []
        if number in marks:
            ends.append(len(blocks) - 1)
    for end in ends:
        markable = next((b for b in reversed(blocks[: end + 1]) if b["type"] not in _UNMARKABLE), None)
        if markable is not None:
            markable["cache_control"] = _MARK
    return blocks or [{"type": "text", "text": NO_CONTENT}]


def _block(part: Part, ids: Mapping[str, str], *, images: bool) -> Block | None:
    match part:
        case Text(text=text) | Summary(text=text):
            return _text(text) if text.strip() else None
        case Thinking(text=text, signature=signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case RedactedThinking(data=data):
            return {"type": "redacted_thinking", "data": data}
        case ToolUse():
            return _tool_use(part)
        case ToolResult():
            return _tool_result(part, ids, images=images)
        case Image(data=data, mime_type=mime_type):
            return _image(data, mime_type, images=images)
        case Resource():
            return _resource(part, images=images)
        case ResourceLink():
            return _text(link_text(part))
        case Notice():
            return None


def _text(text: str) -> Block:
    return {"type": "text", "text": clean(text)}


def _tool_use(call: ToolUse) -> Block:
    return {"type": "tool_use", "id": call.provider_id, "name": call_name(call), "input": call_input(call)}


def _tool_result(result: ToolResult, ids: Mapping[str, str], *, images: bool) -> Block:
    content = [b for b in (_result_part(c, images=images) for c in result.content) if b]
    block: Block = {
        "type": "tool_result",
        "tool_use_id": ids.get(result.call_id, result.call_id),
        "content": content or [_text(NO_OUTPUT)],
    }
    if result.is_error:
        block["is_error"] = True
    return block


def _result_part(part: ResultPart, *, images: bool) -> Block | None:
    match part:
        case Text(text=text):
            return _text(text) if text.strip() else None
        case Image(data=data, mime_type=mime_type):
            return _image(data, mime_type, images=images)


def _image(data: str, mime_type: str, *, images: bool) -> Block:
    if note := unsendable(data, mime_type, images=images, megabytes=_IMAGE_MEGABYTES):
        return _text(note)
    return {"type": "image", "source": {"type": "base64", "media_type": mime_type, "data": data}}


def _resource(resource: Resource, *, images: bool) -> Block:
    if resource.text is None and resource.mime_type.startswith("image/"):
        return _image(resource.blob or "", resource.mime_type, images=images)
    return _text(resource_text(resource))


# ---------------------------------------------------------------- tools


def _tool(spec: ToolSpec) -> Block:
    tool: Block = {"name": spec.name, "input_schema": object_schema(spec.input_schema)}
    if spec.description.strip():
        tool["description"] = clean(spec.description)
    return tool


# ---------------------------------------------------------------- thinking


def _thinking(model: Model, level: ThinkingLevel, max_tokens: int, *, official: bool) -> Block:
    if level is ThinkingLevel.OFF:
        return _no_thinking(model) if official else {}
    if not model.thinking:
        return {}
    if official or model.id.startswith("claude-"):
        return {"thinking": _ADAPTIVE, "output_config": {"effort": level.value}}
    # other servers know the older form, in which thinking must leave room for the answer
    budget = min(_BUDGETS[level], max_tokens // 2)
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= _SMALLEST_BUDGET else {}


def _no_thinking(model: Model) -> Block:
    if model.thinking and model.thinking_always:
        return {"thinking": _ADAPTIVE, "output_config": {"effort": ThinkingLevel.LOW.value}}
    return {"thinking": _OFF[model.id]} if model.id in _OFF else {}
