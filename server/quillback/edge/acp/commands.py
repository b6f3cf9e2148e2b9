"""available_commands_update comes right behind the answer that opens a session."""

from functools import partial

from quillback.edge.connection import Connection
from quillback.session.session import Session
from quillback_protocol.peer import Reply


def with_commands(connection: Connection, session: Session, answer: object) -> Reply:
    """The answer of a session's setup, and what is told as soon as it is written."""
    return Reply(answer, after=partial(connection.advertising.begin, session))
