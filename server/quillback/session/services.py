"""What every session shares and what each is configured with; `app` fills it in."""

from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path

from attrs import field, frozen

from quillback.core.mask import Mask
from quillback.core.mcp_server import McpServer
from quillback.core.model import Model
from quillback.core.ports import Editor, Inspection, Provider, SessionRecord, Store, Toolbox
from quillback.core.turn_types import Limits
from quillback.session.permits import Inspected


@frozen
class ToolboxRequest:
    """`known` maps the real paths the session has read or written to the SHA-256 of that content.
    `notice` takes what the user should know of the session's tools; `message_of` gives the id of a call's message.
    """

    session_id: str
    cwd: Path
    roots: tuple[Path, ...]
    editor: Editor
    known: MutableMapping[str, str]
    servers: tuple[McpServer, ...]
    notice: Callable[[str], None]
    message_of: Callable[[str], str]


@frozen
class Policy:
    """Choices of the user that hold for every session."""

    limits: Limits = field(factory=Limits)
    tool_concurrency: int = 8
    queue_when_busy: bool = True
    stop_on_reject: bool = False


@frozen
class Services:
    """`now` is milliseconds since the epoch; `new_id` gives an id with a prefix. Both may be replaced in tests.

    `inspect` gives the verdict of all inspectors and what each said; `rule` names the narrowest rule for a call.
    `opened` hears of each session that is made or loaded, `forgotten` of the id of each that is deleted.
    `mask` hides what is secret.
    """

    store: Store
    model: Callable[[str], Model]
    provider: Callable[[Model], Provider]
    toolbox: Callable[[ToolboxRequest], Toolbox]
    system: Callable[[SessionRecord], str]
    inspect: Callable[[Inspection], Awaitable[Inspected]]
    rule: Callable[[Inspection], str]
    new_id: Callable[[str], str]
    now: Callable[[], int]
    jitter: Callable[[], float]
    opened: Callable[[SessionRecord], None]
    forgotten: Callable[[str], None]
    policy: Policy = field(factory=Policy)
    mask: Mask = field(factory=Mask)
