"""Files that the agent changed in the editor and nobody has saved: commands still see what is on disk."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from attrs import evolve

from quillback.core.message import Text
from quillback.core.ports import ToolError, ToolOutcome, ToolProgress
from quillback.tools.call import Steps
from quillback.tools.context import ToolContext
from quillback.tools.files import look

NAMED = 10
SECONDS = 3.0


async def noted(context: ToolContext, steps: Steps) -> AsyncGenerator[ToolProgress | ToolOutcome, None]:
    """The steps of a command, its outcome with a note that names the files."""
    assert isinstance(steps, AsyncGenerator)
    async with aclosing(steps):
        async for step in steps:
            if isinstance(step, ToolOutcome) and (note := await _note(context)):
                step = evolve(step, content=(*step.content, Text(note)))
            yield step


async def _note(context: ToolContext) -> str:
    with suppress(TimeoutError):  # an editor that does not answer in time has not told of a save
        async with asyncio.timeout(SECONDS):
            await _drop_saved(context)
    if not context.unsaved:
        return ""
    names = [target.label for target in context.unsaved.values()]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"\n[not saved in the editor, so the command saw the old text: {', '.join(names[:NAMED])}{more}]"


async def _drop_saved(context: ToolContext) -> None:
    for real, target in list(context.unsaved.items()):
        try:
            state = await look(context, target)
        except ToolError:
            state = None
        if state is None or state.unsaved is None:
            context.unsaved.pop(real, None)
