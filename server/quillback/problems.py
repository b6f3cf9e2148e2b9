"""What is wrong with the settings beyond each one's own form: models, rules that never match, the reviewer's tools."""

from collections.abc import Iterator

from quillback.config import Settings
from quillback.config_tools import TOOLS, misspelled
from quillback.core.ports import RuleEffect
from quillback.core.rules import parse_pattern
from quillback.inspectors.adversary import parse_brief
from quillback.models import Models

_KEYS = {RuleEffect.ALLOW: "allow", RuleEffect.ASK: "ask", RuleEffect.REJECT: "deny"}


def problems_of(settings: Settings, models: Models | None = None) -> tuple[str, ...]:
    """All that keeps sessions from starting until it is mended; each names the place."""
    models = models or Models(settings)
    return (*settings.problems, *models.problems, *rule_problems(settings), *_reviewer_problems(settings))


def warnings_of(settings: Settings) -> tuple[str, ...]:
    """What may have no effect although nothing is wrong with it."""
    return (*settings.warnings, *_rule_warnings(settings))


def rule_problems(settings: Settings) -> Iterator[str]:
    """What is wrong with configured rules for the shell, which would never match."""
    for place, text in _rules(settings):
        pattern = parse_pattern(text)
        if pattern.tool == "shell" and pattern.argument is not None:
            from quillback.inspectors.rule_commands import bad_command

            if why := bad_command(pattern.argument):
                yield f"{place}: {text}: {why}"


def _rule_warnings(settings: Settings) -> Iterator[str]:
    """Rules about tools that are not ours and, by their form, hardly those of an MCP server or an editor."""
    for place, text in _rules(settings):
        pattern = parse_pattern(text)
        if pattern.tool not in TOOLS and pattern.argument is not None and not pattern.argument.lstrip().startswith("{"):
            yield f"{place}: {text}: no built-in tool has that name; of other tools only the whole input as JSON counts"


def _rules(settings: Settings) -> Iterator[tuple[str, str]]:
    """Where each rule is, as `file:line: key`, and the rule."""
    for rule in settings.rules:
        key = _KEYS[rule.effect]
        place = settings.sources.get(f"{key}[{rule.pattern}]", str(settings.config_file))
        yield f"{place}: {key}", rule.pattern


def _reviewer_problems(settings: Settings) -> Iterator[str]:
    """Misspelled tools in the first line of adversary.md: their calls would not be reviewed."""
    try:
        tools = parse_brief(settings.adversary.read_text(encoding="utf-8")).tools or frozenset()
    except (OSError, UnicodeDecodeError):  # the inspector says so of each call
        return
    for name in sorted(tools):
        if wrong := misspelled(name):
            yield f"{settings.adversary}: tools: {wrong}"
