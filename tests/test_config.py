"""Settings: which source wins, what is refused, and how a refusal reads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve

from quillback import config
from quillback.config import EgressDefault, LogLevel, OnBusy, OnReject, Sandbox, Settings, load_settings
from quillback.config_tools import TOOLS
from quillback.core.model import Thinking
from quillback.core.ports import Mode
from support.toolroom import Room


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def load(home: Path, toml: str | bytes | None = None, **env: str) -> Settings:
    if toml is not None:
        (home / "config.toml").write_bytes(toml if isinstance(toml, bytes) else toml.encode())
    return load_settings({"QUILLBACK_HOME": str(home), **env})


def test_nothing_configured_gives_the_documented_defaults(home):
    settings = load(home)
    assert settings == Settings(home=home, config_file=home / "config.toml")
    assert settings.problems == ()
    assert (settings.model, settings.small_model) == ("", "claude-haiku-5-5")
    assert (settings.mode, settings.thinking, settings.sandbox) == (Mode.APPROVE, Thinking.OFF, Sandbox.OFF)
    assert (settings.max_steps, settings.stream_idle_timeout, settings.tool_concurrency) == (1000, 300.0, 8)
    assert (settings.context_window, settings.max_cost, settings.max_duration) == (None, None, None)
    assert settings.anthropic_base_url == "https://api.anthropic.com"
    assert settings.log_level is LogLevel.WARNING


def test_everything_can_be_set_in_the_file(home):
    settings = load(
        home,
        """
        model = "scripted:demo"
        small_model = "tiny"
        mode = "auto"
        allow = [" read_file "]
        ask = ["shell(git push:*)"]
        deny = ["shell(rm:*)"]
        thinking = "high"
        context_window = 200_000
        max_steps = 5
        max_cost = 2
        max_duration = 60.5
        stream_idle_timeout = 1.5
        on_busy = "reject"
        on_reject = "stop"
        tool_concurrency = 2
        shell_in_editor = true
        sandbox = "workspace-offline"
        secret_env = ["GITHUB_TOKEN"]
        log_level = "debug"

        [egress]
        allow = ["*.example.com", "registry:npm", "::1"]
        deny = ["s3://bucket"]
        default = "ask"

        [anthropic]
        api_key = "sk-file"
        auth_token = "token"
        base_url = "http://localhost:11434/v1/"
        version = "2023-06-01"
        api_key_command = "pass show anthropic"

        [models."qwen3:30b"]
        context_window = 32768
        """,
    )
    assert settings == Settings(
        home=home,
        config_file=home / "config.toml",
        model="scripted:demo",
        small_model="tiny",
        mode=Mode.AUTO,
        allow=("read_file",),
        ask=("shell(git push:*)",),
        deny=("shell(rm:*)",),
        egress_allow=("*.example.com", "registry:npm", "::1"),
        egress_deny=("s3://bucket",),
        egress_default=EgressDefault.ASK,
        thinking=Thinking.HIGH,
        context_window=200_000,
        max_steps=5,
        max_cost=2.0,
        max_duration=60.5,
        stream_idle_timeout=1.5,
        on_busy=OnBusy.REJECT,
        on_reject=OnReject.STOP,
        tool_concurrency=2,
        shell_in_editor=True,
        sandbox=Sandbox.WORKSPACE_OFFLINE,
        secret_env=frozenset({"GITHUB_TOKEN"}),
        log_level=LogLevel.DEBUG,
        anthropic_api_key="sk-file",
        anthropic_auth_token="token",
        anthropic_base_url="http://localhost:11434/v1/",
        anthropic_version="2023-06-01",
        api_key_command="pass show anthropic",
        models={"qwen3:30b": {"context_window": 32768}},
    )


def test_the_environment_wins_over_the_file_and_empty_variables_do_not_count(home):
    toml = 'model = "a"\nmode = "chat"\nmax_steps = 7\n[anthropic]\napi_key = "sk-file"\n'
    settings = load(
        home,
        toml,
        QUILLBACK_MODEL="b",
        QUILLBACK_SMALL_MODEL=" c ",
        QUILLBACK_MODE="",
        QUILLBACK_CONTEXT_WINDOW="4096",
        QUILLBACK_MAX_STEPS="  ",
        QUILLBACK_STREAM_IDLE_TIMEOUT="0.25",
        QUILLBACK_THINKING="low",
        QUILLBACK_LOG="error",
        ANTHROPIC_API_KEY="sk-env\n",
        ANTHROPIC_AUTH_TOKEN="",
        ANTHROPIC_BASE_URL="https://gateway.example/anthropic",
    )
    assert settings.problems == ()
    assert (settings.model, settings.small_model, settings.mode, settings.max_steps) == ("b", "c", Mode.CHAT, 7)
    assert (settings.context_window, settings.stream_idle_timeout) == (4096, 0.25)
    assert (settings.thinking, settings.log_level) == (Thinking.LOW, LogLevel.ERROR)
    assert (settings.anthropic_api_key, settings.anthropic_auth_token) == ("sk-env", "")
    assert settings.anthropic_base_url == "https://gateway.example/anthropic"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('mode = "wild"', "mode: 'wild' is not allowed; use approve, smart, auto or chat"),
        ('allow = "shell"', "allow: 'shell' is not allowed; use a list of rules such as 'shell(git log:*)'"),
        ("deny = [1]", "deny: 1 is not a rule; write 'shell(git log:*)'"),
        ('ask = ["shell("]', "ask: 'shell(' is not a rule; write 'shell(git log:*)'"),
        ('deny = ["shel(rm:*)"]', "deny: 'shel(rm:*)': no tool is called shel; did you mean shell?"),
        ('deny = ["Shell(rm:*)"]', "no tool is called Shell; did you mean shell?"),
        ('allow = ["readfile"]', "no tool is called readfile; did you mean read_file?"),
        ('small_model = "scripted:echo"', "small_model: 'scripted:echo' is not allowed; use the id of a real model"),
        ("egress = 3", "egress: must be a table, such as [egress]"),
        ('egress.default = "maybe"', "egress.default: 'maybe' is not allowed; use allow, ask or deny"),
        ("egress.alow = 3", "egress.alow: no such key; did you mean egress.allow?"),
        ('egress.deny = "x"', "egress.deny: 'x' is not allowed; use a list of hosts"),
        ('egress.deny = ["https://x.com"]', "egress.deny: 'https://x.com' is not a host"),
        ('egress.deny = ["x.com:443"]', "egress.deny: 'x.com:443' is not a host"),
        ('egress.deny = ["10.0.0.0/8"]', "egress.deny: '10.0.0.0/8' is not a host"),
        ("mode = true", "mode: true is not allowed"),
        ('thinking = "max"', "use off, low, medium or high"),
        ("max_steps = 0", "use a whole number from 1 to 1000000"),
        ("max_steps = true", "max_steps: true is not allowed"),
        ("max_steps = 10.0", "max_steps: 10.0 is not allowed"),
        ('max_steps = "10"', "max_steps: '10' is not allowed"),
        ("max_cost = nan", "max_cost: nan is not allowed; use a number of US dollars above 0"),
        ("max_cost = -1", "max_cost: -1 is not allowed"),
        ("max_duration = inf", "max_duration: inf is not allowed; use a number of seconds above 0"),
        (f"max_duration = {10**400}", "max_duration: a huge number is not allowed"),
        ("context_window = [1]", "context_window: a list is not allowed"),
        ("stream_idle_timeout = 0", "stream_idle_timeout: 0 is not allowed"),
        ("tool_concurrency = 65", "use a whole number from 1 to 64"),
        ('shell_in_editor = "false"', "shell_in_editor: 'false' is not allowed; use true or false"),
        ("shell_in_editor = 1", "shell_in_editor: 1 is not allowed"),
        ('secret_env = "A"', "secret_env: 'A' is not allowed; use a list of names of environment variables"),
        ("secret_env = [1]", "secret_env: 1 is not the name of a variable"),
        ("sandbox = true", "sandbox: true is not allowed; use off"),
        ("model = {id = 1}", "model: a table is not allowed; use one line of text"),
        ('model = "a\\u001bb"', "use one line of text"),
        ("log_level = 2026-01-01", "log_level: a date or time is not allowed"),
        (f'on_busy = "{"x" * 500}"', "..."),
        ('on_buzy = "queue"', "on_buzy: no such key; did you mean on_busy?"),
        ('api_key = "x"', "api_key: no such key; did you mean anthropic.api_key?"),
        ("zzz = 1", "zzz: no such key"),
        ("[antropic]", "antropic: no such key; did you mean anthropic?"),
        ("anthropic = 3", "anthropic: must be a table, such as [anthropic]"),
        ("models = 3", "models: must be a table, such as [models]"),
        ("models.small = 3", "models.small: must be a table"),
        ("anthropic = {versoin = 3}", "anthropic.versoin: no such key; did you mean anthropic.version?"),
        ("anthropic.version = 2023-06-01", "anthropic.version: a date or time is not allowed; use a date in quotes"),
        ('anthropic.base_url = "api.anthropic.com"', "anthropic.base_url: the value is not allowed; use an address"),
        ('anthropic.base_url = "https://h:99999"', "use an address"),
        ('anthropic.base_url = "https://h/?key=1"', "without query"),
        ('anthropic.base_url = "file:///etc"', "use an address"),
    ],
)
def test_a_bad_line_is_one_problem_that_names_file_line_key_and_what_is_allowed(home, line, says):
    settings = load(home, f"# a comment\n\n{line}\n")
    (problem,) = settings.problems
    assert problem.startswith(f"{home / 'config.toml'}:3: ")
    assert says in problem
    assert len(problem) < len(str(home)) + 250
    models = settings.models
    assert settings == Settings(home=home, config_file=home / "config.toml", models=models, problems=(problem,))


@pytest.mark.parametrize(
    ("toml", "line"),
    [
        ('[anthropic]\nbase_url = "x"', 2),
        ("[ anthropic ] # mine\n\nversion = 7", 3),
        ('model = """\nmode = 1\n"""\nthinking = 3', 4),
        ('models."a.b" = {}\n[models."c d"]\nx = 1\n[anthropic]\n"bad key" = 1', 5),
        ('[[extra]]\nname = "x"\n[[extra]]\nname = "y"', 1),
    ],
)
def test_the_line_is_found_in_tables_and_around_strings(home, toml, line):
    problems = load(home, toml).problems
    assert any(problem.startswith(f"{home / 'config.toml'}:{line}: ") for problem in problems), problems


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("QUILLBACK_MODE", "fast", "QUILLBACK_MODE: 'fast' is not allowed; use approve, smart, auto or chat"),
        ("QUILLBACK_MAX_STEPS", "many", "QUILLBACK_MAX_STEPS: 'many' is not allowed; use a whole number"),
        ("QUILLBACK_MAX_STEPS", "1e3", "QUILLBACK_MAX_STEPS: 1000.0 is not allowed"),
        ("QUILLBACK_CONTEXT_WINDOW", "-5", "QUILLBACK_CONTEXT_WINDOW: -5 is not allowed"),
        ("QUILLBACK_STREAM_IDLE_TIMEOUT", "nan", "QUILLBACK_STREAM_IDLE_TIMEOUT: nan is not allowed"),
        ("QUILLBACK_THINKING", "on", "use off, low, medium or high"),
        ("QUILLBACK_LOG", "loud", "use debug, info, warning or error"),
        ("ANTHROPIC_BASE_URL", "nonsense", "ANTHROPIC_BASE_URL: the value is not allowed"),
    ],
)
def test_a_bad_variable_is_one_problem_and_the_file_decides(home, name, value, says):
    toml = 'mode = "auto"\nmax_steps = 9\ncontext_window = 9900\nstream_idle_timeout = 9\nthinking = "low"\n'
    good = load(home, toml)
    bad = load(home, toml, **{name: value})
    (problem,) = bad.problems
    assert says in problem
    assert bad == evolve(good, problems=(problem,))


@pytest.mark.parametrize("key", config._KEYS, ids=lambda key: key.name)
def test_every_key_is_read_from_the_file(home, key):
    (problem,) = load(home, f"{key.name} = {{x = 1}}").problems
    assert problem.startswith(f"{home / 'config.toml'}:1: {key.name}: ")
    assert "is not allowed" in problem


def test_good_rules_count_beside_a_bad_one_which_is_named_with_its_own_line(home):
    settings = load(home, 'mode = "auto"\ndeny = [\n  "shell(rm:*)",\n  "shel(x)",\n]\nask = ["grep"]\n')
    (problem,) = settings.problems
    assert problem.startswith(f"{home / 'config.toml'}:4: deny: 'shel(x)'")
    assert (settings.deny, settings.ask) == (("shell(rm:*)",), ("grep",))
    assert settings.sources["deny[shell(rm:*)]"] == f"{home / 'config.toml'}:3"


@pytest.mark.parametrize("name", ["tracker_list_issues", "fs_read_file", "editor_shell", "mcp_read_resource", "issues"])
def test_names_of_other_tools_are_taken(home, name):
    assert load(home, f'allow = ["{name}"]').problems == ()


def test_the_names_of_our_tools_are_those_of_the_toolbox(tmp_path):
    names = {tool.spec.name for tool in Room(tmp_path).toolbox.tools()}
    assert {*names, "mcp_read_resource", "load_skill", "subagent", "final_output"} == {*TOOLS}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("QUILLBACK_MODLE", "did you mean QUILLBACK_MODE?"),
        ("QUILLBACK_TOOL_CONCURRENCY", "tool_concurrency is set in config.toml"),
    ],
)
def test_a_variable_that_is_none_of_ours_is_a_warning(home, name, says):
    settings = load(home, "", **{name: "x"})
    assert settings.problems == ()
    (warning,) = settings.warnings
    assert warning == f"{name}: no such variable; {says}"
    assert load(home, "", QUILLBACK_COMMAND="1", QUILLBACK_MCP_SERVER="1").warnings == ()


def test_good_names_of_secret_variables_count_beside_a_bad_one(home):
    settings = load(home, 'secret_env = ["MYSEC", "BAD-NAME", "OTHER"]\n')
    assert settings.secret_env == {"MYSEC", "OTHER"}
    assert settings.problems == (f"{home}/config.toml:1: secret_env: 'BAD-NAME' is not the name of a variable",)


def test_secrets_show_in_no_problem_and_no_repr(home):
    toml = '[anthropic]\napi_key = "sk hunter2"\nauth_token = ["sk-hunter2"]\nbase_url = "ftp://me:sk-hunter2@host"\n'
    settings = load(home, toml, ANTHROPIC_API_KEY="sk-hünter2")
    assert len(settings.problems) == 4
    assert "nter2" not in "".join(settings.problems)
    kept = load(
        home, "", ANTHROPIC_API_KEY="sk-1234", ANTHROPIC_AUTH_TOKEN="tok-1234", ANTHROPIC_BASE_URL="http://u:1234@h"
    )
    assert kept.problems == ()
    assert "1234" not in repr(kept)


@pytest.mark.parametrize(
    ("toml", "line"),
    [
        (b'mode = "auto"\nmodel = \n', 2),
        (b"mode = ", 1),
        (b'mode = "auto"\nmode = "chat"\n', 2),
        (b'mode = "auto"\n# caf\xe9\n', 2),
        (b'a = 1\nmodel = """never ends\n', 2),
    ],
)
def test_invalid_toml_is_one_problem_with_file_and_line(home, toml, line):
    settings = load(home, toml, QUILLBACK_MODE="chat")
    (problem,) = settings.problems
    assert problem.startswith(f"{home / 'config.toml'}:{line}: not valid TOML: ")
    assert settings.mode is Mode.CHAT


def test_a_file_of_any_editor_is_read(home):
    assert load(home, b'\xef\xbb\xbfmodel = "x"\r\nmode = "auto"\r\n').model == "x"


def test_a_file_nested_beyond_reason_is_a_problem(home):
    (problem,) = load(home, f"a = {'[' * 5000}{']' * 5000}").problems
    assert "not valid TOML" in problem


def test_a_config_that_cannot_be_read_is_a_problem(home):
    (home / "config.toml").mkdir()
    (problem,) = load(home).problems
    assert (
        problem
        == f"{home / 'config.toml'}: cannot be read: Is a directory; the whole file is not used until this is mended"
    )


def test_a_home_that_is_a_file_is_left_for_the_store_to_report(tmp_path):
    (tmp_path / "file").touch()
    assert load(tmp_path / "file").problems == ()


def test_the_home_holds_everything(home):
    settings = load(home)
    assert settings.database == home / "quillback.db"
    assert settings.outputs == home / "outputs"


def test_a_relative_home_is_refused_and_the_user_expanded(home, monkeypatch):
    monkeypatch.chdir(home)
    monkeypatch.setenv("HOME", str(home / "me"))
    refused = load_settings({"QUILLBACK_HOME": "qb"})
    assert refused.problems[0].startswith("QUILLBACK_HOME: 'qb' is not an absolute path")
    assert not refused.home.is_relative_to(home)
    assert load_settings({"QUILLBACK_HOME": "~/qb"}).home == home / "me" / "qb"


def test_without_a_home_the_platform_directories_are_used(home):
    (home / "conf").mkdir()
    (home / "conf" / "config.toml").write_text('mode = "chat"')
    settings = load_settings({}, platform_dirs=lambda: (home / "data", home / "conf"))
    assert settings.home == home / "data"
    assert settings.config_file == home / "conf" / "config.toml"
    assert settings.mode is Mode.CHAT


def test_the_real_platform_directories_follow_the_environment(home, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "conf"))
    monkeypatch.setenv("HOME", str(home))
    settings = load_settings(os.environ | {"QUILLBACK_HOME": ""})
    assert settings.home.is_relative_to(home)
    assert settings.home.name == "quillback"
    assert settings.config_file.is_relative_to(home)


def test_no_home_at_all_is_a_problem_and_never_a_folder_in_the_workspace():
    settings = load_settings({}, platform_dirs=lambda: (Path("~/data"), Path("~/conf")))
    (problem,) = settings.problems
    assert "QUILLBACK_HOME" in problem
    assert settings.home.is_absolute()
    assert not settings.home.exists()


def test_importing_the_configuration_is_cheap():
    code = "import quillback.config, sys; print(sorted({m.partition('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for heavy in ("asyncio", "platformdirs", "cattrs", "keyring", "tomllib", "difflib", "httpx2", "pydantic"):
        assert f"'{heavy}'" not in done.stdout
