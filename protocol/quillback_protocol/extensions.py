"""What Quillback adds to ACP, all of it inside the protocol's own extension points.

Objects live under the key `quillback.dev` of a spec object's `_meta`, methods start with `_quillback/`.
"""

from attrs import field, frozen

from quillback_protocol.acp.base import LENIENT, Base, JsonObject
from quillback_protocol.acp.content import ContentBlock
from quillback_protocol.converter import WireError, get_converter, unstructure
from quillback_protocol.methods import Method, agent_request

META_KEY = "quillback.dev"
STEER = "_quillback/session/steer"


@frozen
class SteerRequest(Base):
    """Adds a user message to the running turn."""

    session_id: str
    prompt: tuple[ContentBlock, ...]


@frozen
class SteerResponse(Base):
    message_id: str


EXTENSION_METHODS: dict[str, Method] = {STEER: agent_request(STEER, SteerRequest, SteerResponse)}


@frozen
class ClientDeclaration:
    """In `clientCapabilities._meta`: what this client can do with our additions.

    `message_ids`: it tells messages apart by id, so nothing needs to be put between them on the wire.
    `history_replaced`: it wants the notification of that name. `frontend_tools` are the tools it runs itself, raw.
    """

    message_ids: bool = False
    history_replaced: bool = False
    frontend_tools: tuple[JsonObject, ...] = ()


@frozen
class Supersedes:
    """In a chunk's `_meta`: the ids of messages that a retry has replaced with the message that starts here."""

    supersedes: tuple[str, ...] = field(metadata=LENIENT)


@frozen
class TurnUsage:
    """Tokens of the whole turn; `cost` is US dollars."""

    input_tokens: int
    output_tokens: int
    cost: float | None = None


@frozen
class PromptResult:
    """In the `_meta` of a prompt's answer: the last message of the turn, whole."""

    message_id: str
    text: str
    usage: TurnUsage | None = None


Addition = ClientDeclaration | Supersedes | PromptResult


def to_meta(addition: Addition, meta: JsonObject | None = None) -> JsonObject:
    """`meta` with our addition in it."""
    return {**(meta or {}), META_KEY: unstructure(addition)}


def client_declaration(meta: JsonObject | None) -> ClientDeclaration:
    """What the client declared; nothing, if it did not or in a form that cannot be read."""
    raw = (meta or {}).get(META_KEY)
    try:
        return get_converter().structure(raw, ClientDeclaration)
    except WireError:
        return ClientDeclaration()
