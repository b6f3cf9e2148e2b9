"""A command that an agent runs cannot decide for the user what is trusted or asked about."""

from quillback.cli.by_agent import MARK
from quillback.tools import orphans

BY_AGENT = {MARK: "1"}


def test_the_mark_is_the_one_that_commands_get():
    assert MARK == orphans.MARK


def test_trust_and_rules_refuse_what_an_agent_asks(shell):
    for arguments in (("trust", ".", "--yes"), ("trust", "--revoke", "."), ("rules", "delete", "--all", "--yes")):
        done = shell(*arguments, env=BY_AGENT)
        assert done.returncode == 1
        assert "is for the user to decide" in done.stderr


def test_looking_is_allowed(shell):
    assert shell("trust", "--list", env=BY_AGENT).returncode == 0
    assert shell("rules", "list", env=BY_AGENT).returncode == 0
