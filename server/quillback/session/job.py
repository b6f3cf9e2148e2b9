"""An accepted prompt on its way to its turn."""

from attrs import frozen

from quillback.core.message import Message, Part
from quillback.core.turn_types import Aim
from quillback.session.pipe import EventPipe


@frozen
class Job:
    """The prompt and where its events go. `aim` and `for_model` are set where it does not come from a user's keyboard:
    then it is no slash command."""

    message: Message
    pipe: EventPipe
    aim: Aim | None = None
    for_model: tuple[Part, ...] = ()
