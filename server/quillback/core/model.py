"""What is said to a language model and what it says back, neutral of any provider."""

from collections.abc import Callable
from enum import Enum, StrEnum

from attrs import frozen

from quillback.core.message import JsonObject, Location, Part, ToolKind, Usage


class Thinking(StrEnum):
    """How long a model may think before it answers."""

    OFF = "off"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@frozen
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


@frozen
class Model:
    """A model of the catalog. `context_window` and `max_output` are tokens; no price means unknown.

    `thinking_always` models cannot have thinking turned off; `thinking` is False for models that have none.
    `text_tools` models have no tool calls of their own and write them as text.
    A prompt of more than `long_prompt` tokens costs `long_price` (0 and None where there is one price only).
    """

    id: str
    provider: str
    name: str
    context_window: int
    max_output: int
    price: Price | None = None
    thinking: bool = True
    thinking_always: bool = False
    images: bool = True
    text_tools: bool = False
    long_prompt: int = 0
    long_price: Price | None = None


@frozen
class Sketch:
    """How a call is announced before it runs."""

    title: str
    locations: tuple[Location, ...] = ()


@frozen
class ToolSpec:
    """A tool as the model and the editor know it. `input_schema` is a JSON schema of type object.

    `describe` is pure, tolerates any JSON object and may be called before the input was validated.
    `polling` tools may repeat an identical call without it counting as a repetition. `frontend` tools are carried out
    by the editor, which decides about them itself.
    """

    name: str
    description: str
    input_schema: JsonObject
    kind: ToolKind
    describe: Callable[[JsonObject], Sketch]
    read_only: bool = False
    polling: bool = False
    frontend: bool = False


@frozen
class RequestMessage:
    """`role` is user or assistant; tool results are user parts."""

    role: str
    parts: tuple[Part, ...]


@frozen
class ModelRequest:
    """One request to a model, neutral of the provider.

    `marks` are the (message, part) indexes where a prompt cache entry may end, besides tools and system.
    `max_tokens` bounds the answer. `side` and `session_id` are never sent: a scripted provider tells main from side
    requests by them, and one session from another.
    """

    model: Model
    system: str
    messages: tuple[RequestMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 16_000
    thinking: Thinking = Thinking.OFF
    marks: tuple[tuple[int, int], ...] = ()
    side: bool = False
    session_id: str = ""


@frozen
class StreamStarted:
    """`model` is the id the provider reports."""

    model: str
    usage: Usage | None = None


@frozen
class TextStarted:
    index: int
    text: str = ""


@frozen
class ThinkingStarted:
    index: int
    text: str = ""
    signature: str = ""


@frozen
class RedactedStarted:
    index: int
    data: str


@frozen
class ToolUseStarted:
    """`input` is not empty when a server sends the whole input at once."""

    index: int
    id: str
    name: str
    input: JsonObject | None = None


@frozen
class TextDelta:
    index: int
    text: str


@frozen
class ThinkingDelta:
    index: int
    text: str


@frozen
class SignatureDelta:
    index: int
    signature: str


@frozen
class InputDelta:
    index: int
    json: str


@frozen
class BlockStopped:
    index: int


@frozen
class StreamStopping:
    """The provider's own stop reason and its counts at the end. `explanation` says why it refused, if told."""

    stop_reason: str
    usage: Usage | None = None
    explanation: str = ""


@frozen
class StreamStopped:
    """The reply is whole. A stream that ends without it failed."""


ProviderEvent = (
    StreamStarted
    | TextStarted
    | ThinkingStarted
    | RedactedStarted
    | ToolUseStarted
    | TextDelta
    | ThinkingDelta
    | SignatureDelta
    | InputDelta
    | BlockStopped
    | StreamStopping
    | StreamStopped
)


class Failure(Enum):
    """Kinds of failed model requests. The first group is worth another try."""

    OVERLOADED = "overloaded"
    RATE_LIMIT = "rate_limit"
    SERVER = "server"
    CONNECTION = "connection"
    INCOMPLETE = "incomplete"
    IDLE = "idle"

    INVALID = "invalid_request"
    AUTHENTICATION = "authentication"
    PERMISSION = "permission"
    NOT_FOUND = "not_found"
    TOO_LARGE = "too_large"
    CONTEXT_LENGTH = "context_length"
    BAD_THINKING = "bad_thinking"
    BAD_IMAGE = "bad_image"
    NO_CREDENTIALS = "no_credentials"

    @property
    def retryable(self) -> bool:
        return self in _RETRYABLE


_RETRYABLE = frozenset(
    {
        Failure.OVERLOADED,
        Failure.RATE_LIMIT,
        Failure.SERVER,
        Failure.CONNECTION,
        Failure.INCOMPLETE,
        Failure.IDLE,
    }
)


class ProviderError(Exception):
    """A model request failed. `message` is for the user: what happened, what to do. `retry_after` is seconds."""

    def __init__(self, failure: Failure, message: str, *, status: int = 0, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.failure = failure
        self.message = message
        self.status = status
        self.retry_after = retry_after
