"""Reads tables of MCP servers, as config.toml and .mcp.json have them, and says what is wrong with one."""

import re
from collections.abc import Callable, Mapping

from quillback.config_values import web_address_with_query
from quillback.core.mcp_server import HttpServer, McpServer, StdioServer

_KEYS = ("command", "args", "env", "url", "headers", "enabled", "type")
_TYPES = {"stdio": "command", "http": "url", "streamable-http": "url"}
_VARIABLE = re.compile(r"\$\{\w+(:-[^}]*)?\}")
NAME_LIMIT = 64


class BadServer(ValueError):
    """The text says what is wrong, without any value."""


def read_servers(
    tables: Mapping[str, object], report: Callable[[str, str], None], *, ignore_unknown: bool = False
) -> tuple[McpServer, ...]:
    """The servers that are enabled. One that is wrong is left out, and `report` gets its name and what is wrong.

    `ignore_unknown` is for files that other programs read too.
    """
    servers: list[McpServer] = []
    for name, table in tables.items():
        try:
            server = _server(name, table, ignore_unknown=ignore_unknown)
        except BadServer as error:
            report(name, str(error))
        else:
            servers += [] if server is None else [server]
    return tuple(servers)


def _server(name: str, table: object, *, ignore_unknown: bool) -> McpServer | None:
    if not name.strip() or not name.isprintable() or len(name) > NAME_LIMIT:
        raise BadServer(f"a server's name is 1 to {NAME_LIMIT} printable characters")
    if not isinstance(table, dict):
        raise BadServer("must be a table with command or url")
    unknown = [key for key in table if key not in _KEYS]
    if unknown and not ignore_unknown:
        raise BadServer(f"{unknown[0]}: no such key; there are {', '.join(_KEYS)}")
    if not _enabled(table):
        return None
    kind = _kind(table)
    if kind == "command":
        return StdioServer(name, _text(table, "command"), _list(table, "args"), _texts(table, "env"))
    url = _filled(_text(table, "url"), "url")
    if not web_address_with_query(url):
        raise BadServer("url must be an address such as https://host:port/path")
    return HttpServer(name, url, _texts(table, "headers"))


def _enabled(table: Mapping[str, object]) -> bool:
    enabled = table.get("enabled", True)
    if not isinstance(enabled, bool):
        raise BadServer("enabled must be true or false")
    return enabled and table.get("disabled") is not True


def _kind(table: Mapping[str, object]) -> str:
    given = [key for key in ("command", "url") if key in table]
    if len(given) != 1:
        raise BadServer("needs command, for a program, or url, for a server that runs already, and not both")
    kind = table.get("type", "stdio" if given == ["command"] else "http")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise BadServer("type must be stdio or http; the sse transport is not supported")
    if _TYPES[kind] != given[0]:
        raise BadServer(f"type {kind} needs {_TYPES[kind]}")
    other = ("url", "headers") if given == ["command"] else ("args", "env")
    if strange := [key for key in other if key in table]:
        raise BadServer(f"{strange[0]} does not go with {given[0]}")
    return given[0]


def _text(table: Mapping[str, object], key: str) -> str:
    value = _plain(table[key], key)
    if not value.strip():
        raise BadServer(f"{key} must not be empty")
    return value


def _list(table: Mapping[str, object], key: str) -> tuple[str, ...]:
    values = table.get(key, [])
    if not isinstance(values, list):
        raise BadServer(f"{key} must be a list of texts")
    return tuple(_plain(value, key) for value in values)


def _texts(table: Mapping[str, object], key: str) -> dict[str, str]:
    values = table.get(key, {})
    if not isinstance(values, dict):
        raise BadServer(f"{key} must be a table of texts")
    if any(not name or "=" in name or not name.isprintable() for name in values):
        raise BadServer(f"{key} has a name that cannot be one")
    return {name: _filled(value, key) for name, value in values.items()}


def _plain(value: object, key: str) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise BadServer(f"{key} must be text, or hold nothing but text")
    return value


def _filled(value: object, key: str) -> str:
    """A text that means itself: what other programs would fill in is not, so it must not go on as it stands."""
    if found := _VARIABLE.search(_plain(value, key)):
        raise BadServer(f"{key} has {found[0][:40]}, and variables are not filled in")
    return _plain(value, key)
