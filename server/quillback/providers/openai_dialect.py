"""What one model's server takes of the chat completions API, learnt from its refusals; pure.

Servers differ in a handful of parameters and say so with a status 400 that names the one they do not take.
"""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from attrs import evolve, frozen

THOUGHT_FIELDS = ("reasoning_content", "reasoning")
"""What servers call the text of a thought, in replies and in requests."""
STAND_IN = "(not kept)"


class Thoughts(Enum):
    """Whether the thoughts that led to calls go back: those there are, one for every call, or none."""

    OWN = "own"
    ALWAYS = "always"
    NEVER = "never"


@frozen
class Dialect:
    """`limit` is the name of the parameter that bounds the answer, empty where it is left out.

    `effort` says whether the thinking level is sent, `lowest` what "off" is, `tools_effort` what is sent in place of
    any level when there are tools (empty: the level). `usage` asks for the counts.
    """

    limit: str = "max_tokens"
    effort: bool = True
    lowest: str = "none"
    tools_effort: str = ""
    usage: bool = True
    thoughts: Thoughts = Thoughts.OWN


_NO_TOOLS_AND_EFFORT = re.compile(r"function tools with reasoning_effort", re.I)
_LIMIT = re.compile(r"max_(completion_)?tokens|max_new_tokens", re.I)
_OTHER_LIMIT = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_TOO_MUCH = re.compile(r"too (large|high|many)|at most|maximum context length|must be (<=|less)|exceed", re.I)
_COMPLETION = re.compile(r"in (the|your) completion|tokens? (for|in) the (output|completion)", re.I)
_MISSING_THOUGHT = re.compile(r"reasoning(_content)?`?\W.{0,80}(must be passed back|is missing|required)", re.I | re.S)


def adapted(dialect: Dialect, sent: Mapping[str, Any], said: str) -> Dialect | None:
    """The dialect in which a request that was refused with these words may pass; None if none of it is about that."""
    effort = sent.get("reasoning_effort")
    if _NO_TOOLS_AND_EFFORT.search(said):
        return evolve(dialect, tools_effort="none") if not dialect.tools_effort else None
    if effort is not None and "reasoning_effort" in said:
        if effort == dialect.lowest == "none" and not dialect.tools_effort:
            return evolve(dialect, lowest="low")
        return evolve(dialect, effort=False) if not dialect.tools_effort else None
    if "stream_options" in said and dialect.usage:
        return evolve(dialect, usage=False)
    if dialect.limit and (_LIMIT.search(said) or _COMPLETION.search(said)):
        return evolve(dialect, limit="" if _TOO_MUCH.search(said) else _OTHER_LIMIT[dialect.limit])
    return _with_thoughts(dialect, sent, said)


def _with_thoughts(dialect: Dialect, sent: Mapping[str, Any], said: str) -> Dialect | None:
    if _MISSING_THOUGHT.search(said):
        return evolve(dialect, thoughts=Thoughts.ALWAYS) if dialect.thoughts is Thoughts.OWN else None
    fields = {name for message in sent.get("messages", ()) for name in THOUGHT_FIELDS if name in message}
    if any(re.search(rf"\b{name}\b", said) for name in fields):
        return evolve(dialect, thoughts=Thoughts.NEVER)
    return None
