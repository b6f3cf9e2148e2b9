"""Names for the tools of MCP servers that every model service takes: unique, and the same after each restart.

A name depends on nothing but the configured servers and the tool's own name, never on what else is listed or on who
came first, so stored permission rules stay true.
"""

import hashlib
import re
import unicodedata
from collections.abc import Collection, Sequence

LIMIT = 64
_SUFFIX = 7
_TOOL_ROOM = 40
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]+")


def prefixes(servers: Sequence[str]) -> tuple[str, ...]:
    """One prefix for each server name, in order; none is another one's beginning, so tools of two never clash."""
    plain = [_fit(name) or "mcp" for name in servers]
    taken: list[str] = []
    for index, prefix in enumerate(plain):
        others = [*taken, *plain[index + 1 :]]
        if any(other != prefix and _begins(other, prefix) for other in others):
            prefix = prefix.replace("_", "-")
        base, number = prefix, 1
        while any(_begins(other, prefix) or _begins(prefix, other) for other in taken):
            number += 1
            prefix = f"{base.replace('_', '-')}-{number}"
        taken.append(prefix)
    return tuple(taken)


def prompt_name(prefix: str, prompt: str) -> str:
    """`prefix:prompt`, fit for a slash command. A hash is added when characters had to be replaced."""
    own = _fit(prompt)
    if own != prompt or len(own) > LIMIT:
        own = f"{(own or 'prompt')[:_TOOL_ROOM]}_{_digest(prefix, prompt)}"
    return f"{prefix.lstrip('_-') or 'mcp'}:{own}"


def tool_name(prefix: str, tool: str, reserved: Collection[str] = ()) -> str:
    """`prefix_tool` in at most 64 characters of [a-zA-Z0-9_-].

    A hash is added when characters had to be replaced, when it was too long, or when the name is one of `reserved`.
    """
    own = _fit(tool)
    name = f"{prefix}_{own}"
    if own == tool and len(name) <= LIMIT and name not in reserved:
        return name
    room = LIMIT - _SUFFIX - 1
    own = (own or "tool")[: max(_TOOL_ROOM, room - len(prefix))]
    return f"{prefix[: room - len(own)]}_{own}_{_digest(prefix, tool)}"


def _digest(prefix: str, name: str) -> str:
    return hashlib.sha256(f"{prefix}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()[: _SUFFIX - 1]


def _begins(start: str, name: str) -> bool:
    return f"{name}_".startswith(f"{start}_")


def _fit(name: str) -> str:
    """`name` with accents taken off and all else that does not fit made an underscore."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return _UNFIT.sub("_", plain).strip("_") if _UNFIT.search(plain) else plain
