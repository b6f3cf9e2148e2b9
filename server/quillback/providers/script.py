"""What a script holds once it is read; `script_format` says how it is written."""

from attrs import frozen

from quillback.core.message import JsonObject, Usage


@frozen
class Say:
    """`pieces` times `text`; a single one is split into words."""

    text: str
    pieces: int = 1


@frozen
class Think:
    text: str
    pieces: int = 1


@frozen
class Call:
    name: str
    input: JsonObject


@frozen
class RawCall:
    name: str
    raw: str


@frozen
class Pause:
    seconds: float


@frozen
class Pace:
    seconds: float


@frozen
class Fail:
    """`retry_after` is seconds."""

    status: int
    message: str
    retry_after: float | None


@frozen
class Drop:
    pass


Action = Say | Think | Call | RawCall | Pause | Pace | Fail | Drop


@frozen
class Expectation:
    """`text` must, or must not, be in the last message; `line` is where the script says so."""

    text: str
    present: bool
    line: int


@frozen
class Response:
    actions: tuple[Action, ...]
    expectations: tuple[Expectation, ...] = ()
    usage: Usage | None = None
    stop: str = ""


@frozen
class Script:
    """`loop` starts again after the last response, `each_prompt` with every prompt."""

    name: str
    responses: tuple[Response, ...]
    loop: bool = False
    each_prompt: bool = False
