"""Takes a stored stream apart: what was given to the loop, and what the loop made of it, turn by turn.

The stream says what happened, not who did it, so this goes by what only one of the two can have written.
"""

import re
from collections.abc import Sequence

from attrs import frozen

from quillback.core.commands import parse
from quillback.core.compaction import DONE
from quillback.core.continuation import ASK_FINAL, MEND
from quillback.core.message import Message, MessageState, Role, Text, ToolResult
from quillback.core.repair import INTERRUPTED
from quillback.core.stream import summary_of
from quillback.core.turn import CANCELLED_CALL, CANCELLED_EARLY, CUT_REPLY, NOT_RUN
from quillback.core.turn_types import Aim
from quillback.session.final_output import NAME as FINAL_OUTPUT

HOOK_SAID_NO = "A hook of the user says that the work is not done: "
DECLINED = "The model declined to answer"
_EMPTY = re.compile(r"The model (?:sent an empty reply|announced a tool call but sent none), (\d+) times in a row\.")
_LIMIT = re.compile(r"Stopped after (\d+) steps, the limit of one turn\.")
_ENDED_EARLY = frozenset({CANCELLED_CALL, CANCELLED_EARLY, CUT_REPLY, NOT_RUN, INTERRUPTED})


@frozen
class Span:
    """`given` came from outside: the prompt and what stands around it. `made` is what the loop has to make again."""

    given: tuple[Message, ...]
    made: tuple[Message, ...]

    @property
    def aim(self) -> Aim:
        """What kept the turn going, as far as its command says."""
        prompt = next((m for m in reversed(self.given) if m.visible_to_user and m.role is Role.USER), None)
        named = parse(prompt.text()) if prompt is not None else None
        if prompt is None or named is None or prompt.visible_to_model:
            return Aim()
        name, argument = named
        by_hand = len(self.made) == 2 and self.made[0].text().startswith(DONE)
        match name:
            case "compact" if by_hand:
                return Aim(compact=argument)
            case "goal":
                return Aim(goal=argument)
            case "grind":
                return Aim(grind=True)
            case _:
                return Aim()

    @property
    def of_recipe(self) -> bool:
        """Whether a recipe was behind it, of whose checks and schema the stream says nothing."""
        told = [m.text() for m in self.made if is_for_model(m)]
        called = any(call.name == FINAL_OUTPUT for m in self.made for call in m.tool_uses())
        return called or any(text == ASK_FINAL or text.endswith(MEND) for text in told)

    @property
    def most_steps(self) -> int | None:
        """The limit of steps that it has reached."""
        found = [_LIMIT.match(m.text()) for m in self.made if is_for_user(m)]
        return next((int(limit[1]) for limit in found if limit), None)

    @property
    def empty_replies(self) -> int:
        """How many replies without anything in them ended it."""
        found = [_EMPTY.match(m.text()) for m in self.made if is_for_user(m)]
        return next((int(times[1]) for times in found if times), 0)

    @property
    def declined(self) -> bool:
        return any(is_for_user(m) and m.text().startswith(DECLINED) for m in self.made)


def spans_of(messages: Sequence[Message]) -> list[Span]:
    """All of the stream; the last span may have nothing that was made."""
    messages = _finished(messages)
    spans: list[Span] = []
    i = 0
    while i < len(messages):
        start = i
        while i < len(messages) and not _is_made(messages, i):
            i += 1
        middle = i
        while i < len(messages) and not _is_given(messages, i, middle):
            i += 1
        spans.append(Span(tuple(messages[start:middle]), tuple(messages[middle:i])))
    return spans


def is_reply(message: Message) -> bool:
    """Whether a model wrote it."""
    return message.role is Role.ASSISTANT and bool(message.model)


def is_for_user(message: Message) -> bool:
    """Whether the agent says something of its own."""
    return message.role is Role.ASSISTANT and not message.model


def is_for_model(message: Message) -> bool:
    return message.role is Role.USER and not message.visible_to_user


def is_prompt(message: Message) -> bool:
    return message.role is Role.USER and message.visible_to_user and message.state is not MessageState.NOT_RUN


def result_text(result: ToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, Text))


def _finished(messages: Sequence[Message]) -> list[Message]:
    """Up to what still grows."""
    growing = next((i for i, m in enumerate(messages) if m.state is MessageState.STREAMING), len(messages))
    return list(messages[:growing])


def _is_made(messages: Sequence[Message], i: int) -> bool:
    """Whether the loop's part begins here."""
    message = messages[i]
    if is_reply(message):
        return True
    if not is_for_user(message):
        return False
    following = messages[i + 1] if i + 1 < len(messages) else None
    summary = summary_of(following) if following is not None else None
    compacts = message.text().startswith(DONE) and summary is not None and bool(summary.text)
    return compacts or message.text().startswith(DECLINED) or _EMPTY.match(message.text()) is not None


def _is_given(messages: Sequence[Message], i: int, middle: int) -> bool:
    """Whether the loop's part, which begins at `middle`, is over and the next turn's begins."""
    message = messages[i]
    if i == middle:
        return False
    if message.state is MessageState.NOT_RUN:
        return True
    if is_prompt(message):
        return not _goes_on(messages, i, middle)
    if is_for_model(message) and summary_of(message) is None:
        following = next((m for m in messages[i:] if not is_for_model(m) and not is_for_user(m)), None)
        return following is None or not is_reply(following)
    return False


def _goes_on(messages: Sequence[Message], i: int, middle: int) -> bool:
    """Whether the prompt was a message to the running turn: it comes behind the results of a step that went on."""
    before = i - 1
    while before > middle and is_prompt(messages[before]):
        before -= 1
    if messages[before].role is not Role.TOOL:
        return False
    while before >= middle and messages[before].role is Role.TOOL:
        if any(result_text(r) in _ENDED_EARLY for r in messages[before].tool_results()):
            return False
        before -= 1
    return True
