"""What a mock script consists of: scenarios, whose steps say what the agent puts on the wire."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

Json = dict[str, Any]
PROMPT = "session/prompt"
MOMENTS = ("start", "eof", "broken", "batch", "invalid", "stray", "unknown")
"""What an `on` line may name besides methods: the process has started, stdin has ended, a line that is no JSON came, an
array, an object that is no message, an answer to nothing, a request of a method that the mock does not know."""


@frozen
class Chunk:
    """`kind` is agent_message, agent_thought or user_message; sent `times` times."""

    kind: str
    text: str
    times: int = 1


@frozen
class Update:
    """Any update of the session, as it is on the wire."""

    update: Json


@frozen
class Message:
    """A whole message, with nothing added."""

    message: Any


@frozen
class Raw:
    """Text that goes to stdout as it is; surrogate escapes are single bytes."""

    text: str
    times: int = 1


@frozen
class Ask:
    """A request to the client. `wait` for the answer, which is then `${answer}`."""

    method: str
    params: Json
    wait: bool = True


@frozen
class Notify:
    method: str
    params: Json


@frozen
class Answer:
    result: Any


@frozen
class Fail:
    """An error answer."""

    error: Json


@frozen
class Default:
    """What the mock does anyway; `patch` is merged into the result (RFC 7386: null removes)."""

    patch: Json


@frozen
class NoAnswer:
    pass


@frozen
class Wait:
    seconds: float


@frozen
class Pace:
    """Silence after each of the chunks that follow."""

    seconds: float


@frozen
class UntilCancel:
    pass


@frozen
class IgnoreCancel:
    """A cancel does not end the prompt."""


@frozen
class Unchecked:
    """Prompts of unknown sessions, and such that are malformed, are played too."""


@frozen
class Hang:
    """Nothing more comes, and stdin is not read any more."""


@frozen
class Stop:
    """The steps that follow are not taken."""


@frozen
class Exit:
    code: int


@frozen
class CloseOutput:
    pass


@frozen
class Stderr:
    text: str


@frozen
class If:
    """`step` is taken only when the value at `path` is `value` as text, or is not (`equal` False)."""

    path: str
    value: str
    equal: bool
    step: "Step"


Step = (
    Chunk
    | Update
    | Message
    | Raw
    | Ask
    | Notify
    | Answer
    | Fail
    | Default
    | NoAnswer
    | Wait
    | Pace
    | UntilCancel
    | IgnoreCancel
    | Unchecked
    | Hang
    | Stop
    | Exit
    | CloseOutput
    | Stderr
    | If
)
Steps = tuple[Step, ...]


@frozen
class Scenario:
    """`blocks` has the steps by method (or moment); that of `session/prompt` is what a prompt of its name plays."""

    name: str
    title: str
    blocks: Mapping[str, Steps]

    @property
    def must_be_started(self) -> bool:
        """Whether it is about more than prompts, so that it has no full effect unless the mock is started with it."""
        return set(self.blocks) != {PROMPT}
