"""Sessions whose model hands tasks to subagents: each side has a script of its own, found by what its prompt says."""

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from quillback.core.message import Text
from quillback.core.model import ModelRequest, ProviderEvent
from quillback.core.ports import Access, SessionRecord
from quillback.core.usage import cost
from support.fakes import FakeTool, Gate
from support.replies import MODEL, USAGE, Block, call, reply, say, spec
from support.session_kit import Kit, kit

PRICE = cost(MODEL, USAGE)
"""What each reply of the kit's model costs, in US dollars."""


class Routed:
    """Answers each request by the first key that its first message holds."""

    def __init__(self, **scripts: Any) -> None:
        self._scripts = defaultdict(list, {key: list(replies) for key, replies in scripts.items()})

    async def __call__(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        text = "".join(p.text for p in request.messages[0].parts if isinstance(p, Text))
        key = next(k for k in self._scripts if k in text)
        for item in self._scripts[key].pop(0):
            if isinstance(item, Gate):
                await item()
            elif isinstance(item, BaseException):
                raise item
            else:
                yield item


def tasks(*texts: str, **more: Any) -> list[ProviderEvent]:
    """A reply that hands out tasks, one named `kid` by default."""
    given = texts or ("kid",)
    return reply(say("I ask."), *(call("subagent", {"task": text, **more}) for text in given))


def steps(*more: Block) -> list[list[ProviderEvent]]:
    """A subagent's step with `more`, then its answer."""
    return [reply(*more), reply(say("the answer"))]


def room(path: Path, *, requests: int = 20, **options: Any) -> AbstractAsyncContextManager[Kit]:
    """A kit in which options that begin with `boss` or `kid` are the scripts of those whose prompt holds that."""
    scripts = {key: options.pop(key) for key in list(options) if key.startswith(("boss", "kid"))}
    return kit(path, *[Routed(**scripts)] * requests, subagents=True, **options)


def shell() -> FakeTool:
    """A tool that the user is asked about."""
    return FakeTool(spec("shell", command="string"), access=lambda given: Access(command=given["command"]))


async def children(k: Kit) -> list[SessionRecord]:
    return [r for r in await k.store.sessions(subagents=True) if r.parent]
