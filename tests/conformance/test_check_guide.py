"""The guide pages of `quillback check` say what is so."""

import json
import re
from pathlib import Path

from quillback.cli.main import COMMANDS
from quillback.conformance.runner import chosen

GUIDE = Path(__file__).parents[2] / "server" / "guide"
PAGE = (GUIDE / "check.md").read_text(encoding="utf-8")
AGENTS = (GUIDE / "agents-checked.md").read_text(encoding="utf-8")


def test_every_option_is_on_the_page():
    options = {option.names[0] for option in COMMANDS["check"].options if option.names[0].startswith("--")}
    assert {name for name in options if f"| `{name}" not in PAGE} == set()


def test_rules_that_pages_name_are_there_with_their_class():
    rules = {rule.id: rule for rule in chosen([])}
    named = set(re.findall(r"ACP-[A-Z]+-\d{3}", PAGE + AGENTS))
    assert named
    assert named <= rules.keys()
    for name, weight in re.findall(r"^\| (ACP-[A-Z]+-\d{3}) \| (\w+) \|", AGENTS, re.M):
        assert rules[name].weight.value == weight, name


def test_lines_of_the_example_are_those_of_the_rules():
    rules = {rule.id: rule for rule in chosen([])}
    for name, expects in re.findall(r"^[✓✗] (ACP-\S+)\s+(.*)$", PAGE, re.M):
        assert rules[name].expects == expects


def test_the_report_on_the_page_has_the_fields_that_reports_have():
    (example,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.M | re.S)
    report = json.loads(example)
    assert report["rules"][0]["expected"] == next(r.expects for r in chosen(["ACP-INIT-002"]))
    assert {"format", "date", "command", "agent", "protocolVersion", "result", "summary", "rules"} == report.keys()
