"""Runs a command line in a terminal of the editor, where the user can watch it."""

import asyncio

from quillback.core.message import Terminal
from quillback.core.ports import EditorError, TerminalOutput, ToolError, ToolOutcome, ToolProgress
from quillback.tools.call import Steps, said
from quillback.tools.context import ToolContext
from quillback.tools.environment import QUIET
from quillback.tools.output import NOTHING, ending
from quillback.tools.places import require_cwd
from quillback.tools.text import clean

_OUTPUT_LIMIT = 1024 * 1024


async def in_terminal(context: ToolContext, call_id: str, line: str, real: str, limit: float) -> Steps:
    """Shows the terminal first; the outcome holds its text. The terminal is killed on a time-out and on a cancel.

    `real` is where the session's directory led when the call was prepared.
    """
    require_cwd(context.cwd, real)
    editor, session = context.editor, context.session_id
    try:
        terminal = await editor.create_terminal(session, line, str(context.cwd), QUIET, _OUTPUT_LIMIT)
    except EditorError as error:
        raise ToolError(f"the editor gave no terminal: {error}") from None
    ended = False
    try:
        yield ToolProgress((Terminal(terminal),))
        end: TerminalOutput | None = None
        try:
            async with asyncio.timeout(limit):
                end = await editor.wait_terminal(session, terminal)
            ended = True
        except TimeoutError:
            pass
        output = await editor.terminal_output(session, terminal)
    except EditorError as error:
        raise ToolError(f"the editor's terminal failed: {error}") from None
    finally:
        editor.end_terminal(session, terminal, kill=not ended)
    yield _outcome(context, call_id, output, end, limit)


def _outcome(
    context: ToolContext, call_id: str, output: TerminalOutput, end: TerminalOutput | None, limit: float
) -> ToolOutcome:
    text = context.bounded(clean(output.text), f"shell-{call_id}").rstrip("\n") or NOTHING
    cut = "[the editor kept only the end of the output]\n" if output.truncated else ""
    code = None if end is None else end.exit_code if end.exit_code is not None else output.exit_code
    killer = "" if end is None else end.signal or output.signal
    if end is None:
        last = f"[timed out after {limit:g} s and was ended]"
    else:
        last = f"[ended by signal {killer}]" if killer else ending(code or 0)
    raw = {"exit_code": code, "timed_out": end is None}
    return said(f"{cut}{text}" + (f"\n{last}" if last else ""), is_error=last != "", raw_output=raw)
