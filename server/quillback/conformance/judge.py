"""Judgements that many rules share."""

from quillback.conformance.rule import Failed, Hindrance, NotRun, Passed, Verdict
from quillback.conformance.session import AgentRun, why_refused
from quillback.conformance.text import short, what_came
from quillback_protocol.jsonrpc import JsonObject

UNKNOWN_SESSION = "quillback-check-no-such-session"


def refused(answer: JsonObject) -> Verdict:
    """Any error will do."""
    return Passed() if "error" in answer and "result" not in answer else Failed(what_came(answer))


def with_code(answer: JsonObject, *codes: int) -> Verdict:
    """An error with one of the codes; one that asks to log in says nothing about it."""
    if "error" in answer and why_refused(answer) is Hindrance.NEEDS_AUTHENTICATION:
        return NotRun(Hindrance.NEEDS_AUTHENTICATION, f"it was answered with {what_came(answer)}")
    error = answer.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return Passed() if code in codes else Failed(what_came(answer))


def accepted(answer: JsonObject) -> Verdict:
    """A result, an object or null."""
    result = answer.get("result", answer)
    if "result" in answer and "error" not in answer and (result is None or isinstance(result, dict)):
        return Passed()
    if "error" in answer and why_refused(answer) is Hindrance.NEEDS_AUTHENTICATION:
        return NotRun(Hindrance.NEEDS_AUTHENTICATION, f"it was answered with {what_came(answer)}")
    return Failed(what_came(answer))


def result_of(answer: JsonObject) -> JsonObject:
    result = answer.get("result")
    return result if isinstance(result, dict) else {}


async def survives(run: AgentRun, what: str) -> Verdict:
    """Whether the agent still answers after something odd."""
    came = await run.lives()
    return Failed(f"after {what}: {came}") if came else Passed()


def not_declared(what: str) -> NotRun:
    return NotRun(Hindrance.NOT_DECLARED, f"the agent does not declare {what}")


def list_of(value: object) -> list[JsonObject]:
    """The objects in a value that should be a list of them."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def twice(values: list[object]) -> list[str]:
    """Those that occur more than once."""
    return [short(value) for i, value in enumerate(values) if value in values[:i]]
