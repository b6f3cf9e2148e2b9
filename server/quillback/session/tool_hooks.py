"""What hooks have to say before and after a tool call."""

import logging
from collections.abc import Callable

from attrs import evolve, field, frozen

from quillback.core.audit import Finding, arguments_text
from quillback.core.hooks import NOTHING, HookAnswer, HookCall, HookPoint, Hooks, NoHooks
from quillback.core.mask import Mask
from quillback.core.message import Image, JsonObject, Text, ToolResult, ToolUse
from quillback.core.model import ToolSpec
from quillback.core.ports import Mode
from quillback.core.turn_types import ToolFinished
from quillback.core.validate import InputError, as_json, check, parse_input
from quillback.core.verdict import Allow, Ask, Deny
from quillback.session.permits import HOOK, Refused

log = logging.getLogger(__name__)


class HookRefused(Refused):
    """A hook said no. `halt` is the reason to end the turn, if it is one; `finding` goes into the audit."""

    def __init__(self, text: str, finding: Finding, halt: str = "") -> None:
        super().__init__(text)
        self.finding = finding
        self.halt = halt


@frozen
class Before:
    """What will run: `call`, with `findings` for its permission and `lines` to be added to its result."""

    call: ToolUse
    findings: tuple[Finding, ...] = ()
    lines: tuple[str, ...] = ()


@frozen
class ToolHooks:
    """The hooks around the calls of one session. `tell` takes what the user should know."""

    hooks: Hooks = field(factory=NoHooks)
    tell: Callable[[str], None] = lambda _: None
    mask: Mask = field(factory=Mask)

    async def before(self, call: ToolUse, spec: ToolSpec, mode: Mode) -> Before:
        """What the PreToolUse hooks make of a call. Raises HookRefused."""
        answer = await self._fire(HookPoint.PRE_TOOL_USE, call, mode, {})
        if answer.halt:
            reason = f"a hook ended the turn: {answer.halt}"
            raise HookRefused(f"not run: {reason}", Finding(HOOK, Deny(reason)), answer.halt)
        if answer.blocked:
            reason = f"a hook said no: {answer.blocked}"
            raise HookRefused(f"not run: {reason}", Finding(HOOK, Deny(reason)))
        before = Before(call, lines=tuple(f"From a hook: {text}" for text in answer.context))
        if answer.input is not None and answer.input != call.input:
            before = self._rewritten(before, spec, answer.input)
        if answer.ask:
            before = evolve(before, findings=(*before.findings, Finding(HOOK, Ask(f"a hook wants it: {answer.ask}"))))
        return before

    async def after(self, call: ToolUse, finished: ToolFinished, mode: Mode) -> ToolFinished:
        """The end of a call that ran, with what its hooks add for the model."""
        result = finished.result
        point = HookPoint.POST_TOOL_USE_FAILURE if result.is_error else HookPoint.POST_TOOL_USE
        answer = await self._fire(point, call, mode, _told(result))
        lines = [f"From a hook: {text}" for text in answer.context]
        if answer.blocked:
            lines.append(f"A hook objects: {answer.blocked}")
        finished = with_lines(finished, lines)
        if answer.halt:
            finished = evolve(finished, stop_turn=True, say=finished.say or ended(answer.halt))
        return finished

    async def _fire(self, point: HookPoint, call: ToolUse, mode: Mode, more: JsonObject) -> HookAnswer:
        if not self.hooks.any(point):
            return NOTHING
        fields = {"permission_mode": mode.value, "tool_input": dict(call.input), "tool_use_id": call.id, **more}
        answer = await self.hooks.fire(HookCall(point, call.name, fields))
        for note in answer.notes:
            self.tell(note)
        return answer

    def _rewritten(self, before: Before, spec: ToolSpec, wanted: JsonObject) -> Before:
        """The call with the arguments that a hook wants. Raises HookRefused if the tool cannot take them."""
        try:
            raw = as_json(wanted)
            given = parse_input(raw)
            problem = check(given, spec.input_schema)
        except InputError as error:
            problem = str(error)
        text = arguments_text(wanted, self.mask).encode(errors="replace").decode()
        if problem:
            reason = f"a hook changed the arguments to {text}, and these do not fit: {problem}"
            raise HookRefused(f"not run: {reason}", Finding(HOOK, Deny(reason)))
        sketch = spec.describe(given)
        call = evolve(before.call, input=given, raw=raw, title=sketch.title, locations=sketch.locations)
        changed = f"A hook changed the arguments; what counts is: {text}"
        finding = Finding(HOOK, Allow(details=("a hook changed the arguments",)))
        return evolve(before, call=call, findings=(*before.findings, finding), lines=(changed, *before.lines))


def ended(reason: str) -> str:
    """What the user reads where a hook ended the turn."""
    return f"A hook ended the turn: {reason}"


def with_lines(finished: ToolFinished, lines: list[str] | tuple[str, ...]) -> ToolFinished:
    """The model reads `lines` after the result, each behind a blank line."""
    content = finished.result.content
    for line in lines:
        above = any(isinstance(part, Text) and part.text for part in content)
        content = (*content, Text(f"\n\n{line}" if above else line))
    return evolve(finished, result=evolve(finished.result, content=content))


def _told(result: ToolResult) -> JsonObject:
    """A result as hooks read it."""
    text = "".join(part.text for part in result.content if isinstance(part, Text))
    if result.is_error:
        return {"error": text, "is_interrupt": False}
    images = sum(isinstance(part, Image) for part in result.content)
    return {"tool_response": {"text": text, "images": images, "details": result.raw_output}}
