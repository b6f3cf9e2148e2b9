"""What goes into a turn and what it asks for: its setup, the actions of `next_action`, the inputs of `feed`."""

from collections.abc import Callable, Sequence
from enum import Enum

from attrs import field, frozen

from quillback.core.assemble import NewId
from quillback.core.event import TurnCompleted
from quillback.core.hooks import HookAnswer
from quillback.core.message import NO_USAGE, JsonObject, Message, ToolResult, ToolUse, Usage
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

    def within(self, other: "Limits | None") -> "Limits":
        """The smaller of each limit of the two."""
        if other is None:
            return self
        return Limits(
            min(self.max_steps, other.max_steps),
            min((c for c in (self.max_cost, other.max_cost) if c is not None), default=None),
            min((d for d in (self.max_duration, other.max_duration) if d is not None), default=None),
        )


@frozen
class Check:
    """A command that must end with exit code 0, within `seconds`, for the work to count as done."""

    command: str
    seconds: float = 300.0


@frozen
class Recipe:
    """What a turn must bring. Checks that fail are retried `retries` times, `fresh` from the prompt on, after
    `on_failure` was run. `output` is the JSON schema of a final output; None for none. `limits` only ever tighten
    the configured ones."""

    checks: tuple[Check, ...] = ()
    retries: int = 3
    fresh: bool = False
    on_failure: Check | None = None
    output: JsonObject | None = None
    limits: Limits | None = None


@frozen
class Aim:
    """What keeps a turn going beyond the model's own end. `compact` is a turn that only compacts, with a focus."""

    goal: str = ""
    grind: bool = False
    recipe: Recipe = field(factory=Recipe)
    compact: str | None = None


@frozen
class Compacting:
    """When to compact: `ratio` of the window; None for the built-in margins; 0 or from 1 on never."""

    ratio: float | None = None

    def due(self, used: int, window: int) -> bool:
        if self.ratio is not None:
            return 0 < self.ratio < 1 and used > window * self.ratio
        margin = MARGIN if window > LARGE_WINDOW else window // 5
        return window > 0 and window - used <= margin


LARGE_WINDOW = 200_000
MARGIN = 20_000


@frozen
class Setup:
    """What a turn is given. `new_id`, `now` (milliseconds) and `jitter` (0 to 1) keep it pure; `spent` is the
    session's cost so far. `stop_hook` says whether there is a hook to ask before the turn may end."""

    session_id: str
    model: Model
    system: str
    thinking: ThinkingLevel
    new_id: NewId
    now: Callable[[], int]
    jitter: Callable[[], float]
    limits: Limits = Limits()
    spent: float = 0.0
    aim: Aim = field(factory=Aim)
    compacting: Compacting = field(factory=Compacting)
    stop_hook: bool = False


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
class Compact:
    """Have the small model summarise this, and feed Compacted or CompactionFailed."""

    history: tuple[Message, ...]
    focus: str = ""
    by_hand: bool = False


class Question(Enum):
    """What must be known before the turn may end."""

    CHECKS = "checks"
    STOP_HOOK = "stop hook"


@frozen
class Consult:
    """Find `question` out and feed ChecksRan or StopAnswered. `text` is the model's last answer, `blocks` how often a
    Stop hook has said no by now."""

    question: Question
    text: str = ""
    blocks: int = 0


@frozen
class Finish:
    """The turn is over; `completed` is its last event."""

    completed: TurnCompleted


Action = BeginStep | CallModel | Wait | RunTools | Compact | Consult | Finish

# ---------------------------------------------------------------- inputs


@frozen
class StepBegan:
    """`elapsed` is seconds since the turn began."""

    tools: tuple[ToolSpec, ...]
    elapsed: float = 0.0


@frozen
class Steered:
    """The user adds a message to the running turn; it waits for the next step. It has no place in the stream yet."""

    message: Message


@frozen
class Compacted:
    """`summary` is the small model's text, `cost` what it took in US dollars, `usage` the same in tokens."""

    summary: str
    cost: float = 0.0
    usage: Usage = NO_USAGE


@frozen
class CompactionFailed:
    """`reason` is for the user. See Compacted for the other fields."""

    reason: str
    cost: float = 0.0
    usage: Usage = NO_USAGE


@frozen
class ChecksRan:
    """`failures` says what failed and how, the first line how many; empty when all checks passed."""

    failures: str


@frozen
class StopAnswered:
    answer: HookAnswer


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
    """`stop_turn` says that nothing follows this step but `say`, shown to the user. `final` is the turn's final output;
    `cost` what the call took of models, in US dollars, `usage` the same in tokens."""

    result: ToolResult
    stop_turn: bool = False
    say: str = ""
    final: str = ""
    cost: float = 0.0
    usage: Usage = NO_USAGE


@frozen
class Cancel:
    pass


@frozen
class Crash:
    """Something failed that is no fault of the model's service; `message` is for the user."""

    message: str
    kind: str = "internal"


Input = (
    StepBegan
    | Steered
    | Received
    | ReplyEnded
    | RequestFailed
    | Waited
    | ToolBegan
    | ToolFinished
    | Compacted
    | CompactionFailed
    | ChecksRan
    | StopAnswered
    | Cancel
    | Crash
)
