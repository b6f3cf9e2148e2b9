"""How servers of the API differ: which parameters they take, and in what words they refuse others; pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

Body = Mapping[str, Any]
ALL_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")


@frozen
class Habits:
    """`limits` are the names taken for the bound of the answer, `most` the largest. `efforts` are the values of
    reasoning_effort (empty: the parameter is not known), `default_effort` is what counts when none is sent;
    `tools_need_no_effort` refuses function tools with any effort but "none", as OpenAI does. `thoughts`: what is done
    with thoughts that are sent back: "take", "refuse", or "want", which refuses calls without one."""

    limits: tuple[str, ...] = ("max_tokens", "max_completion_tokens")
    most: int = 10**9
    efforts: tuple[str, ...] = ALL_EFFORTS
    default_effort: str = "none"
    tools_need_no_effort: bool = False
    stream_options: bool = True
    thoughts: str = "take"


def refusals(body: Body, habits: Habits, model: str) -> Iterator[str]:
    for name in ("max_tokens", "max_completion_tokens"):
        if name in body and name not in habits.limits:
            yield (
                f"Unsupported parameter: '{name}' is not supported with this model. Use '{habits.limits[0]}' instead."
            )
        if name in body and body[name] > habits.most:
            yield f"max_tokens is too large: {body[name]}. This model supports at most {habits.most} completion tokens."
    yield from _efforts(body, habits, model)
    if "stream_options" in body and not habits.stream_options:
        yield "Unrecognized request argument supplied: stream_options"
    for message in body.get("messages") or []:
        fields = {"reasoning_content", "reasoning"} & message.keys()
        if fields and habits.thoughts == "refuse":
            yield f"messages: property '{fields.pop()}' is unsupported"
        if message.get("tool_calls") and not fields and habits.thoughts == "want":
            yield "The `reasoning_content` in the thinking mode must be passed back to the API."


def _efforts(body: Body, habits: Habits, model: str) -> Iterator[str]:
    effort = body.get("reasoning_effort")
    if effort is not None and not habits.efforts:
        yield "Unrecognized request argument supplied: reasoning_effort"
    elif effort is not None and effort not in habits.efforts:
        known = ", ".join(repr(e) for e in habits.efforts)
        yield (
            f"Unsupported value: 'reasoning_effort' does not support {effort!r} with this model. "
            f"Supported values are: {known}."
        )
    elif habits.tools_need_no_effort and body.get("tools") and (effort or habits.default_effort) != "none":
        yield (
            f"Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. "
            "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        )
