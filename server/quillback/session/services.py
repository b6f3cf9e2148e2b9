"""What every session shares and what each is configured with; `app` fills it in."""

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from pathlib import Path

from attrs import field, frozen

from quillback.core.commands import Commands
from quillback.core.hooks import Hooks
from quillback.core.mask import Mask
from quillback.core.mcp_server import McpServer
from quillback.core.model import Model
from quillback.core.ports import Editor, Inspection, Provider, SessionRecord, Store, Toolbox
from quillback.core.process import RunCommand
from quillback.core.subagent import Subagents
from quillback.core.turn_types import Compacting, Limits
from quillback.core.undo import KeepOriginal, RestoreFile
from quillback.session.permits import Inspected


@frozen
class Lender:
    """A subagent's parent, whose tools it uses: the `session_id` under which the editor knows it, and its toolbox,
    which is not the subagent's to close."""

    session_id: str
    toolbox: Toolbox


@frozen
class ToolboxRequest:
    """`known` maps the real paths the session has read or written to the SHA-256 of that content.
    `notice` takes what the user should know of the session's tools; `message_of` gives the id of a call's message.
    `subagents` is None in a subagent, which has a `lender`.
    """

    session_id: str
    cwd: Path
    roots: tuple[Path, ...]
    editor: Editor
    known: MutableMapping[str, str]
    servers: tuple[McpServer, ...]
    notice: Callable[[str], None]
    message_of: Callable[[str], str]
    keep_original: KeepOriginal
    subagents: Subagents | None
    lender: Lender | None = None


@frozen
class Titled:
    """What came of asking for a title: empty where there is none. `cost` is US dollars."""

    title: str
    cost: float = 0.0


@frozen
class CommandsRequest:
    """`toolbox` is the session's, whose MCP servers may offer prompts. `notice` takes what the user should know of
    commands that cannot be used."""

    record: SessionRecord
    toolbox: Toolbox
    notice: Callable[[str], None]


@frozen
class Policy:
    """Choices of the user that hold for every session. `grind_cost` is what /grind may cost, in US dollars a turn."""

    limits: Limits = field(factory=Limits)
    compacting: Compacting = field(factory=Compacting)
    tool_concurrency: int = 8
    subagent_steps: int = 50
    queue_when_busy: bool = True
    stop_on_reject: bool = False
    grind_cost: float = 10.0


@frozen
class Services:
    """`now` is milliseconds since the epoch; `new_id` gives an id with a prefix. Both may be replaced in tests.

    `inspect` gives the verdict of all inspectors and what each said; `rule` names the narrowest rule for a call.
    `opened` hears of each session that is made or loaded, `forgotten` of the id of each that is deleted.
    `small_model` is the one for summaries, `models` the names to choose from. `title` finds a title for a prompt, where
    the user wants it, and never raises. `hooks` and `commands` are those of a session; `restore` puts files of it back.
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
    small_model: Callable[[], Model]
    models: Callable[[], Sequence[str]]
    run_command: RunCommand
    hooks: Callable[[SessionRecord], Hooks]
    commands: Callable[[CommandsRequest], Commands]
    restore: Callable[[SessionRecord, Editor], RestoreFile]
    policy: Policy = field(factory=Policy)
    title: Callable[[str], Awaitable[Titled]] | None = None
    mask: Mask = field(factory=Mask)
