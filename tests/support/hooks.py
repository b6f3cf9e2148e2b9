"""Hook files as tests write them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def hook_file(path: Path, **points: list[tuple[str, str] | tuple[str, str, Mapping[str, Any]]]) -> Path:
    """A hook file with (matcher, command) or (matcher, command, more keys) for each moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": {point: list(map(_group, groups)) for point, groups in points.items()}}))
    return path


def _group(given: tuple[Any, ...]) -> dict[str, Any]:
    matcher, command, *more = given
    return {"matcher": matcher, "hooks": [{"type": "command", "command": command, **(more[0] if more else {})}]}


def say(**answer: Any) -> str:
    """A command that answers with this JSON."""
    return f"cat > /dev/null; echo '{json.dumps(answer)}'"


def decide(**answer: Any) -> str:
    """A command that answers a PreToolUse hook's way."""
    return say(hookSpecificOutput={"hookEventName": "PreToolUse", **answer})
