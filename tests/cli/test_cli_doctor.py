"""`quillback doctor` and `quillback models`: what is there, what is missing, and nothing secret."""

import json
import socket
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from sqlite3 import connect
from threading import Thread

import pytest

from quillback.store.migrations import MIGRATIONS

KEY = "sk-ant-SECRET-123456"


def checks(done) -> dict[str, dict]:
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_a_home_that_does_not_exist_yet_is_fine(shell):
    done = shell("doctor", env={"ANTHROPIC_API_KEY": KEY})
    assert done.returncode == 0
    assert "Ready." in done.stdout
    assert not shell.home.exists()


def test_without_credentials_it_says_what_to_do(shell):
    done = shell("doctor")
    assert done.returncode == 1
    assert "Set ANTHROPIC_API_KEY, or api_key_command under [anthropic] in" in done.stdout
    assert "To be mended first: credentials." in done.stdout


@pytest.mark.parametrize(
    ("env", "config", "found"),
    [
        ({"ANTHROPIC_API_KEY": KEY}, "", "ANTHROPIC_API_KEY"),
        ({"ANTHROPIC_AUTH_TOKEN": KEY}, "", "ANTHROPIC_AUTH_TOKEN"),
        ({}, f'[anthropic]\napi_key = "{KEY}"', "config.toml:2"),
        ({}, f'[anthropic]\napi_key_command = "echo {KEY}"', "api_key_command"),
        ({"ANTHROPIC_BASE_URL": f"http://me:{KEY}@localhost:1/x"}, "", "none needed"),
        ({"QUILLBACK_MODEL": "scripted:demo"}, "", "none needed for scripted:demo"),
    ],
)
def test_where_credentials_come_from_but_never_what_they_are(shell, env, config, found):
    shell.home.mkdir()
    (shell.home / "config.toml").write_text(config)
    for arguments in (["doctor"], ["doctor", "--json"]):
        done = shell(*arguments, env=env)
        assert done.returncode == 0, done.stdout
        assert KEY not in done.stdout + done.stderr
    check = checks(done)["credentials"]
    assert check["state"] == "ok"
    assert check["found"].endswith(found)


def test_settings_and_their_faults_come_with_their_place(shell):
    shell.home.mkdir()
    (shell.home / "config.toml").write_text('mode = "auto"\nmax_steps = 12\nmaxcost = 3\n')
    done = shell("doctor", "--json", env={"QUILLBACK_MODEL": "scripted:echo", "QUILLBACK_THINKING": "lots"})
    assert done.returncode == 1
    found = checks(done)
    assert found["mode"]["found"] == f"auto ({shell.home}/config.toml:1)"
    assert found["max_steps"]["found"] == f"12 ({shell.home}/config.toml:2)"
    assert found["model"]["found"] == "scripted:echo (QUILLBACK_MODEL)"
    problems = [c["found"] for c in json.loads(done.stdout)["checks"] if c["name"] == "config"]
    assert [p for p in problems if f"{shell.home}/config.toml:3: maxcost" in p]
    assert [p for p in problems if "QUILLBACK_THINKING" in p]


def test_values_are_shown_as_one_would_write_them(shell):
    shell.home.mkdir()
    given = {"titles": "false", "compact_at": "0", "max_cost": "1000000", "grind_cost": "2.50"}
    toml = "".join(f"{name} = {value}\n" for name, value in given.items())
    (shell.home / "config.toml").write_text(f"{toml}[egress]\nallow = []\ndeny = ['b.org', 'a.org']\n")
    found = checks(shell("doctor", "--json"))
    expected = {**given, "grind_cost": "2.5", "egress_allow": "nothing", "egress_deny": "a.org, b.org"}
    assert {name: found[name]["found"].partition(" (")[0] for name in expected} == expected


def test_where_a_setting_comes_from_is_told_only_if_it_does(shell):
    shell.home.mkdir()
    (shell.home / "config.toml").write_text('model = ""\nmode = "wild"\nthinking = "low"\n')
    done = shell("doctor", "--json", env={"QUILLBACK_THINKING": "high"})
    found = checks(done)
    assert found["model"]["found"].endswith("(default)")
    assert found["mode"]["found"] == "approve (default)"
    assert found["thinking"]["found"] == "high (QUILLBACK_THINKING)"


@pytest.mark.parametrize(
    ("toml", "line", "says"),
    [
        ('mode = "auto"\nmax_steps = = 3\n', 2, "the whole file is not used until this is mended"),
        ('sandbox = "on"\n', 1, "use off, workspace or workspace-offline"),
        ('mode = "auto"\n[models."foo"]\nname = "Foo"\nwindow = 3\n', 4, 'models."foo".window is not known'),
        ('[models."foo"]\ninput_price = 3\n', 1, "input_price and output_price are needed together"),
    ],
)
def test_a_fault_is_told_with_its_line_and_what_it_means(shell, toml, line, says):
    shell.home.mkdir()
    (shell.home / "config.toml").write_text(toml)
    done = shell("doctor", "--json")
    (problem,) = [c for c in json.loads(done.stdout)["checks"] if c["name"] == "config"]
    assert problem["found"].startswith(f"{shell.home}/config.toml:{line}: ")
    assert says in problem["found"]


def test_a_script_that_is_missing(shell):
    done = shell("doctor", "--json", env={"QUILLBACK_MODEL": "scripted:gone.script"})
    assert done.returncode == 1
    assert "gone.script" in checks(done)["credentials"]["found"]


def test_a_whole_database(shell):
    shell.script("text: Hello.")
    assert shell("run", "go").returncode == 0
    before = {p.name: p.read_bytes() for p in shell.home.iterdir() if p.is_file()}
    done = shell("doctor", "--json")
    assert done.returncode == 0
    assert f"whole, schema version {len(MIGRATIONS)}, 1 session" in checks(done)["database"]["found"]
    assert {p.name: p.read_bytes() for p in shell.home.iterdir() if p.is_file()} == before


def test_a_database_in_use(shell):
    shell.script("text: Beginning.\nwait: 60s")
    with shell.start("run", "--json", "go") as process:
        assert any("Beginning." in line for line in process.stdout)
        assert "1 session" in checks(shell("doctor", "--json"))["database"]["found"]


@pytest.mark.parametrize("kind", ["newer", "no database", "damaged", "a directory"])
def test_a_database_that_cannot_be_used(shell, kind):
    shell.script("text: Hello.")
    assert shell("run", "go").returncode == 0
    path = shell.home / "quillback.db"
    match kind:
        case "newer":
            with closing(connect(path)) as db:
                db.execute("PRAGMA user_version = 99")
        case "no database":
            path.write_bytes(b"something else altogether " * 100)
        case "damaged":
            data = path.read_bytes()
            path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
        case "a directory":
            path.unlink()
            path.mkdir()
    before = path.read_bytes() if path.is_file() else b""
    done = shell("doctor", "--json")
    assert done.returncode == 1
    found = checks(done)["database"]
    assert found["state"] == "bad"
    assert str(path) in found["found"]
    assert ("version is 99," in found["found"]) is (kind == "newer")
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_a_home_that_others_can_read_is_noted(shell):
    shell.home.mkdir(mode=0o755)
    done = shell("doctor", "--json", env={"ANTHROPIC_API_KEY": KEY})
    assert done.returncode == 0
    assert checks(done)["home"]["advice"] == f"chmod 700 {shell.home}"


def test_a_home_that_is_no_directory(shell):
    shell.home.write_text("")
    done = shell("doctor", "--json", env={"ANTHROPIC_API_KEY": KEY})
    assert done.returncode == 1
    assert checks(done)["home"]["state"] == "bad"


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.heard = (self.path, dict(self.headers))  # type: ignore[attr-defined]
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_online_asks_the_service_for_a_sign_of_life_without_the_key(shell):
    with HTTPServer(("127.0.0.1", 0), _Answer) as server:
        Thread(target=server.handle_request, daemon=True).start()
        env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}/api/v1/"}
        done = shell("doctor", "--online", "--json", env=env)
        path, headers = server.heard
    assert done.returncode == 0
    assert checks(done)["network"]["found"].endswith(
        f"127.0.0.1:{server.server_port} answers (status 404); the key was not tried"
    )
    assert path == "/api/v1/models"
    assert KEY not in str(headers)


def test_online_names_a_service_that_does_not_answer(shell):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        done = shell("doctor", "--online", env={"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url})
    assert done.returncode == 1
    assert f"Cannot reach {url} (connection refused)" in done.stdout
    assert "To be mended first: network." in done.stdout


# ---------------------------------------------------------------- models


def test_models_lists_windows_prices_and_their_date(shell):
    done = shell("models")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[1].split()[:2] == ["*", "claude-sonnet-5-5"]
    assert [line.split()[1] for line in lines if line.startswith("s ")] == ["claude-haiku-5-5"]
    assert "as of 20" in done.stdout


def test_models_as_json_and_with_additions(shell):
    shell.home.mkdir()
    (shell.home / "config.toml").write_text('model = "mine"\n[models."mine"]\ncontext_window = 4096\n')
    told = json.loads(shell("models", "--json").stdout)
    assert told["date"].startswith("20")
    first = told["models"][0]
    assert (first["id"], first["context_window"], first["price"], first["default"]) == ("mine", 4096, None, True)
    assert [m["id"] for m in told["models"] if m["small"]] == ["claude-haiku-5-5"]
    assert shell("models").stdout.splitlines()[1].split()[:4] == ["*", "mine", "mine", "4,096"]
