"""The stream of a session in memory, as a turn reads and extends it."""

from collections.abc import Callable, Sequence

from attrs import define, evolve

from quillback.core.assemble import NewId
from quillback.core.event import MessageAdded, MessageChanged
from quillback.core.message import Message, MessageState, Part, Role, Summary, Text


@define
class Stream:
    """`messages` is shared with the session: it is changed in place. `now` is milliseconds since the epoch."""

    messages: list[Message]
    session_id: str
    new_id: NewId
    now: Callable[[], int]

    def message(self, role: Role, *parts: Part, state: MessageState = MessageState.COMPLETE) -> Message:
        """A new message with the next place in the stream; it is not in it yet."""
        return Message(
            id=self.new_id("msg"),
            session_id=self.session_id,
            seq=next_seq(self.messages),
            role=role,
            parts=parts,
            created_at=self.now(),
            state=state,
        )

    def append(self, message: Message) -> MessageAdded:
        self.messages.append(message)
        return MessageAdded(message)

    def add(self, role: Role, *parts: Part) -> MessageAdded:
        return self.append(self.message(role, *parts))

    def tell_model(self, *parts: Part) -> MessageAdded:
        """Add what only the model sees, as the user's words."""
        return self.append(evolve(self.message(Role.USER, *parts), visible_to_user=False))

    def tell_user(self, text: str) -> tuple[MessageAdded, str]:
        """Add what only the user sees, as the agent's words; with the id of its run."""
        run = self.new_id("msg")
        message = evolve(self.message(Role.ASSISTANT, Text(text, run)), visible_to_model=False)
        return self.append(message), run

    def hide_from(self, index: int) -> list[MessageChanged]:
        """Keep the message at `index` and all after it from the model from now on."""
        out: list[MessageChanged] = []
        for i in range(index, len(self.messages)):
            if self.messages[i].visible_to_model:
                self.messages[i] = evolve(self.messages[i], visible_to_model=False)
                out.append(MessageChanged(self.messages[i]))
        return out


def next_seq(messages: Sequence[Message]) -> int:
    return messages[-1].seq + 1 if messages else 1


def since_summary(messages: Sequence[Message]) -> list[Message]:
    """The stream from its last summary on: what came before is for the user only."""
    for i in range(len(messages) - 1, -1, -1):
        if summary_of(messages[i]) is not None:
            return list(messages[i:])
    return list(messages)


def summary_of(message: Message) -> Summary | None:
    return next((p for p in message.parts if isinstance(p, Summary)), None)
