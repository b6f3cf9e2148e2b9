"""The only translation between what happens in a session and what ACP says of it, both ways."""

from collections.abc import Iterable, Sequence

from quillback.core.event import (
    CompactionChanged,
    Continued,
    Event,
    Growth,
    MessageAdded,
    MessageDropped,
    Noticed,
    PartClosed,
    PartGrew,
    PartOpened,
    Retitled,
    RetryScheduled,
    ToolChanged,
    ToolProgressed,
    ToolStarted,
    UsageChanged,
)
from quillback.core.mcp_server import AcpServer, HttpServer, McpServer, StdioServer
from quillback.core.message import (
    Diff,
    Image,
    Location,
    Message,
    Notice,
    Part,
    PlanEntry,
    RedactedThinking,
    Resource,
    ResourceLink,
    Role,
    Severity,
    Shown,
    Summary,
    Terminal,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from quillback_protocol import acp
from quillback_protocol.extensions import Supersedes, to_meta

# ---------------------------------------------------------------- from the client


def prompt_parts(blocks: Iterable[acp.ContentBlock]) -> tuple[Part, ...]:
    """A prompt's blocks as parts. Raises ValueError for what was never offered."""
    return tuple(_prompt_part(b) for b in blocks)


def _prompt_part(block: acp.ContentBlock) -> Part:
    match block:
        case acp.TextContent(text=text):
            return Text(text)
        case acp.ImageContent(data=data, mime_type=mime_type, uri=uri):
            return Image(data, mime_type, uri or "")
        case acp.ResourceLink(uri=uri, name=name):
            return ResourceLink(
                uri, name, block.mime_type or "", block.title or "", block.description or "", block.size
            )
        case acp.EmbeddedResource(resource=resource):
            return _resource(resource)
        case acp.AudioContent():
            raise ValueError("audio is not taken; promptCapabilities.audio is false")


def _resource(resource: acp.EmbeddedResourceResource) -> Resource:
    match resource:
        case acp.TextResourceContents(uri=uri, text=text, mime_type=mime_type):
            return Resource(uri, text=text, mime_type=mime_type or "")
        case acp.BlobResourceContents(uri=uri, blob=blob, mime_type=mime_type):
            return Resource(uri, blob=blob, mime_type=mime_type or "")


def mcp_servers(servers: Iterable[acp.McpServer]) -> tuple[McpServer, ...]:
    """The servers of a session setup. Raises ValueError for a transport that is not offered."""
    return tuple(_mcp_server(s) for s in servers)


def _mcp_server(server: acp.McpServer) -> McpServer:
    match server:
        case acp.McpServerStdio(name=name, command=command, args=args):
            return StdioServer(name, command, args, {v.name: v.value for v in server.env})
        case acp.McpServerHttp(name=name, url=url):
            return HttpServer(name, url, {h.name: h.value for h in server.headers})
        case acp.McpServerAcp(name=name, server_id=server_id):
            return AcpServer(name, server_id)
        case acp.McpServerSse(name=name):
            raise ValueError(f"{name}: the sse transport is not supported; give the server as http or stdio")


# ---------------------------------------------------------------- to the client


class View:
    """One session as its client sees it, within one turn or one replay.

    Clients that tell messages apart only by kind get a blank line between two of one kind; `separate` asks for it.
    """

    def __init__(self, *, notices: bool = False, compaction: bool = False, separate: bool = True) -> None:
        self._notices = notices
        self._compaction = compaction
        self._separate = separate
        self._last: tuple[type, str] | None = None
        self._prompted = False

    def live(self, event: Event) -> list[acp.SessionUpdate]:
        """What the client is told of an event of one turn; the prompt is not echoed, what the user adds to it is."""
        match event:
            case PartGrew(growth=Growth.INPUT):
                return []
            case PartGrew():
                return [self._chunk(event)]
            case PartOpened(part=ToolUse() as call):
                return [self._other(_call_opened(call))]
            case PartClosed(part=ToolUse() as call) | ToolChanged(call=call):
                return [self._other(_call_known(call))]
            case ToolStarted(call=call):
                return [self._other(acp.ToolCallUpdate(call.id, status=acp.ToolCallStatus.IN_PROGRESS))]
            case ToolProgressed(call_id=call_id, shown=shown):
                return [self._other(acp.ToolCallUpdate(call_id, content=contents(shown)))]
            case MessageDropped(calls=calls):
                return [self._other(_call_failed(c, "given up: the model's reply was cut off")) for c in calls]
            case MessageAdded(message=message):
                echo = message.role is Role.USER and message.visible_to_user and not self._prompted
                self._prompted = self._prompted or echo
                return [] if echo else self.replay(message)
            case UsageChanged(used=used, size=size, cost=cost):
                return [acp.UsageUpdate(used, size, acp.Cost(round(cost, 6), "USD"))]
            case Retitled(title=title):
                return [acp.SessionInfoUpdate(title=title)]
            case RetryScheduled():
                text = f"{event.reason} Trying again in {event.delay:.0f} s ({event.attempt} of {event.attempts})."
                return [self._notice(event.run_id, Severity.WARNING, "The model request failed", text)]
            case CompactionChanged() if self._compaction:
                return [_compaction(event)]
            case CompactionChanged(id=run, status="in_progress"):
                return [self._notice(run, Severity.INFO, "The conversation is being summarised to make room", "")]
            case Continued(why=why) if self._notices and why:
                return [acp.Notice(Severity.INFO.value, f"Going on: {why}", None)]
            case Noticed(run_id=run, title=title, severity=severity, description=description):
                return [self._notice(run, severity, title, description)]
            case _:
                return []

    def replay(self, message: Message) -> list[acp.SessionUpdate]:
        """A stored message as it was shown."""
        if not message.visible_to_user:
            return []
        if message.role is Role.USER:
            return [self._said(acp.UserMessageChunk, message.id, block) for block in _user_blocks(message.parts)]
        return [u for part in message.parts for u in self._replay_part(part)]

    def _replay_part(self, part: Part) -> list[acp.SessionUpdate]:
        match part:
            case Text(text=text, run_id=run) if text:
                return [self._said(acp.AgentMessageChunk, run, acp.TextContent(text))]
            case Thinking(text=text, run_id=run) if text:
                return [self._said(acp.AgentThoughtChunk, run, acp.TextContent(text))]
            case ToolUse():
                return [self._other(_call_opened(part, known=True))]
            case ToolResult():
                return [self._other(u) for u in _result(part)]
            case Text() | Thinking() | RedactedThinking() | Notice() | Summary():
                return []
            case Image() | Resource() | ResourceLink():
                return []

    # ------------------------------------------------------------ chunks

    def _chunk(self, event: PartGrew) -> acp.SessionUpdate:
        kind = acp.AgentMessageChunk if event.growth is Growth.TEXT else acp.AgentThoughtChunk
        meta = to_meta(Supersedes(event.supersedes)) if event.supersedes else None
        return self._said(kind, event.run_id, acp.TextContent(event.text), meta)

    def _said(
        self,
        kind: type[acp.UserMessageChunk | acp.AgentMessageChunk | acp.AgentThoughtChunk],
        message_id: str,
        block: acp.ContentBlock,
        meta: acp.JsonObject | None = None,
    ) -> acp.SessionUpdate:
        follows = self._last is not None and self._last[0] is kind and self._last[1] != message_id
        self._last = (kind, message_id)
        if follows and self._separate and isinstance(block, acp.TextContent):
            block = acp.TextContent("\n\n" + block.text)
        return kind(block, message_id or None, meta=meta)

    def _other(self, update: acp.SessionUpdate) -> acp.SessionUpdate:
        self._last = None
        return update

    def _notice(self, run: str, severity: Severity, title: str, description: str) -> acp.SessionUpdate:
        """A notice, or a thought for clients that know none: the user has to see it, and it is no answer."""
        if self._notices:
            return acp.Notice(severity.value, title, description or None)
        return self._said(
            acp.AgentThoughtChunk, run, acp.TextContent(f"{title}: {description}" if description else title)
        )


def _compaction(event: CompactionChanged) -> acp.SessionUpdate:
    summary = (acp.TextContent(event.summary),) if event.summary else None
    return acp.CompactionUpdate(event.id, event.status, summary, event.error or None)


# ---------------------------------------------------------------- tool calls


def _call_opened(call: ToolUse, *, known: bool = False) -> acp.ToolCall:
    return acp.ToolCall(
        call.id,
        call.title or call.name,
        name=call.name or None,
        kind=acp.ToolKind(call.kind.value),
        status=acp.ToolCallStatus.PENDING,
        locations=locations(call.locations),
        raw_input=raw_input(call) if known else None,
    )


def _call_known(call: ToolUse) -> acp.ToolCallUpdate:
    return acp.ToolCallUpdate(
        call.id,
        kind=acp.ToolKind(call.kind.value),
        title=call.title or call.name,
        locations=locations(call.locations) or None,
        raw_input=raw_input(call),
    )


def raw_input(call: ToolUse) -> object:
    """A call's arguments; what the model sent, where that was no JSON object."""
    return dict(call.input) if call.input or not call.raw else call.raw


def _call_failed(call: ToolUse, why: str) -> acp.ToolCallUpdate:
    return acp.ToolCallUpdate(call.id, status=acp.ToolCallStatus.FAILED, content=(acp.Content(acp.TextContent(why)),))


def _result(result: ToolResult) -> list[acp.SessionUpdate]:
    shown: Sequence[Shown] = [s for s in result.shown if not isinstance(s, Terminal)] or result.content
    status = acp.ToolCallStatus.FAILED if result.is_error else acp.ToolCallStatus.COMPLETED
    update = acp.ToolCallUpdate(
        result.call_id,
        status=status,
        content=contents(shown),
        locations=locations(result.locations) or None,
        raw_output=result.raw_output,
    )
    return [update] if result.plan is None else [update, plan(result.plan)]


def plan(entries: Iterable[PlanEntry]) -> acp.Plan:
    return acp.Plan(
        tuple(
            acp.PlanEntry(e.content, acp.PlanEntryPriority(e.priority), acp.PlanEntryStatus(e.status)) for e in entries
        )
    )


def contents(shown: Iterable[Shown]) -> tuple[acp.ToolCallContent, ...]:
    """What a call shows, the diffs first."""
    items = [_content(s) for s in shown]
    return tuple(sorted(items, key=lambda c: not isinstance(c, acp.Diff)))


def _content(shown: Shown) -> acp.ToolCallContent:
    match shown:
        case Diff(path=path, old=old, new=new):
            return acp.Diff(path, new, old)
        case Terminal(terminal_id=terminal_id):
            return acp.Terminal(terminal_id)
        case Text() | Image() | ResourceLink():
            return acp.Content(_block(shown))


def locations(places: Iterable[Location]) -> tuple[acp.ToolCallLocation, ...]:
    return tuple(acp.ToolCallLocation(loc.path, loc.line) for loc in places)


# ---------------------------------------------------------------- content


def _user_blocks(parts: Sequence[Part]) -> list[acp.ContentBlock]:
    """The blocks of a prompt as it was sent; files read for its links are not shown again."""
    linked = {p.uri for p in parts if isinstance(p, ResourceLink)}
    return [
        _block(p)
        for p in parts
        if isinstance(p, Text | Image | ResourceLink) or (isinstance(p, Resource) and p.uri not in linked)
    ]


def _block(part: Text | Image | ResourceLink | Resource) -> acp.ContentBlock:
    match part:
        case Text(text=text):
            return acp.TextContent(text)
        case Image(data=data, mime_type=mime_type, uri=uri):
            return acp.ImageContent(data, mime_type, uri or None)
        case ResourceLink(uri=uri, name=name):
            return acp.ResourceLink(
                name,
                uri,
                description=part.description or None,
                mime_type=part.mime_type or None,
                size=part.size,
                title=part.title or None,
            )
        case Resource(uri=uri, text=text, blob=blob, mime_type=mime_type):
            if text is not None:
                return acp.EmbeddedResource(acp.TextResourceContents(text, uri, mime_type or None))
            return acp.EmbeddedResource(acp.BlobResourceContents(blob or "", uri, mime_type or None))
