"""What the rest of the package knows of an open connection, so that the SDK is imported only when one is needed."""

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, Protocol

from attrs import frozen

from quillback.core.message import JsonObject
from quillback.core.ports import FormAnswer
from quillback.core.prompts import PromptArgument
from quillback.mcp.server import Secrets, Server
from quillback.mcp.text import one_line

_REASON_LIMIT = 1_000


class ServerError(Exception):
    """The server answered with an error, or with something that is no answer."""


class ConnectionLostError(Exception):
    """The connection ended before the answer came."""


@frozen
class Found:
    """A tool as the server names it; `schema` is already fit for a model."""

    name: str
    description: str
    schema: JsonObject


@frozen
class FoundResource:
    """A resource that the server lists."""

    uri: str
    name: str


@frozen
class FoundPrompt:
    """A prompt as the server names it."""

    name: str
    description: str
    arguments: tuple[PromptArgument, ...]


class Link(Protocol):
    """An open connection. Requests may come from any task; they raise ServerError and ConnectionLostError."""

    @property
    def over(self) -> bool:
        """The connection has ended by itself, or was declared to have."""
        ...

    @property
    def reason(self) -> str:
        """How it ended."""
        ...

    def end(self, reason: str) -> None:
        """Declare it ended; the first reason counts."""
        ...

    def hint(self) -> str:
        """What the server said by other ways than answers; for the reason of a failure."""
        ...

    async def open(self) -> None:
        """Agree on a protocol version. Once, before any other request."""
        ...

    @property
    def instructions(self) -> str:
        """What the server says about the use of its tools; as it came."""
        ...

    async def tools(self) -> tuple[Found, ...]: ...

    async def resources(self) -> tuple[FoundResource, ...] | None:
        """The resources it lists; None when it has no resources at all."""
        ...

    async def read(self, uri: str) -> JsonObject:
        """A resource in the form of a result of tools/call."""
        ...

    async def prompts(self) -> tuple[FoundPrompt, ...]:
        """The prompts it lists; none where it has no prompts at all."""
        ...

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> JsonObject:
        """The raw result of prompts/get; nothing about its content is sure. Cancelling tells the server."""
        ...

    async def call(self, name: str, arguments: JsonObject, on_progress: Callable[[str], None]) -> JsonObject:
        """The raw result of tools/call; nothing about its content is sure. Cancelling tells the server."""
        ...


Ask = Callable[[str, JsonObject], Coroutine[Any, Any, FormAnswer]]


@frozen
class Events:
    """`left_out` gets a tool's name and why it cannot be offered; `ended` comes when `Link.over` turns true.

    `changed` says that a list of tools, resources or prompts did. `ask` has the user fill in a form (a message and a
    flat schema); None where nobody can be asked.
    """

    changed: Callable[[], None]
    left_out: Callable[[str, str], None]
    ended: Callable[[], None]
    ask: Ask | None = None


Connect = Callable[[Server, Path, Secrets, Events], AbstractAsyncContextManager[Link]]


async def load() -> Connect:
    """The function that opens connections. The first import runs in a thread that nobody waits for at exit."""
    # a module that is being imported is in sys.modules already; `connect` is the last thing it defines
    if not hasattr(sys.modules.get("quillback.mcp.client"), "connect"):
        await _in_daemon_thread(_import_client)
    return _import_client()


def _import_client() -> Connect:
    from quillback.mcp.client import connect

    return connect


def _in_daemon_thread(work: Callable[[], object]) -> Coroutine[Any, Any, None]:
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    failed: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as error:
            failed.append(error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(done.set)

    async def wait() -> None:
        await done.wait()
        if failed:
            raise failed[0]

    threading.Thread(target=run, name="mcp-import", daemon=True).start()
    return wait()


def with_hint(reason: str, link: Link | None) -> str:
    """`reason` with what else is known of a connection that did not come up."""
    hint = link.hint() if link else ""
    return f"{reason}; {hint}" if hint else reason


def explained(error: BaseException) -> str:
    """The first cause inside exception groups, in words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    else:
        text = str(error) or type(error).__name__
    return one_line(text, _REASON_LIMIT)
