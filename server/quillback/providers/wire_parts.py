"""What the wire forms of all providers have in common: names, inputs, schemas and texts that every service takes."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from quillback.core.message import JsonObject, Resource, ResourceLink, ToolUse

NO_OUTPUT = "(no output)"
NO_CONTENT = "(no content)"
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_INVALID_SHOWN = 2_000


def clean(text: str) -> str:
    """Valid UTF-8: half characters, which JSON can carry and services refuse, are replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_json(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(k)): clean_json(v) for k, v in value.items()}
    if isinstance(value, Iterable):
        return [clean_json(v) for v in value]
    return value


def call_name(call: ToolUse) -> str:
    return call.name if _NAME.fullmatch(call.name) else "invalid_tool"


def call_input(call: ToolUse) -> dict[str, Any]:
    """An object in any case: of an input that was none, its beginning."""
    given: JsonObject = call.input
    if call.problem and not call.input and call.raw.strip():
        given = {"_invalid": call.raw[:_INVALID_SHOWN]}
    return {clean(str(k)): clean_json(v) for k, v in given.items()}


def object_schema(schema: JsonObject) -> dict[str, Any]:
    """Services want an object at the root and no alternatives there: their properties are merged, none required."""
    root = {k: v for k, v in schema.items() if k not in ("anyOf", "oneOf", "allOf")}
    merged: dict[str, Any] = {}
    for key in ("anyOf", "oneOf", "allOf"):
        for choice in schema.get(key) or ():
            if isinstance(choice, Mapping):
                merged |= choice.get("properties") or {}
    if merged:
        root["properties"] = merged | dict(root.get("properties") or {})
    return {**root, "type": "object"}


def unsendable(data: str, mime_type: str, *, images: bool, megabytes: int) -> str:
    """What is said in place of an image that the service would refuse; empty for one that it takes."""
    if not images:
        return "(an image was left out: the model takes none)"
    if mime_type not in IMAGE_TYPES:
        return f"(an image was left out: {mime_type or 'its type'} is not one the model takes)"
    if len(data) > megabytes * 1024 * 1024 * 4 // 3:  # base64 characters
        return f"(an image was left out: it is larger than {megabytes} MB)"
    return ""


def resource_text(resource: Resource) -> str:
    """A resource that is not an image."""
    if resource.text is not None:
        uri = json.dumps(resource.uri, ensure_ascii=False)
        return f"<resource uri={uri}>\n{resource.text}\n</resource>"
    kind = resource.mime_type or "of unknown type"
    size = len(resource.blob or "") * 3 // 4
    return f"(resource {resource.uri}: {size} bytes, {kind}, not shown since it is not text)"


def link_text(link: ResourceLink) -> str:
    facts = [link.title, link.description, link.mime_type, "" if link.size is None else f"{link.size} bytes"]
    told = "; ".join(f for f in facts if f)
    return f"[{link.name or link.uri}]({link.uri})" + (f" ({told})" if told else "")
