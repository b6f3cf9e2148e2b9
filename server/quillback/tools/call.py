"""The shapes every tool is built from: a prepared call, and arguments taken out with clear errors."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from attrs import field, frozen

from quillback.core.message import JsonObject, Location, Shown, Text
from quillback.core.ports import Access, ToolError, ToolOutcome, ToolProgress

WHOLE_LIMIT = 2**31 - 1
"""The largest whole number that editors take as the line of a location."""

Steps = AsyncIterator[ToolProgress | ToolOutcome]


@frozen
class Prepared:
    """A call ready to run; `body` starts it."""

    body: Callable[[], Steps]
    access: Access = field(factory=Access)
    shown: tuple[Shown, ...] = ()
    locations: tuple[Location, ...] = ()

    def run(self) -> Steps:
        return self.body()


def single(work: Callable[[], Awaitable[ToolOutcome]]) -> Callable[[], Steps]:
    """A body that has no progress to report."""

    async def body() -> Steps:
        yield await work()

    return body


def said(text: str, *, is_error: bool = False, raw_output: object = None) -> ToolOutcome:
    """An outcome of one text, the same for the model and the editor."""
    part = Text(text)
    return ToolOutcome(content=(part,), is_error=is_error, shown=(part,), raw_output=raw_output)


def string(arguments: JsonObject, name: str, default: str = "") -> str:
    value: object = arguments.get(name, default)
    if not isinstance(value, str):
        raise ToolError(f"{name} must be a string")
    return value


def flag(arguments: JsonObject, name: str) -> bool:
    value: object = arguments.get(name, False)
    if not isinstance(value, bool):
        raise ToolError(f"{name} must be true or false")
    return value


def integer(arguments: JsonObject, name: str, default: int, low: int) -> int:
    """A whole number from `low` to WHOLE_LIMIT; 3.0 counts as 3."""
    value: object = arguments.get(name, default)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ToolError(f"{name} must be a whole number")
    # The number itself is not shown: it may have more digits than Python makes into text.
    if not low <= value <= WHOLE_LIMIT:
        raise ToolError(f"{name} must be between {low} and {WHOLE_LIMIT:,}")
    return value


def seconds(arguments: JsonObject, name: str, default: float, high: float) -> float:
    """A time of 0 to `high` seconds."""
    value: object = arguments.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ToolError(f"{name} must be a number of seconds")
    # Compared before it is made a float, which a large whole number cannot become.
    if not 0 <= value <= high:
        raise ToolError(f"{name} must be between 0 and {high:g} seconds")
    return float(value)


def schema(required: tuple[str, ...], **properties: dict[str, Any]) -> JsonObject:
    """The input schema of a tool."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
