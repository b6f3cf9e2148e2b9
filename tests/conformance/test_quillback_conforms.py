"""Quillback passes its own check."""

import json
import sys

import pytest

from quillback.conformance.runner import chosen
from support.cli import Shell

SCRIPT = r"""
each-prompt
loop
think: A plan first.
call: todo_write {"items": [{"content": "Write", "status": "in_progress"}]}
---
text: Now the files.
call: write_file {"path": "new.txt", "content": "hello\\n"}
call: shell {"command": "echo hello > made.txt"}
---
pace: 30ms
text*60: word\s
"""
# What Quillback has no use for: it declares neither, or sends nothing of the kind to this model.
NOT_RUN = {
    "ACP-AUTH-003",
    "ACP-AUTH-004",
    "ACP-PROMPT-006",
    "ACP-TOOL-004",
    "ACP-EXT-005",
    "ACP-CLIENT-007",
    "ACP-CLIENT-008",
}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_quillback_conforms(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "workspace").mkdir()
    shell = Shell(tmp_path)
    shell.script(SCRIPT)
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "quillback", "acp"]
    with shell.start("check", "--timeout", "60", "--report", str(report), "--", *command) as process:
        out, err = process.communicate(timeout=540)
    rules = {rule["id"]: rule for rule in json.loads(report.read_text())["rules"]}
    wrong = {name: rule for name, rule in rules.items() if rule["verdict"] != "passed" and name not in NOT_RUN}
    assert wrong == {}
    assert rules.keys() == {rule.id for rule in chosen([])}
    assert process.returncode == 0, out + err
    assert out.endswith("The agent conforms: no mandatory rule and none of a declared capability is broken.\n")
