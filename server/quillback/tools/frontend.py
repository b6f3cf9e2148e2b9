"""Calls that the editor carries out. They look like any tool to the loop, but no inspector judges them."""

import json
from collections.abc import Callable, MutableMapping, Sequence

from attrs import frozen

from quillback.core.frontend import FrontendAnswer, FrontendTool, offered
from quillback.core.message import FileSeen, Image, JsonObject, Location, ResultPart, Text
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import EditorError, Tool, Toolbox, ToolError, ToolOutcome, ToolProgress
from quillback.tools.call import Prepared, Steps
from quillback.tools.context import ToolContext
from quillback.tools.files import digest_of
from quillback.tools.text import bounded, clean, one_line

EMPTY = "(no output)"


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
        title = self._tool.title or self._tool.name
        path = arguments.get("path")
        if not isinstance(path, str) or not path or "\0" in path:
            return Sketch(title)
        return Sketch(f"{title} {one_line(path, 100)}", (Location(str(self._context.cwd / path)),))

    async def _run(self, call_id: str, arguments: JsonObject) -> Steps:
        context = self._context
        steps = context.editor.call_tool(
            context.session_id, call_id, self._message_of(call_id), self._tool.name, arguments
        )
        try:
            async for step in steps:
                match step:
                    case ToolProgress():
                        yield step
                    case FrontendAnswer():
                        yield self._outcome(step, arguments)
                        return
        except EditorError as error:
            raise ToolError(f"the editor could not run {self._tool.name}: {error}") from None
        raise ToolError(f"the editor gave no result for {self._tool.name}")

    def _outcome(self, answer: FrontendAnswer, arguments: JsonObject) -> ToolOutcome:
        texts = [clean(p.text) for p in answer.content if isinstance(p, Text)]
        if answer.structured is not None and not any(texts):
            texts = [json.dumps(answer.structured, ensure_ascii=False, indent=1)]
        text = bounded("\n".join(t for t in texts if t), self._context.outputs, self.spec.name)
        images = tuple(p for p in answer.content if isinstance(p, Image))
        content: tuple[ResultPart, ...] = (Text(text), *images) if text.strip() else (images or (Text(EMPTY),))
        seen = () if answer.is_error else self._seen(arguments)
        return ToolOutcome(
            content=content,
            is_error=answer.is_error,
            shown=answer.shown or content,
            locations=answer.locations,
            raw_output=answer.structured,
            seen=seen,
        )

    def _seen(self, arguments: JsonObject) -> tuple[FileSeen, ...]:
        """A tool in place of read_file tells the agent a file's content, so that it may be edited afterwards."""
        path = arguments.get("path")
        if self._tool.replaces != "read_file" or not isinstance(path, str):
            return ()
        try:
            real = (self._context.cwd / path).resolve(strict=True)
            if not real.is_file() or not self._context.inside(str(real)):
                return ()
            seen = FileSeen(str(real), digest_of(real.read_bytes()))
        except (OSError, ValueError):
            return ()
        known: MutableMapping[str, str] = self._context.known
        known[seen.path] = seen.digest
        return (seen,)
