"""Calls that the editor carries out. They look like any tool to the loop, but no inspector judges them."""

import json
from collections.abc import Callable, Sequence
from contextlib import aclosing

from attrs import evolve, frozen

from quillback.core.frontend import FrontendAnswer, FrontendTool, offered
from quillback.core.message import FileSeen, JsonObject, ToolKind
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import EditorError, Tool, Toolbox, ToolError, ToolOutcome, ToolProgress
from quillback.core.prompts import Prompt
from quillback.tools.call import Prepared, Steps
from quillback.tools.context import ToolContext
from quillback.tools.files import look
from quillback.tools.foreign import Foreign, progress_parts
from quillback.tools.paths import resolve, sketched
from quillback.tools.text import RESULT_LIMIT, one_line
from quillback.tools.threads import in_thread

TITLE_LENGTH = 120
LOCATIONS = 100
TELLS_CONTENT = ("read_file", "write_file")
"""Server tools after which the agent knows what is in the file."""


@frozen
class WithFrontendTools:
    """A session's server tools with the editor's own in front of them. The editor may change its list at any time.

    `message_of` gives the id of the message that holds a call.
    """

    inner: Toolbox
    context: ToolContext
    message_of: Callable[[str], str]

    def tools(self) -> Sequence[Tool]:
        server = {t.spec.name: t for t in self.inner.tools()}
        left, named = offered(server, self.context.editor.frontend_tools(self.context.session_id))
        own = [EditorTool(tool, name, self.context, self.message_of) for name, tool in named.items()]
        return [*(server[name] for name in server if name in left), *own]

    def prompts(self) -> Sequence[Prompt]:
        return self.inner.prompts()

    def on_prompts(self, changed: Callable[[], None]) -> None:
        self.inner.on_prompts(changed)

    async def ready(self) -> None:
        await self.inner.ready()

    async def close(self) -> None:
        await self.inner.close()


class EditorTool:
    """One declared tool under the name the model knows."""

    def __init__(self, tool: FrontendTool, name: str, context: ToolContext, message_of: Callable[[str], str]) -> None:
        self._tool = tool
        self._context = context
        self._message_of = message_of
        self.spec = ToolSpec(
            name=name,
            description=tool.description,
            input_schema=tool.input_schema,
            kind=tool.kind,
            describe=self._describe,
            read_only=tool.read_only,
            frontend=True,
        )

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        """The editor orders what happens to its files itself."""
        return frozenset()

    async def prepare(self, call_id: str, arguments: JsonObject) -> Prepared:
        return Prepared(lambda: self._run(call_id, arguments))

    def _describe(self, arguments: JsonObject) -> Sketch:
        title = one_line(self._tool.title or self._tool.name, TITLE_LENGTH)
        if self._tool.kind is ToolKind.OTHER and not self._tool.replaces:
            return Sketch(title)  # its `path` may be anything
        name, locations = sketched(self._context.cwd, arguments)
        return Sketch(f"{title} {name}".rstrip(), locations)

    async def _run(self, call_id: str, arguments: JsonObject) -> Steps:
        context = self._context
        steps = context.editor.call_tool(
            context.session_id, call_id, self._message_of(call_id), self._tool.name, arguments
        )
        try:
            async with aclosing(steps):
                async for step in steps:
                    match step:
                        case ToolProgress(shown=shown):
                            yield ToolProgress(progress_parts(shown))
                        case FrontendAnswer():
                            yield await self._outcome(step, arguments)
                            return
        except EditorError as error:
            raise ToolError(f"the editor could not run {self._tool.name}: {error}") from None
        raise ToolError(f"the editor gave no result for {self._tool.name}")

    async def _outcome(self, answer: FrontendAnswer, arguments: JsonObject) -> ToolOutcome:
        outcome = await in_thread(lambda _: self._read(answer))
        return outcome if answer.is_error else evolve(outcome, seen=await self._seen(arguments))

    def _read(self, answer: FrontendAnswer) -> ToolOutcome:
        structured = "" if answer.structured is None else json.dumps(answer.structured, ensure_ascii=False, indent=1)
        foreign = Foreign(self._context, self.spec.name)
        content, shown = foreign.parts(answer.content, structured)
        return ToolOutcome(
            content=content,
            is_error=answer.is_error,
            shown=shown,
            locations=answer.locations[:LOCATIONS],
            raw_output=answer.structured if len(structured) <= RESULT_LIMIT else None,
        )

    async def _seen(self, arguments: JsonObject) -> tuple[FileSeen, ...]:
        """A tool in place of read_file tells the agent a file's content, so that it may be edited afterwards."""
        path = arguments.get("path")
        if self._tool.replaces not in TELLS_CONTENT or not isinstance(path, str):
            return ()
        try:
            target = resolve(self._context, path)
            state = await look(self._context, target)
        except ToolError:
            return ()
        if not state.exists:
            return ()
        self._context.known[target.real] = state.digest
        return (FileSeen(target.real, state.digest),)
