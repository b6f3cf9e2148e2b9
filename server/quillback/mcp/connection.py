"""A server over the life of a session: one task opens its connection, attends to it and closes it, again after a death.

Only that owner task enters and leaves the connection; calls and `close` may come from any task.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path

from quillback.core.message import JsonObject
from quillback.core.ports import ToolError
from quillback.mcp.calls import OpenCalls, Progress
from quillback.mcp.link import (
    Ask,
    Connect,
    ConnectionLostError,
    Events,
    Found,
    FoundPrompt,
    FoundResource,
    Link,
    ServerError,
    explained,
    load,
    with_hint,
)
from quillback.mcp.notices import Notices
from quillback.mcp.questions import Forms
from quillback.mcp.server import Secrets, Server, ServerState, ServerStatus
from quillback.mcp.text import one_line

log = logging.getLogger(__name__)

START_LIMIT = 10.0
"""Seconds from the start of a server to its list of tools."""

_EARLIER = 0.2
"""Seconds by which the first start fails before the first turn stops waiting for it, so that the turn tells of it."""

_Work = Callable[[Link, Progress], Awaitable[JsonObject]]
_REFRESH_PAUSE = 0.2
_PROMPTS_LIMIT = 3.0
_STOP_LIMIT = 1.5


class Connection:
    """`notice` gets one text for each failure; `changed` is called when `found` has become another list.

    A server that died is started again by its next call. It gets one such restart until it has answered a call.
    """

    def __init__(
        self,
        server: Server,
        cwd: Path,
        hidden: Secrets,
        notice: Callable[[str], None],
        changed: Callable[[], None],
        *,
        opener: Callable[[], Awaitable[Connect]] = load,
        ask: Ask | None = None,
    ) -> None:
        self.server = server
        self.hidden = hidden
        self.found: tuple[Found, ...] = ()
        self.resources: tuple[FoundResource, ...] | None = None
        self.prompts: tuple[FoundPrompt, ...] = ()
        self.instructions = ""
        self._opener = opener
        self._cwd = cwd
        self._notices = Notices(server.name, notice)
        self._changed = changed
        self._state = ServerState.NEW
        self._reason = ""
        self._link: Link | None = None
        self._restarts = 1
        self._due = 0.0
        self._settled = asyncio.Event()
        self._wanted = asyncio.Event()
        self._wake = asyncio.Event()
        self._stale = False
        self._owner: asyncio.Task[None] | None = None
        self._name = one_line(server.name, 80)
        self._calls = OpenCalls(self._name)
        self._forms = Forms(self._name, self._calls, ask) if ask else None

    @property
    def status(self) -> ServerStatus:
        return ServerStatus(self.server.name, self._state, len(self.found), self._reason)

    @property
    def _finished(self) -> bool:
        return self._state in (ServerState.FAILED, ServerState.CLOSED)

    def start(self) -> None:
        """Begin; a second call does nothing."""
        if self._state is ServerState.NEW:
            self._state = ServerState.STARTING
            self._due = asyncio.get_running_loop().time() + START_LIMIT - _EARLIER
            self._owner = asyncio.create_task(self._own(), name=f"mcp {self.server.name}")

    async def settled(self) -> None:
        """Returns when it is up, or will not be. One that was never started counts as settled."""
        if self._state is ServerState.STARTING:
            await self._settled.wait()

    async def close(self) -> None:
        """End the server, within 1 s when it obeys and 3 s at most. Later calls fail; may be called again."""
        self._state, self._link = ServerState.CLOSED, None
        self._take(())
        self._settled.set()
        open_tasks = {task for task in (self._owner, *self._calls.tasks) if task and not task.done()}
        for _ in range(2):
            if not open_tasks:
                return
            for task in open_tasks:
                task.cancel()
            _, open_tasks = await asyncio.wait(open_tasks, timeout=_STOP_LIMIT)

    # ------------------------------------------------------------ the owner

    async def _own(self) -> None:
        try:
            connect = await self._opener()
            await self._live(connect)
            while not self._finished:
                await self._wanted.wait()
                self._wanted.clear()
                await self._live(connect)
        except Exception as error:
            log.exception("MCP server %s", self.server.name)
            self._fail(f"internal error ({type(error).__name__})")

    async def _live(self, connect: Connect) -> None:
        """One life of the server: READY in the middle; DEAD, FAILED or, when wanted again, STARTING in the end."""
        self._stale = False
        self._wake.clear()
        try:
            async with AsyncExitStack() as stack:
                link, reason = await self._begin(connect, stack)
                if link is None:
                    self._fail(reason)
                    return
                self._link, self._reason = link, ""
                self._state = ServerState.READY
                self._settled.set()
                await self._attend(link)
                self._lose(link, link.reason)
        except Exception as error:
            # the HTTP transport raises a group of exceptions when the connection breaks
            if self._link:
                self._lose(self._link, self._told(error))
            elif self._state is ServerState.STARTING and not self._wanted.is_set():
                self._fail(self._told(error))

    async def _begin(self, connect: Connect, stack: AsyncExitStack) -> tuple[Link | None, str]:
        """Open the connection; or why that failed."""
        link: Link | None = None
        try:
            async with asyncio.timeout_at(self._due):
                ask = self._forms.ask if self._forms else None
                events = Events(self._list_changed, self._notices.leave_out, self._wake.set, ask)
                link = await stack.enter_async_context(connect(self.server, self._cwd, self.hidden, events))
                await link.open()
                await self._list(link)
        except TimeoutError:
            return None, with_hint(f"it did not answer within {START_LIMIT:g} s", link)
        except ConnectionLostError:
            return None, (link and link.reason) or with_hint("it closed the connection", link)
        except (OSError, ValueError, ServerError) as error:
            return None, with_hint(self._told(error), link)
        return link, ""

    async def _attend(self, link: Link) -> None:
        """Until the connection is over: keep the list of tools fresh."""
        while not link.over:
            await self._wake.wait()
            self._wake.clear()
            if self._stale and not link.over:
                await asyncio.sleep(_REFRESH_PAUSE)  # changes come in bursts
                self._stale = False
                with suppress(TimeoutError, ServerError, ConnectionLostError):
                    async with asyncio.timeout(START_LIMIT):
                        await self._list(link)

    # ------------------------------------------------------------ what happens to it

    def _list_changed(self) -> None:
        self._stale = True
        self._wake.set()

    async def _list(self, link: Link) -> None:
        tools, resources = await link.tools(), await link.resources()
        self._take(tools, resources, link.instructions, await self._prompts_of(link))
        self._notices.report()

    async def _prompts_of(self, link: Link) -> tuple[FoundPrompt, ...]:
        """A server that has trouble with its prompts keeps its tools."""
        try:
            async with asyncio.timeout(_PROMPTS_LIMIT):
                return await link.prompts()
        except TimeoutError:
            self._notices.say(f"did not list its prompts within {_PROMPTS_LIMIT:g} s; they are left out")
            return ()

    def _take(
        self,
        found: tuple[Found, ...],
        resources: tuple[FoundResource, ...] | None = None,
        instructions: str = "",
        prompts: tuple[FoundPrompt, ...] = (),
    ) -> None:
        now = (found, resources, instructions, prompts)
        if now != (self.found, self.resources, self.instructions, self.prompts):
            self.found, self.resources, self.instructions, self.prompts = now
            self._changed()

    def _lose(self, link: Link, reason: str) -> None:
        """The connection ended by itself. Its tools stay listed while a restart is left."""
        if self._link is not link:
            return
        self._link = None
        link.end(reason)
        reason = link.reason or reason or "the connection was lost"
        if self._restarts:
            self._state, self._reason = ServerState.DEAD, reason
            log.info("MCP server %s is gone: %s", self.server.name, reason)
        else:
            self._fail(reason)

    def _fail(self, reason: str) -> None:
        if self._finished:
            return
        again = not self._restarts
        self._state, self._reason = ServerState.FAILED, reason
        self._take(())
        self._settled.set()
        self._notices.say(
            f"did not stay up after a restart, its tools are gone: {reason}" if again else f"failed: {reason}"
        )

    def _told(self, error: BaseException) -> str:
        return self.hidden.in_text(explained(error))

    # ------------------------------------------------------------ calls

    async def call(self, name: str, arguments: JsonObject, on_progress: Progress) -> JsonObject:
        """The raw result of the tool with the server's own `name`. Raises ToolError.

        Starts a dead server again first. A cancel returns at once; the server is told in the background.
        """
        return await self._answer(lambda link, told: link.call(name, arguments, told), on_progress)

    async def read(self, uri: str, on_progress: Progress) -> JsonObject:
        """A resource, like the result of a call."""
        return await self._answer(lambda link, _: link.read(uri), on_progress)

    async def prompt(self, name: str, values: Mapping[str, str]) -> JsonObject:
        """The raw answer to prompts/get. Raises ToolError."""
        return await self._answer(lambda link, _: link.prompt(name, values), lambda _: None)

    async def _answer(self, work: _Work, on_progress: Progress) -> JsonObject:
        link = await self._reach()
        try:
            answer = await self._calls.run(partial(self._request, link, work), on_progress)
        finally:
            if self._forms and not self._calls.waited_for:
                self._forms.withdraw()
        if answer is None:
            raise ToolError(self._unreachable())
        return answer

    async def _reach(self) -> Link:
        if self._state is ServerState.DEAD:
            self._state = ServerState.STARTING
            self._restarts -= 1
            self._due = asyncio.get_running_loop().time() + START_LIMIT
            self._settled.clear()
            self._wanted.set()
        await self.settled()
        if self._link is None:
            raise ToolError(self._unreachable())
        return self._link

    async def _request(self, link: Link, work: _Work, on_progress: Progress) -> JsonObject:
        try:
            answer = await work(link, on_progress)
        except ServerError as error:
            self._restarts = 1
            raise ToolError(f"{self._name} answered with an error: {error}") from None
        except ConnectionLostError:
            self._lose(link, link.reason)
            again = " Another call starts it again." if self._state is ServerState.DEAD else ""
            reason = self._reason or "it was closed"
            raise ToolError(
                f"The MCP server {self._name} was lost during the call: {reason}. "
                f"Whether the call had an effect is unknown.{again}"
            ) from None
        self._restarts = 1
        return answer

    def _unreachable(self) -> str:
        return f"The MCP server {self._name} is not available: {self._reason or self._state.value}."
