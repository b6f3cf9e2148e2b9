"""A neutral model request as the body of a chat completions request: the same history gives the same bytes."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from quillback.core.message import (
    Image,
    Notice,
    Part,
    RedactedThinking,
    Resource,
    ResourceLink,
    Summary,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from quillback.core.model import Model, ModelRequest, RequestMessage, ToolSpec
from quillback.core.model import Thinking as ThinkingLevel
from quillback.providers.catalog import OPENAI_PREFIX
from quillback.providers.openai_dialect import STAND_IN, THOUGHT_FIELDS, Dialect, Thoughts
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

Json: TypeAlias = dict[str, Any]

_IMAGE_MEGABYTES = 20
_ID_LENGTH = 40
_IMAGES_OF = "The images of the results above:"


def wire_name(model: Model) -> str:
    """The model's name as its server knows it."""
    return model.id.removeprefix(OPENAI_PREFIX)


def body(request: ModelRequest, dialect: Dialect) -> Json:
    """The JSON body of a request for a stream."""
    model = request.model
    out: Json = {"model": wire_name(model), "stream": True}
    if dialect.usage:
        out["stream_options"] = {"include_usage": True}
    if dialect.limit:
        out[dialect.limit] = max(1, request.max_tokens)
    tools = [_tool(spec) for spec in sorted(request.tools, key=lambda t: t.name)]
    if effort := _effort(model, request.thinking, dialect, tools=bool(tools)):
        out["reasoning_effort"] = effort
    if tools:
        out["tools"] = tools
    out["messages"] = _messages(request, dialect)
    return out


def _effort(model: Model, level: ThinkingLevel, dialect: Dialect, *, tools: bool) -> str:
    if tools and dialect.tools_effort:
        return dialect.tools_effort
    if not model.thinking or not dialect.effort:
        return ""
    if level is not ThinkingLevel.OFF:
        return level.value
    return "low" if model.thinking_always else dialect.lowest


def _tool(spec: ToolSpec) -> Json:
    function: Json = {"name": spec.name}
    if spec.description.strip():
        function["description"] = clean(spec.description)
    return {"type": "function", "function": {**function, "parameters": object_schema(spec.input_schema)}}


# ---------------------------------------------------------------- messages


def _messages(request: ModelRequest, dialect: Dialect) -> list[Json]:
    ids = {p.id: _id(p.provider_id) for m in request.messages for p in m.parts if isinstance(p, ToolUse)}
    out: list[Json] = []
    if request.system.strip():
        out.append({"role": "system", "content": clean(request.system)})
    for message in request.messages:
        if message.role == "assistant":
            out.append(_assistant(message, dialect))
        else:
            out += _user(message, ids, images=request.model.images)
    return out


def _id(provider_id: str) -> str:
    """Ids of other servers may be longer than what some take."""
    if len(provider_id) <= _ID_LENGTH:
        return provider_id
    return f"call_{hashlib.sha256(provider_id.encode()).hexdigest()[: _ID_LENGTH - 5]}"


def _assistant(message: RequestMessage, dialect: Dialect) -> Json:
    calls = [_call(part) for part in message.parts if isinstance(part, ToolUse)]
    texts = [clean(p.text) for p in message.parts if isinstance(p, Text | Summary) and p.text.strip()]
    if not calls:
        return {"role": "assistant", "content": "\n\n".join(texts) or NO_CONTENT}
    thoughts = _thoughts(message.parts, dialect.thoughts)
    return {"role": "assistant", "content": "\n\n".join(texts) or None, **thoughts, "tool_calls": calls}


def _thoughts(parts: Iterable[Part], how: Thoughts) -> Json:
    """Servers of models that think between calls want those thoughts back, under the name that they came by."""
    if how is Thoughts.NEVER:
        return {}
    found: dict[str, str] = {}
    for part in parts:
        if isinstance(part, Thinking) and part.signature in THOUGHT_FIELDS:
            found[part.signature] = found.get(part.signature, "") + clean(part.text)
    if not found and how is Thoughts.ALWAYS:
        return {THOUGHT_FIELDS[0]: STAND_IN}
    return dict(found)


def _call(call: ToolUse) -> Json:
    arguments = json.dumps(call_input(call), ensure_ascii=False)
    return {
        "id": _id(call.provider_id),
        "type": "function",
        "function": {"name": call_name(call), "arguments": arguments},
    }


def _user(message: RequestMessage, ids: Mapping[str, str], *, images: bool) -> list[Json]:
    """The results, each a message of its own and text alone; then, as the user's, their images and the rest."""
    out: list[Json] = []
    pictures: list[Json] = []
    content: list[Json] = []
    for part in message.parts:
        match part:
            case ToolResult():
                pieces = [p for c in part.content for p in _pieces(c, images=images)]
                pictures += [p for p in pieces if p["type"] != "text"]
                out.append({"role": "tool", "tool_call_id": ids.get(part.call_id, part.call_id), **_told(part, pieces)})
            case _:
                content += _pieces(part, images=images)
    if pictures:
        content = [_text(_IMAGES_OF), *pictures, *content]
    if content or not out:
        out.append({"role": "user", "content": _content(content)})
    return out


def _told(result: ToolResult, pieces: list[Json]) -> Json:
    text = "\n".join(p["text"] for p in pieces if p["type"] == "text")
    if not text:
        text = "(an image, which follows)" if pieces else NO_OUTPUT
    if result.is_error and not text.lower().startswith("error"):
        text = f"Error: {text}"  # such messages have no other way to say it
    return {"content": text}


def _content(pieces: list[Json]) -> str | list[Json]:
    """Text alone as one text, since that is what every server takes."""
    if any(piece["type"] != "text" for piece in pieces):
        return pieces
    return "\n\n".join(piece["text"] for piece in pieces) or NO_CONTENT


def _pieces(part: Part, *, images: bool) -> list[Json]:
    match part:
        case Text(text=text) | Summary(text=text):
            return [_text(text)] if text.strip() else []
        case Image(data=data, mime_type=mime_type):
            return [_image(data, mime_type, images=images)]
        case Resource(text=None, blob=blob, mime_type=mime_type) if mime_type.startswith("image/"):
            return [_image(blob or "", mime_type, images=images)]
        case Resource():
            return [_text(resource_text(part))]
        case ResourceLink():
            return [_text(link_text(part))]
        case Thinking() | RedactedThinking() | ToolUse() | ToolResult() | Notice():
            return []


def _text(text: str) -> Json:
    return {"type": "text", "text": clean(text)}


def _image(data: str, mime_type: str, *, images: bool) -> Json:
    if note := unsendable(data, mime_type, images=images, megabytes=_IMAGE_MEGABYTES):
        return _text(note)
    return {"type": "image_url", "image_url": {"url": f"data:{mime_type};base64,{data}"}}
