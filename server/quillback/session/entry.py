"""What a prompt stands for, found out before its turn: hooks may object or add to it, a slash command may be meant."""

from collections.abc import Sequence
from typing import assert_never

from attrs import evolve, field, frozen

from quillback.core.commands import Begin, Clear, Commands, Compact, Desk, Expand, Say, parse
from quillback.core.hooks import HookAnswer, HookPoint
from quillback.core.message import Message, Notice, Part, Text
from quillback.core.turn_types import Aim
from quillback.session.moments import Moments


@frozen
class Entry:
    """How a prompt enters the stream: what the model is told before it, the prompt, what the user and the model are
    told after it. `runs` is False where no turn follows; `refused` where that is so since the prompt could not be
    carried out or was not let through; `clear` where the model forgets what came before."""

    prompt: Message
    before: tuple[str, ...] = ()
    for_user: str = ""
    for_model: tuple[Part, ...] = ()
    aim: Aim = field(factory=Aim)
    runs: bool = True
    refused: bool = False
    clear: bool = False


@frozen
class Reception:
    moments: Moments
    commands: Commands
    desk: Desk

    async def receive(self, prompt: Message, given: Entry | None, *, first: bool, fresh: bool) -> Entry:
        """What `prompt` stands for: `given` where that is known already, and it is no slash command then.

        `first` says that the session has had no prompt since it was opened, `fresh` that it is a new one.
        """
        if not any(says_something(p) for p in prompt.parts):
            return Entry(prompt, runs=False)
        moments, started = self.moments, HookAnswer()
        if first:
            started = await moments.fire(HookPoint.SESSION_START, source="startup" if fresh else "resume")
        answer = await moments.fire(HookPoint.USER_PROMPT_SUBMIT, prompt=prompt.text())
        if no := started.halt or answer.halt or answer.blocked:
            say = f"A hook did not let this prompt through: {no}"
            return Entry(evolve(prompt, visible_to_model=False), for_user=say, runs=False, refused=True)
        entry = given or await self._command(prompt)
        return evolve(entry, before=(*started.context, *answer.context))

    async def _command(self, prompt: Message) -> Entry:
        named = parse(_first_text(prompt.parts))
        result = await self.commands.run(*named, self.desk) if named else None
        if result is None:
            return Entry(prompt)
        typed = evolve(prompt, visible_to_model=False)
        match result:
            case Say(text=text, refused=refused):
                return Entry(typed, for_user=text, runs=False, refused=refused)
            case Clear(text=text):
                return Entry(typed, for_user=text, runs=False, clear=True)
            case Compact(focus=focus):
                return Entry(typed, aim=Aim(compact=focus))
            case Expand(parts=parts, recipe=recipe):
                return Entry(typed, for_model=(*parts, *_further(prompt.parts)), aim=Aim(recipe=recipe))
            case Begin(confirmation=confirmation, kickoff=kickoff, goal=goal, grind=grind):
                words = (Text(kickoff), *_further(prompt.parts))
                return Entry(typed, for_user=confirmation, for_model=words, aim=Aim(goal=goal, grind=grind))
            case _:
                assert_never(result)


def says_something(part: Part) -> bool:
    match part:
        case Notice():
            return False
        case _:
            text = getattr(part, "text", None)
            return not isinstance(text, str) or bool(text.strip())


def _first_text(parts: Sequence[Part]) -> str:
    return parts[0].text if parts and isinstance(parts[0], Text) else ""


def _further(parts: Sequence[Part]) -> tuple[Part, ...]:
    """What the user sent besides the line with the command."""
    return tuple(parts[1:])
