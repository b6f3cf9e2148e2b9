"""Reads the files by which a project could make something run, and what they ask for."""

import hashlib
import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from attrs import field, frozen

from quillback.config_servers import read_servers
from quillback.config_values import check_rule
from quillback.core.commands import PROJECT_FOLDERS as COMMANDS
from quillback.core.mcp_server import McpServer
from quillback.core.ports import Rule, RuleEffect
from quillback.documents.reading import TooLargeError, UnfitError, read_bytes
from quillback.hooks.files import Hook, only_hooks, read_hooks
from quillback.skills.catalog import PROJECT_FOLDERS as SKILLS

CONFIG = ".quillback/config.toml"
SERVERS = ".mcp.json"
HOOKS = ".quillback/hooks.json"
HOOK_PROGRAMS = ".quillback/hooks"
"""A directory for programs; all of it counts."""

CLAUDE = (".claude/settings.json", ".claude/settings.local.json")
"""Files of which only the hooks count: other programs write the rest of them all the time."""

CLAUDE_PROGRAMS = ".claude/hooks"
"""Counts where those files have hooks."""

RECIPES = ".quillback/recipes"
SKILL = "SKILL.md"

FILES_LIMIT = 200
BYTES_LIMIT = 4 * 1024 * 1024
_LISTS = ("allow", "deny", "ask")


@frozen
class ProjectSettings:
    """What a project asks for. The lists are rules in the language of `core.rules`, `hooks` are in the order in which
    they count.
    `commands` has the Markdown files of slash commands by their paths below the project, `recipes` the recipes,
    `skills` the SKILL.md of each skill.

    `problems` are sentences for the user.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    mcp_servers: tuple[McpServer, ...] = ()
    hooks: tuple[Hook, ...] = ()
    commands: Mapping[str, bytes] = field(factory=dict)
    recipes: Mapping[str, bytes] = field(factory=dict)
    skills: Mapping[str, bytes] = field(factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The lists as rules, like those of the user's configuration."""
        lists = ((RuleEffect.ALLOW, self.allow), (RuleEffect.ASK, self.ask), (RuleEffect.REJECT, self.deny))
        return tuple(Rule("", pattern, effect) for effect, patterns in lists for pattern in patterns)

    @property
    def empty(self) -> bool:
        """Whether nothing is asked for."""
        rules = self.allow or self.deny or self.ask
        return not (rules or self.mcp_servers or self.hooks or self.commands or self.recipes or self.skills)


@frozen
class ProjectFiles:
    """`digests` has the SHA-256 in hex of each file by its path below the project; `problem` says why they cannot be
    trusted at all."""

    digests: Mapping[str, str] = field(factory=dict)
    settings: ProjectSettings = field(factory=ProjectSettings)
    problem: str = ""


class _Unfit(Exception):
    """The files cannot be trusted; the text says why."""


def read_project(root: Path, without: frozenset[Path] = frozenset()) -> ProjectFiles:
    """What is there now. Each file is read once: what was digested is what is used.

    `without` are directories of the user's own, whatever they are called.
    """
    try:
        contents = _contents(root, without)
    except _Unfit as unfit:
        return ProjectFiles(problem=str(unfit))
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
    return ProjectFiles(digests, _settings(contents))


# ---------------------------------------------------------------- files


def _contents(root: Path, without: frozenset[Path]) -> dict[str, bytes]:
    names = [SERVERS]
    if Path(os.path.realpath(root / ".quillback")) not in without:
        names += [
            CONFIG,
            HOOKS,
            *_below(root, HOOK_PROGRAMS),
            *_below(root, COMMANDS[0], ".md"),
            *_below(root, RECIPES, ".yaml", ".yml"),
            *_below(root, SKILLS[0], f"/{SKILL}"),
        ]
    names += [*_below(root, COMMANDS[1], ".md"), *_below(root, SKILLS[1], f"/{SKILL}")]
    contents: dict[str, bytes] = {}
    _add(root, names, contents)
    _add(root, CLAUDE, contents)
    if any(name in contents for name in CLAUDE):
        _add(root, _below(root, CLAUDE_PROGRAMS), contents)
    return contents


def _add(root: Path, names: Iterable[str], contents: dict[str, bytes]) -> None:
    """Read what is there of `names`."""
    room = BYTES_LIMIT - sum(map(len, contents.values()))
    for name in names:
        data = _read(root / name, name, room)
        if data is not None and name in CLAUDE:
            data = only_hooks(data)
        if data is not None:
            contents[name] = data
            room -= len(data)


def _below(root: Path, directory: str, *endings: str) -> list[str]:
    """The files below a directory, of some kinds or all.

    A link to a directory would let what is behind it change unseen.
    """
    names: list[str] = []
    for place, directories, files in os.walk(root / directory):
        paths = [Path(place, name).relative_to(root).as_posix() for name in files]
        names += [path for path in paths if path.endswith(endings or "")]
        if link := next((d for d in directories if Path(place, d).is_symlink()), ""):
            raise _Unfit(f"{Path(place, link).relative_to(root)} is a link to a directory")
        if len(names) > FILES_LIMIT:
            raise _Unfit(f"{directory} holds more than {FILES_LIMIT} files")
    return sorted(names)


def _read(path: Path, name: str, room: int) -> bytes | None:
    """None for no file. A pipe or a device is not waited for."""
    try:
        return read_bytes(path, room)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except TooLargeError:
        raise _Unfit(f"the files hold more than {BYTES_LIMIT // 1024 // 1024} MiB") from None
    except UnfitError as unfit:
        raise _Unfit(f"{name} {str(unfit).removeprefix('it ')}") from None
    except OSError as error:
        raise _Unfit(f"{name} cannot be read: {error.strerror}") from None


# ---------------------------------------------------------------- settings


def _settings(contents: Mapping[str, bytes]) -> ProjectSettings:
    problems: list[str] = []
    config = _toml(contents.get(CONFIG, b""), problems)
    lists = {name: _rules(config, name, problems) for name in _LISTS}
    if "hooks" in config:
        problems.append(f"{CONFIG}: hooks: these belong into {HOOKS}")
    problems += [
        f"{CONFIG}: {name}: a project cannot set this" for name in config if name not in (*_LISTS, "mcp", "hooks")
    ]
    found = [read_hooks(contents.get(file, b""), file, claude=file in CLAUDE) for file in (HOOKS, *CLAUDE)]
    problems += [problem for one in found for problem in one.problems]
    servers = _servers(config.get("mcp", {}), CONFIG, problems)
    named = {server.name for server in servers}
    servers += tuple(s for s in _json_servers(contents.get(SERVERS, b""), problems) if s.name not in named)
    return ProjectSettings(
        **lists,
        mcp_servers=servers,
        hooks=tuple(hook for one in found for hook in one.hooks),
        commands={name: data for name, data in contents.items() if name.startswith(COMMANDS)},
        recipes={name: data for name, data in contents.items() if name.startswith(RECIPES)},
        skills={name: data for name, data in contents.items() if name.startswith(SKILLS)},
        problems=tuple(problems),
    )


def _toml(data: bytes, problems: list[str]) -> dict[str, object]:
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        problems.append(f"{CONFIG}: not valid TOML: {error}")
        return {}


def _rules(config: Mapping[str, object], name: str, problems: list[str]) -> tuple[str, ...]:
    values = config.get(name, [])
    if not isinstance(values, list):
        problems.append(f"{CONFIG}: {name}: must be a list of rules")
        return ()
    rules: list[str] = []
    for value in values:
        try:
            rules.append(check_rule(value))
        except ValueError as error:
            problems.append(f"{CONFIG}: {name}: {error}")
    return tuple(rules)


def _json_servers(data: bytes, problems: list[str]) -> tuple[McpServer, ...]:
    if not data.strip():
        return ()
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError) as error:
        problems.append(f"{SERVERS}: not valid JSON: {error}")
        return ()
    if not isinstance(whole, dict):
        problems.append(f"{SERVERS}: must be an object with mcpServers")
        return ()
    return _servers(whole.get("mcpServers", {}), SERVERS, problems)


def _servers(tables: object, file: str, problems: list[str]) -> tuple[McpServer, ...]:
    if not isinstance(tables, dict):
        problems.append(f"{file}: the MCP servers must be a table of tables")
        return ()

    def report(name: str, wrong: str) -> None:
        problems.append(f"{file}: MCP server {name!r}: {wrong}")

    return read_servers(tables, report, ignore_unknown=file == SERVERS)
