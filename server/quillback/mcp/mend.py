"""Lists that servers send, made of what can be used: a bad item is left out and takes no other with it."""

from typing import Any

from quillback.mcp.schema import UnfitSchemaError, adapt
from quillback.mcp.text import clean, one_line

DESCRIPTION_LIMIT = 8_000
"""Characters of a tool's description."""

_NAME_LIMIT = 200
_URI_LIMIT = 2_000
_ABOUT_LIMIT = 300
_ARGUMENTS = 20


def mend_tools(listed: object) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """The tools that can be offered, with only what is used of them; and name and reason for each that cannot."""
    tools: list[dict[str, Any]] = []
    refused: list[tuple[str, str]] = []
    for tool in listed if isinstance(listed, list) else ():
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(name, str) or not name:
            refused.append(("?", "it has no name"))
            continue
        try:
            adapted = adapt(tool.get("inputSchema"))
        except UnfitSchemaError as error:
            refused.append((name, str(error)))
            continue
        words = (tool.get("description"), tool.get("title"))
        about = next((clean(text) for text in words if isinstance(text, str) and text.strip()), "")
        description = " ".join(filter(None, (about[:DESCRIPTION_LIMIT], adapted.note)))
        tools.append({"name": name, "description": description, "inputSchema": adapted.schema})
    return tools, refused


def mend_resources(listed: object) -> list[dict[str, Any]]:
    """The resources that have an address, each with a name."""
    found = []
    for item in listed if isinstance(listed, list) else ():
        uri = item.get("uri") if isinstance(item, dict) else None
        if not isinstance(uri, str) or not uri.strip() or len(uri) > _URI_LIMIT:
            continue
        names = (item.get("title"), item.get("name"), uri)
        name = next(one_line(n, _NAME_LIMIT) for n in names if isinstance(n, str) and n.strip())
        found.append({"uri": uri, "name": name})
    return found


def mend_prompts(listed: object) -> list[dict[str, Any]]:
    """The prompts that have a name, with only what is used of them."""
    found = []
    for item in listed if isinstance(listed, list) else ():
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or not name.strip() or len(name) > _NAME_LIMIT:
            continue
        given = item.get("arguments")
        arguments = [
            {"name": a["name"], "description": _about(a), "required": a.get("required") is True}
            for a in (given if isinstance(given, list) else ())
            if isinstance(a, dict) and isinstance(a.get("name"), str) and a["name"].strip()
        ]
        found.append({"name": name, "description": _about(item), "arguments": arguments[:_ARGUMENTS]})
    return found


def _about(item: dict[str, Any]) -> str:
    words = (item.get("description"), item.get("title"))
    return next((one_line(text, _ABOUT_LIMIT) for text in words if isinstance(text, str) and text.strip()), "")


def mend_contents(given: object) -> list[dict[str, Any]]:
    """The contents that are a text or bytes."""
    found = []
    for item in given if isinstance(given, list) else ():
        if not isinstance(item, dict) or not isinstance(uri := item.get("uri"), str):
            continue
        kept = {k: v for k in ("text", "blob", "mimeType") if isinstance(v := item.get(k), str)}
        if "text" in kept or "blob" in kept:
            found.append({"uri": uri, **kept})
    return found
