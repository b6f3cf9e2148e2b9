"""What the editor's language servers say of a file after a change: asked by way of the editor's own `diagnostics` tool.

The tool is one that the editor declares, read-only, with a `path`. Where it has `afterEdit` too, that is given as true,
and the tool waits for its servers to have seen the present text; `upToDate: false` in its structured content says that
they have not.
"""

import asyncio
import json
from contextlib import aclosing

from quillback.core.frontend import FrontendAnswer, FrontendTool
from quillback.core.message import JsonObject, Text
from quillback.core.ports import EditorError, ToolError
from quillback.tools.context import ToolContext
from quillback.tools.files import look
from quillback.tools.paths import Target
from quillback.tools.text import clean

TOOL = "diagnostics"
SECONDS = 3.0
LENGTH = 4_000
OLD = "The language servers had not seen all of the change yet when they said this."


async def after_change(context: ToolContext, target: Target, call_id: str) -> str:
    """A note for the result of a change; empty where the editor has nothing to say within 3 seconds, or where the file
    was changed by somebody else meanwhile, so that it would be about another text."""
    tool = next((t for t in context.editor.frontend_tools(context.session_id) if t.name == TOOL and t.read_only), None)
    if tool is None or "path" not in _properties(tool):
        return ""
    try:
        async with asyncio.timeout(SECONDS):
            answer = await _asked(context, tool, target, call_id)
            same = (await look(context, target)).digest == context.known.get(target.real)
    except (TimeoutError, EditorError, ToolError):
        return ""
    if answer is None or answer.is_error or not same:
        return ""
    said = "\n".join(part.text for part in answer.content if isinstance(part, Text)).strip()
    if not said and answer.structured is not None:
        said = json.dumps(answer.structured, ensure_ascii=False)
    if not said:
        return ""
    said = clean(said)
    said = said if len(said) <= LENGTH else said[: LENGTH - 1] + "…"
    old = isinstance(answer.structured, dict) and answer.structured.get("upToDate") is False
    return f"\n\nThe editor's diagnostics of it now:\n{said}" + (f"\n{OLD}" if old else "")


def _properties(tool: FrontendTool) -> JsonObject:
    found = tool.input_schema.get("properties")
    return found if isinstance(found, dict) else {}


async def _asked(context: ToolContext, tool: FrontendTool, target: Target, call_id: str) -> FrontendAnswer | None:
    arguments: dict[str, object] = {"path": target.path}
    if "afterEdit" in _properties(tool):
        arguments["afterEdit"] = True
    async with aclosing(context.editor.call_tool(context.session_id, call_id, "", tool.name, arguments)) as steps:
        async for step in steps:
            if isinstance(step, FrontendAnswer):
                return step
    return None
