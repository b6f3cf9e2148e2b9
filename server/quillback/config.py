"""What a user may set, read once: environment over config.toml over defaults.

Nothing here raises for a bad setting: it becomes a problem that names the place, and the next source decides.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from attrs import Factory, field, frozen

from quillback.config_file import ConfigFile, read_config
from quillback.config_home import directories, platform_dirs
from quillback.config_servers import read_servers
from quillback.config_values import (
    Parser,
    PartlyRefused,
    Refused,
    api_version,
    choice,
    describe,
    flag,
    hosts,
    line,
    number_of,
    positive,
    ratio,
    rules,
    secret,
    side_model,
    variables,
    web_address,
    whole,
)
from quillback.core.mcp_server import McpServer
from quillback.core.model import Thinking
from quillback.core.ports import Mode, Rule, RuleEffect

ANTHROPIC_URL = "https://api.anthropic.com"
OPENAI_URL = "https://api.openai.com"


class OnBusy(StrEnum):
    """What happens to a prompt that arrives while a turn runs."""

    QUEUE = "queue"
    REJECT = "reject"


class OnReject(StrEnum):
    """Whether the turn goes on after the user rejected a call."""

    CONTINUE = "continue"
    STOP = "stop"


class Sandbox(StrEnum):
    """How commands are confined."""

    OFF = "off"
    WORKSPACE = "workspace"
    WORKSPACE_OFFLINE = "workspace-offline"


class EgressDefault(StrEnum):
    """What happens to a connection that no egress rule names."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@frozen(kw_only=True)
class Settings:
    """Everything that is configured. Durations are seconds, `max_cost` and `grind_cost` US dollars, `context_window`
    is tokens.

    An empty `model` means the catalog's default. `models` holds the tables `[models."ID"]` as they stand in the
    file, for the catalog to read. `secret_env` are variables that commands do not get, besides keys of model services.
    `problems` are sentences for the user, one for each setting that was not taken; `warnings` are about what has no
    effect and does no harm. `sources` says for each field that was set, each `models."ID"`, each `models."ID".KEY` and
    each rule, such as `deny[shell(rm:*)]`, where that is: a variable, or `file:line`.
    """

    home: Path
    config_file: Path
    model: str = ""
    small_model: str = "claude-haiku-5-5"
    mode: Mode = Mode.APPROVE
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    egress_allow: tuple[str, ...] = ()
    egress_deny: tuple[str, ...] = ()
    egress_default: EgressDefault = EgressDefault.ALLOW
    thinking: Thinking = Thinking.OFF
    context_window: int | None = None
    max_steps: int = 1000
    subagent_max_steps: int = 50
    max_cost: float | None = None
    max_duration: float | None = None
    grind_cost: float = 10.0
    compact_at: float | None = None
    stream_idle_timeout: float = 300.0
    frontend_timeout: float | None = None
    on_busy: OnBusy = OnBusy.QUEUE
    on_reject: OnReject = OnReject.CONTINUE
    tool_concurrency: int = 8
    titles: bool = True
    shell_in_editor: bool = False
    sandbox: Sandbox = Sandbox.OFF
    secret_env: frozenset[str] = frozenset()
    log_level: LogLevel = LogLevel.WARNING
    anthropic_api_key: str = field(default="", repr=False)
    anthropic_auth_token: str = field(default="", repr=False)
    anthropic_base_url: str = field(default=ANTHROPIC_URL, repr=False)  # may carry a password
    anthropic_version: str = ""
    api_key_command: str = ""
    openai_api_key: str = field(default="", repr=False)
    openai_base_url: str = field(default=OPENAI_URL, repr=False)
    openai_api_key_command: str = ""
    models: Mapping[str, Mapping[str, object]] = field(factory=dict)
    mcp_servers: tuple[McpServer, ...] = ()
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(factory=dict, eq=False)

    @property
    def database(self) -> Path:
        return self.home / "quillback.db"

    @property
    def adversary(self) -> Path:
        """Where the rules of the adversary inspector are, if there are any."""
        return self.config_file.parent / "adversary.md"

    @property
    def skills(self) -> Path:
        """Where the user's own skills are."""
        return self.config_file.parent / "skills"

    @property
    def recipes(self) -> Path:
        """Where the user's own recipes are, which are slash commands."""
        return self.config_file.parent / "recipes"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The permission rules of the configuration."""
        lists = ((RuleEffect.ALLOW, self.allow), (RuleEffect.ASK, self.ask), (RuleEffect.REJECT, self.deny))
        return tuple(Rule("", pattern, effect) for effect, patterns in lists for pattern in patterns)

    @property
    def user_hooks(self) -> Path:
        """The user's own hooks, if there are any; they need no trust."""
        return self.config_file.parent / "hooks.json"

    @property
    def outputs(self) -> Path:
        """Where tool results too long for the model are kept whole."""
        return self.home / "outputs"


@frozen
class _Key:
    """`name` is the dotted key in the file, `env` its variable, if it has one, `field` its name in Settings.

    What a private key holds is never shown.
    """

    name: str
    parse: Parser
    env: str = ""
    numeric: bool = False
    private: bool = False
    field: str = field(default=Factory(lambda key: key.name.replace(".", "_"), takes_self=True))

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.name.split("."))


@frozen
class _Source:
    """`place` is where a setting is, `label` how a message about it begins; `item` is the place of one of a list."""

    place: str
    label: str
    item: Callable[[object], str] = str


_KEYS = (
    _Key("model", line, "QUILLBACK_MODEL"),
    _Key("small_model", side_model, "QUILLBACK_SMALL_MODEL"),
    _Key("mode", choice(Mode), "QUILLBACK_MODE"),
    _Key("allow", rules),
    _Key("ask", rules),
    _Key("deny", rules),
    _Key("egress.allow", hosts),
    _Key("egress.deny", hosts),
    _Key("egress.default", choice(EgressDefault)),
    _Key("thinking", choice(Thinking), "QUILLBACK_THINKING"),
    _Key("context_window", whole(1_000, 1_000_000_000), "QUILLBACK_CONTEXT_WINDOW", numeric=True),
    _Key("max_steps", whole(1, 1_000_000), "QUILLBACK_MAX_STEPS", numeric=True),
    _Key("subagent_max_steps", whole(1, 1_000_000)),
    _Key("max_cost", positive(1_000_000, "US dollars")),
    _Key("max_duration", positive(31_536_000, "seconds")),
    _Key("grind_cost", positive(1_000_000, "US dollars")),
    _Key("compact_at", ratio),
    _Key("stream_idle_timeout", positive(86_400, "seconds"), "QUILLBACK_STREAM_IDLE_TIMEOUT", numeric=True),
    _Key("frontend_timeout", positive(31_536_000, "seconds")),
    _Key("on_busy", choice(OnBusy)),
    _Key("on_reject", choice(OnReject)),
    _Key("tool_concurrency", whole(1, 64)),
    _Key("titles", flag),
    _Key("shell_in_editor", flag),
    _Key("sandbox", choice(Sandbox)),
    _Key("secret_env", variables),
    _Key("log_level", choice(LogLevel), "QUILLBACK_LOG"),
    _Key("anthropic.api_key", secret, "ANTHROPIC_API_KEY", private=True),
    _Key("anthropic.auth_token", secret, "ANTHROPIC_AUTH_TOKEN", private=True),
    _Key("anthropic.base_url", web_address, "ANTHROPIC_BASE_URL", private=True),
    _Key("anthropic.version", api_version),
    _Key("anthropic.api_key_command", line, field="api_key_command"),
    _Key("openai.api_key", secret, "OPENAI_API_KEY", private=True),
    _Key("openai.base_url", web_address, "OPENAI_BASE_URL", private=True),
    _Key("openai.api_key_command", line),
)
_FREE = ("models", "mcp")
"""Tables whose keys the user makes up."""
_TABLES = (*dict.fromkeys(key.path[0] for key in _KEYS if len(key.path) > 1), *_FREE)
_SOURCES = "sources"
_PREFIX = "QUILLBACK_"
_MARKS = ("QUILLBACK_COMMAND", "QUILLBACK_MCP_SERVER")
"""Variables that we give to commands and servers: seen where one of them runs Quillback itself."""


def load_settings(
    env: Mapping[str, str], *, platform_dirs: Callable[[], tuple[Path, Path]] = platform_dirs
) -> Settings:
    """Reads the configuration once. Empty variables count as not set; what is wrong ends up in `problems`."""
    problems: list[str] = []
    home, config_dir = directories(env, platform_dirs, problems)
    file = read_config(config_dir / "config.toml")
    if file.problem:
        problems.append(file.problem)
    from_file, from_env = _from_file(file, problems), _from_environment(env, problems)
    sources = from_file.pop(_SOURCES, {}) | from_env.pop(_SOURCES, {})
    values = from_file | from_env
    return Settings(
        home=home,
        config_file=file.path,
        problems=tuple(problems),
        warnings=tuple(_unknown_variables(env)),
        sources=sources,
        **values,
    )


def _from_environment(env: Mapping[str, str], problems: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key in _KEYS:
        text = env.get(key.env, "").strip() if key.env else ""
        if text:
            source = _Source(key.env, key.env)
            _take(key, number_of(text) if key.numeric else text, source, values, problems)
    return values


def _from_file(file: ConfigFile, problems: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in _TABLES:
        if not isinstance(file.values.get(name, {}), dict):
            problems.append(f"{file.place(name)}: {name}: must be a table, such as [{name}]")
    known = {key.path: key for key in _KEYS}
    for path, value in _entries(file):
        dotted = ".".join(path)
        if path in known:
            place, items = file.place(*path), partial(_item_place, file, path)
            _take(known[path], value, _Source(place, f"{place}: {dotted}", items), values, problems)
        else:
            problems.append(f"{file.place(*path)}: {dotted}: no such key{_suggestion(dotted)}")
    values["models"] = models = _models(file, problems)
    sources = values.setdefault(_SOURCES, {})
    for name, table in models.items():
        sources[f'models."{name}"'] = file.place("models", name)
        sources |= {f'models."{name}".{key}': file.place("models", name, key) for key in table}
    values["mcp_servers"] = _servers(file, problems)
    return values


def _entries(file: ConfigFile) -> Iterator[tuple[tuple[str, ...], object]]:
    """The key and value of each setting; a table that is none has been told of."""
    for name, value in file.values.items():
        if name not in _TABLES:
            yield (name,), value
        elif name not in _FREE and isinstance(value, dict):
            yield from (((name, inner), item) for inner, item in value.items())


def _models(file: ConfigFile, problems: list[str]) -> dict[str, Mapping[str, object]]:
    tables = file.values.get("models", {})
    models: dict[str, Mapping[str, object]] = {}
    for name, table in tables.items() if isinstance(tables, dict) else ():
        if isinstance(table, dict):
            models[name] = table
        else:
            place = file.place("models", name)
            problems.append(f'{place}: models.{name}: must be a table; write [models."ID"] with the model\'s id')
    return models


def _servers(file: ConfigFile, problems: list[str]) -> tuple[McpServer, ...]:
    tables = file.values.get("mcp", {})

    def report(name: str, wrong: str) -> None:
        problems.append(f"{file.place('mcp', name)}: mcp.{name}: {wrong}")

    return read_servers(tables, report) if isinstance(tables, dict) else ()


def _take(key: _Key, raw: object, source: _Source, values: dict[str, Any], problems: list[str]) -> None:
    """A blank text is no value."""
    try:
        value = key.parse(raw)
    except Refused as refused:
        shown = "the value" if key.private else describe(raw)
        problems.append(f"{source.label}: {shown} is not allowed; use {refused}")
        return
    except PartlyRefused as refused:
        value = refused.kept
        problems += [f"{source.item(item)}: {key.name}: {fault}" for item, fault in refused.faults]
    if value != "":
        values[key.field] = value
        sources = values.setdefault(_SOURCES, {})
        sources[key.field] = source.place
        if isinstance(value, tuple):
            sources |= {f"{key.field}[{item}]": source.item(item) for item in value}


def _item_place(file: ConfigFile, path: tuple[str, ...], item: object) -> str:
    return file.place_of_item(item, *path)


def _unknown_variables(env: Mapping[str, str]) -> Iterator[str]:
    """One sentence for each variable that looks like one of ours and is none."""
    known = ["QUILLBACK_HOME", *(key.env for key in _KEYS if key.env.startswith(_PREFIX))]
    for name in sorted(env):
        if name.startswith(_PREFIX) and name not in (*known, *_MARKS):
            yield f"{name}: no such variable{_meant(name, known)}"


def _meant(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    field = name.removeprefix(_PREFIX).lower()
    if key := next((key for key in _KEYS if key.field == field), None):
        return f"; {key.name} is set in config.toml"
    close = get_close_matches(name, known, 1, 0.8)
    return f"; did you mean {close[0]}?" if close else ""


def _suggestion(dotted: str) -> str:
    from difflib import get_close_matches

    names = [key.name for key in _KEYS] + list(_TABLES)
    same = [name for name in names if name.rpartition(".")[2] == dotted.rpartition(".")[2]]
    close = same or get_close_matches(dotted, names, 1)
    return f"; did you mean {close[0]}?" if close else ""
