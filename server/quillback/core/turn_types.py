"""What goes into a turn and what it asks for: its setup, the actions of `next_action`, the inputs of `feed`."""

from collections.abc import Callable, Sequence

from attrs import frozen

from quillback.core.assemble import NewId
from quillback.core.event import TurnCompleted
from quillback.core.message import Message, ToolResult, ToolUse
from quillback.core.model import Model, ModelRequest, ProviderError, ProviderEvent, ToolSpec
from quillback.core.model import Thinking as ThinkingLevel


@frozen
class Limits:
    """`max_cost` is US dollars and `max_duration` seconds of one turn; None is no limit."""

    max_steps: int = 1000
    max_cost: float | None = None
    max_duration: float | None = None

    def reached(self, steps: int, cost: float, elapsed: float) -> str:
        """Which limit a turn has reached, in words for the user; empty for none."""
        if steps >= self.max_steps:
            return f"Stopped after {self.max_steps} steps, the limit of one turn. Send another prompt to go on."
        if self.max_cost is not None and cost >= self.max_cost:
            return f"Stopped: this turn has cost ${cost:.4f}, and the limit is ${self.max_cost:.4f}."
        if self.max_duration is not None and elapsed >= self.max_duration:
            return f"Stopped after {elapsed:.0f} seconds; the limit of one turn is {self.max_duration:.0f}."
        return ""


@frozen
class Setup:
    """What a turn is given. `new_id`, `now` (milliseconds) and `jitter` (0 to 1) keep it pure; `spent` is the
    session's cost so far."""

    session_id: str
    model: Model
    system: str
    thinking: ThinkingLevel
    new_id: NewId
    now: Callable[[], int]
    jitter: Callable[[], float]
    limits: Limits = Limits()
    spent: float = 0.0


# ---------------------------------------------------------------- actions


@frozen
class BeginStep:
    """Look up the tools there are now and feed StepBegan."""


@frozen
class CallModel:
    """Stream this request: feed Received for what comes, then ReplyEnded or RequestFailed."""

    request: ModelRequest


@frozen
class Wait:
    """Wait `seconds`, then feed Waited."""

    seconds: float


@frozen
class RunTools:
    """Run these calls and feed ToolFinished for each."""

    calls: tuple[ToolUse, ...]


@frozen
class Finish:
    """The turn is over; `completed` is its last event."""

    completed: TurnCompleted


Action = BeginStep | CallModel | Wait | RunTools | Finish

# ---------------------------------------------------------------- inputs


@frozen
class StepBegan:
    """`elapsed` is seconds since the turn began; `steers` are user messages to add."""

    tools: tuple[ToolSpec, ...]
    elapsed: float = 0.0
    steers: tuple[Message, ...] = ()


@frozen
class Received:
    events: Sequence[ProviderEvent]


@frozen
class ReplyEnded:
    pass


@frozen
class RequestFailed:
    error: ProviderError


@frozen
class Waited:
    pass


@frozen
class ToolBegan:
    """A call runs from now on: it may have effects."""

    call_id: str


@frozen
class ToolFinished:
    """`stop_turn` says that nothing follows this step but `say`, shown to the user."""

    result: ToolResult
    stop_turn: bool = False
    say: str = ""


@frozen
class Cancel:
    pass


@frozen
class Crash:
    """Something failed that is no fault of the model's service; `message` is for the user."""

    message: str
    kind: str = "internal"


Input = StepBegan | Received | ReplyEnded | RequestFailed | Waited | ToolBegan | ToolFinished | Cancel | Crash
