"""Runs the hooks of one session: all of a moment side by side, each told of it as JSON."""

import asyncio
import json
import logging
from collections.abc import Callable

from attrs import evolve, frozen

from quillback.core.hooks import NOTHING, HookAnswer, HookCall, HookPoint
from quillback.core.process import Ran, RunCommand
from quillback.hooks.answer import answer_of, merged
from quillback.hooks.files import TOOL_POINTS, WORDS, Hook, HookSet
from quillback.hooks.names import from_other, to_other

AT_ONCE = 8

log = logging.getLogger(__name__)


@frozen
class _Due:
    """A hook that is to run, and what it calls the tool."""

    hook: Hook
    tool_name: str = ""


class CommandHooks:
    """Implements the Hooks port with commands.

    `user` and `project` are asked at each moment for the hooks there are now; each of their problems is told once.
    `mode` is given to hooks as the permission mode where the moment does not bring a newer one.
    """

    def __init__(
        self,
        *,
        session_id: str,
        cwd: str,
        mode: str,
        user: Callable[[], HookSet],
        project: Callable[[], HookSet],
        run: RunCommand,
    ) -> None:
        self._facts = {"session_id": session_id, "transcript_path": "", "cwd": cwd, "permission_mode": mode}
        self._cwd = cwd
        self._sources = (user, project)
        self._run = run
        self._told: set[str] = set()

    def any(self, point: HookPoint) -> bool:
        """Also true while there is a problem to tell the user of."""
        sets = [source() for source in self._sources]
        return any(hook.point is point for found in sets for hook in found.hooks) or any(
            problem not in self._told for found in sets for problem in found.problems
        )

    async def fire(self, call: HookCall) -> HookAnswer:
        sets = [source() for source in self._sources]
        problems = [p for found in sets for p in found.problems if p not in self._told]
        self._told.update(problems)
        due = _due(call, [hook for found in sets for hook in found.hooks])
        answer = await self._answers(call, due) if due else NOTHING
        return evolve(answer, notes=(*problems, *answer.notes)) if problems else answer

    async def _answers(self, call: HookCall, due: list[_Due]) -> HookAnswer:
        slots = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(call, one, slots)) for one in due]
        return merged([one.hook for one in due], [task.result() for task in tasks])

    async def _one(self, call: HookCall, due: _Due, slots: asyncio.Semaphore) -> HookAnswer:
        hook, env = due.hook, {"QUILLBACK_PROJECT_DIR": self._cwd, "CLAUDE_PROJECT_DIR": self._cwd}
        try:
            async with slots:
                told = self._told_of(call, due)
                ran = await self._run(hook.command, cwd=self._cwd, stdin=told, env=env, seconds=hook.seconds)
        except Exception as error:
            log.exception("%s failed", hook.title)
            ran = Ran(None, problem=f"an internal error: {type(error).__name__}")
        answer = answer_of(hook, call, ran)
        if answer.input is not None and due.tool_name != call.tool:
            answer = evolve(answer, input=from_other(call.tool, answer.input))
        return answer

    def _told_of(self, call: HookCall, due: _Due) -> str:
        """The moment as JSON. The tool and its arguments go by the names that the hook knows them by."""
        told = {**self._facts, "hook_event_name": call.point.value, **call.fields}
        if call.point in TOOL_POINTS:
            told["tool_name"] = due.tool_name
            if due.tool_name != call.tool:
                told["tool_input"] = to_other(call.tool, call.fields.get("tool_input", {}), self._cwd)
        return json.dumps(told, default=str)


def _due(call: HookCall, hooks: list[Hook]) -> list[_Due]:
    """The hooks that are for this moment, in order; the same command counts once, as the strictest of them."""
    due: dict[tuple[str, str], _Due] = {}
    for hook in hooks:
        if hook.point is not call.point:
            continue
        name = hook.tool_name(call.tool) if call.point in TOOL_POINTS else ""
        if not (name if call.point in TOOL_POINTS else hook.is_for(_word(call))):
            continue
        before = due.setdefault((hook.command, name), _Due(hook, name))
        if hook.strict and not before.hook.strict:
            due[hook.command, name] = _Due(evolve(before.hook, strict=True), name)
    return list(due.values())


def _word(call: HookCall) -> str:
    value = call.fields.get(WORDS.get(call.point, ""))
    return value if isinstance(value, str) else ""
