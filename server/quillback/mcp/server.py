"""What is known of an MCP server before it runs: how to reach it, how it fares, and which of its values are secret."""

import re
from collections.abc import Iterator
from enum import Enum
from urllib.parse import parse_qsl, urlsplit

from attrs import frozen

from quillback.core.mcp_server import AcpServer, HttpServer, McpServer, StdioServer

_MASK = "***"
_LEAST = 4
_SECRET_NAME = re.compile(r"key|token|secret|passw|auth(?!or(?!i))|credential|cookie|private|session", re.IGNORECASE)


Server = McpServer


class ServerState(Enum):
    """DEAD servers had been up; their next call starts them again. FAILED ones have no tools any more."""

    NEW = "new"
    STARTING = "starting"
    READY = "ready"
    DEAD = "dead"
    FAILED = "failed"
    CLOSED = "closed"


@frozen
class ServerStatus:
    """`tools` counts the tools offered now; `reason` says why a server is dead or failed."""

    name: str
    state: ServerState
    tools: int = 0
    reason: str = ""


@frozen
class Secrets:
    """Masks configured values: `texts` in anything said about the server, `results` in what its tools return.

    A result keeps values of variables that do not look secret: hiding `production` or a path would spoil it.
    """

    texts: tuple[str, ...]
    results: tuple[str, ...]

    def in_text(self, text: str) -> str:
        return _masked(text, self.texts)

    def in_result(self, text: str) -> str:
        return _masked(text, self.results)


def secrets_of(server: Server) -> Secrets:
    named = [(name, value) for name, value in _values(server) if len(value) >= _LEAST]
    return Secrets(
        texts=_longest_first(value for _, value in named),
        results=_longest_first(value for name, value in named if _SECRET_NAME.search(name)),
    )


def _longest_first(values: Iterator[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values), key=lambda value: (-len(value), value)))


def _masked(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        text = text.replace(secret, _MASK)
    return text


def _values(server: Server) -> Iterator[tuple[str, str]]:
    """Names and values of all that may be secret."""
    match server:
        case StdioServer(args=args, env=env):
            yield from env.items()
            yield from _secret_arguments(args)
            for text in (*args, *env.values()):
                yield "password", _password(text)
        case HttpServer(url=url, headers=headers):
            for name, value in headers.items():
                yield name, value
                yield name, value.rpartition(" ")[2]
            yield "password", _password(url)
            yield from parse_qsl(url.partition("?")[2])
        case AcpServer():
            return


def _secret_arguments(args: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Values of options such as `--api-key X` and `--token=X`."""
    for index, arg in enumerate(args):
        option, equals, value = arg.partition("=")
        if not _SECRET_NAME.search(option):
            continue
        if equals:
            yield option, value
        elif option.startswith("-") and index + 1 < len(args):
            yield option, args[index + 1]


def _password(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return ""
