"""MCP servers of the configuration: what they become, and what is said of those that are wrong."""

import pytest

from quillback.config import Settings, load_settings
from quillback.core.mcp_server import HttpServer, StdioServer


def load(home, toml: str) -> Settings:
    (home / "config.toml").write_text(toml)
    return load_settings({"QUILLBACK_HOME": str(home)})


def test_programs_and_addresses(tmp_path):
    settings = load(
        tmp_path,
        """
        [mcp.files]
        command = "mcp-files"
        args = ["--root", "${PWD}"]
        env = { TOKEN = "sk-secret" }

        [mcp."search me"]
        url = "https://mcp.example/v1?key=sk-secret"
        headers = { Authorization = "Bearer sk-secret" }

        [mcp.later]
        command = "mcp-later"
        enabled = false
        """,
    )
    assert settings.problems == ()
    assert settings.mcp_servers == (
        StdioServer("files", "mcp-files", ("--root", "${PWD}"), {"TOKEN": "sk-secret"}),
        HttpServer("search me", "https://mcp.example/v1?key=sk-secret", {"Authorization": "Bearer sk-secret"}),
    )
    assert "sk-secret" not in repr(settings)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("", "needs command, for a program, or url"),
        ('command = "a"\nurl = "http://x"', "and not both"),
        ("command = 3", "command must be text"),
        ('command = " "', "command must not be empty"),
        ('command = "a"\nargs = "b"', "args must be a list of texts"),
        ('command = "a"\nargs = [1]', "args must be text"),
        ('command = "a"\nenv = []', "env must be a table of texts"),
        ('command = "a"\nenv = { "A=B" = "sk-secret" }', "env has a name that cannot be one"),
        ('command = "a"\nenv = { A = "${TOKEN:-sk}" }', "variables are not filled in"),
        ('command = "a"\nheaders = {}', "headers does not go with command"),
        ('command = "a"\nenabled = "no"', "enabled must be true or false"),
        ('command = "a"\ncmd = "b"', "cmd: no such key"),
        ('url = "mcp.example"', "url must be an address"),
        ('url = "file:///etc/passwd"', "url must be an address"),
        ('url = "http://x"\ntype = "sse"', "the sse transport is not supported"),
        ('url = "http://x"\ntype = "stdio"', "type stdio needs command"),
        ('url = "http://x"\nargs = []', "args does not go with url"),
    ],
)
def test_what_is_wrong_names_file_line_and_server_and_no_value(tmp_path, table, says):
    settings = load(tmp_path, f"# first\n[mcp.good]\ncommand = 'x'\n[mcp.bad]\n{table}\n")
    (problem,) = settings.problems
    assert problem.startswith(f"{tmp_path}/config.toml:4: mcp.bad: ")
    assert says in problem
    assert "sk-secret" not in problem
    assert [server.name for server in settings.mcp_servers] == ["good"]


def test_a_key_that_is_no_table(tmp_path):
    assert "mcp: must be a table" in load(tmp_path, "mcp = 3").problems[0]
    assert "mcp.a: must be a table with command or url" in load(tmp_path, "mcp.a = 3").problems[0]
