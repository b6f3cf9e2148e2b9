"""What an agent asks of the client's files and terminals, each behind a client capability."""

from attrs import field, frozen

from quillback_protocol.acp.base import STRICT, Base, EnvVariable


@frozen
class ReadTextFileRequest(Base):
    """`path` is absolute, `line` counts from 1, `limit` is a number of lines."""

    session_id: str
    path: str
    line: int | None = field(default=None, metadata=STRICT)
    limit: int | None = field(default=None, metadata=STRICT)


@frozen
class ReadTextFileResponse(Base):
    content: str


@frozen
class WriteTextFileRequest(Base):
    session_id: str
    path: str
    content: str


@frozen
class WriteTextFileResponse(Base):
    pass


@frozen
class CreateTerminalRequest(Base):
    """`cwd` is absolute; `output_byte_limit` keeps that many bytes of the end of the output."""

    session_id: str
    command: str
    args: tuple[str, ...] = field(default=(), metadata=STRICT)
    env: tuple[EnvVariable, ...] = field(default=(), metadata=STRICT)
    cwd: str | None = field(default=None, metadata=STRICT)
    output_byte_limit: int | None = field(default=None, metadata=STRICT)


@frozen
class CreateTerminalResponse(Base):
    terminal_id: str


@frozen
class TerminalOutputRequest(Base):
    session_id: str
    terminal_id: str


@frozen
class TerminalExitStatus(Base):
    """`exit_code` is None when a signal ended it."""

    exit_code: int | None = None
    signal: str | None = None


@frozen
class TerminalOutputResponse(Base):
    """`exit_status` is None while the command runs."""

    output: str
    truncated: bool
    exit_status: TerminalExitStatus | None = None


@frozen
class WaitForTerminalExitRequest(Base):
    session_id: str
    terminal_id: str


@frozen
class WaitForTerminalExitResponse(Base):
    exit_code: int | None = None
    signal: str | None = None


@frozen
class KillTerminalRequest(Base):
    session_id: str
    terminal_id: str


@frozen
class KillTerminalResponse(Base):
    pass


@frozen
class ReleaseTerminalRequest(Base):
    session_id: str
    terminal_id: str


@frozen
class ReleaseTerminalResponse(Base):
    pass
