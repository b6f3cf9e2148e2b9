"""subagent: hands a task to an agent with a session of its own, so that only its answer takes up the conversation."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from threading import Event

from attrs import evolve, frozen

from quillback.core.message import JsonObject, ToolKind
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import ToolError, ToolOutcome, ToolProgress
from quillback.core.subagent import Subagents, Task
from quillback.tools.call import Prepared, schema, string
from quillback.tools.context import ToolContext
from quillback.tools.foreign import Foreign, progress_parts
from quillback.tools.text import one_line
from quillback.tools.threads import in_thread

DESCRIPTION = """Hand a task to a subagent: an agent with a conversation of its own, the same workspace and the same \
tools. It sees nothing of this conversation, so say in `task` all that it needs: what to find out or to do, where, and \
what to answer. You get its last message. Its calls are checked, and the user is asked about them, like yours.
Use it for work whose details you do not need here, such as a search through many files. Several calls in one reply \
work side by side; do not let two of them change the same files. A subagent has no subagents and cannot ask the user."""


@frozen
class Subagent:
    """The call itself has no effects; what the subagent does is inspected call by call, so it counts as read-only."""

    context: ToolContext
    subagents: Subagents

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name="subagent",
            description=DESCRIPTION,
            input_schema=schema(
                ("task",),
                task={"type": "string", "description": "the whole task, in words that stand alone"},
                tools={
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "names of the only tools that it may use; all by default",
                },
            ),
            kind=ToolKind.THINK,
            describe=_describe,
            read_only=True,
        )

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return frozenset()

    async def prepare(self, call_id: str, arguments: JsonObject) -> Prepared:
        text = string(arguments, "task").strip()
        if not text:
            raise ToolError("task must not be empty")
        task = Task(call_id, text, _names(arguments.get("tools")))
        return Prepared(lambda: self._run(task))

    async def _run(self, task: Task) -> AsyncIterator[ToolProgress | ToolOutcome]:
        async with aclosing(self.subagents.run(task)) as steps:
            async for step in steps:
                match step:
                    case ToolProgress(shown=shown):
                        yield ToolProgress(progress_parts(shown))
                    case ToolOutcome():
                        yield await in_thread(partial(self._bounded, step))
                        return
        raise ToolError("the subagent ended without an answer")

    def _bounded(self, outcome: ToolOutcome, _: Event) -> ToolOutcome:
        content, answer = Foreign(self.context, "subagent").parts(outcome.content, "")
        return evolve(outcome, content=content, shown=(*progress_parts(outcome.shown), *answer))


def _names(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise ToolError("tools must be a list of names of tools")
    return tuple(dict.fromkeys(value))


def _describe(arguments: JsonObject) -> Sketch:
    task = arguments.get("task")
    return Sketch(f"Subagent: {one_line(task, 100)}" if isinstance(task, str) and task.strip() else "Subagent")
