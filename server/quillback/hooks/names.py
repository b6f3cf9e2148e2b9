"""The names that hook files of the Claude style have for our tools and for the arguments of these."""

import posixpath
from collections.abc import Iterator, Mapping

from quillback.core.message import JsonObject

_TOOLS: Mapping[str, tuple[str, ...]] = {
    "shell": ("Bash",),
    "shell_output": ("BashOutput",),
    "shell_kill": ("KillShell",),
    "edit_file": ("Edit", "MultiEdit"),
    "write_file": ("Write",),
    "read_file": ("Read",),
    "grep": ("Grep",),
    "glob": ("Glob",),
    "list_dir": ("LS",),
    "todo_write": ("TodoWrite",),
    "web_fetch": ("WebFetch",),
    "ask_user": ("AskUserQuestion",),
    "subagent": ("Task", "Agent"),
    "load_skill": ("Skill",),
}
_ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "shell": {"background": "run_in_background"},
    "edit_file": {"path": "file_path", "old_text": "old_string", "new_text": "new_string"},
    "write_file": {"path": "file_path"},
    "read_file": {"path": "file_path", "line": "offset"},
    "grep": {"ignore_case": "-i"},
    "todo_write": {"items": "todos"},
    "subagent": {"task": "prompt"},
}
_MCP = "mcp__"


def other_names(tool: str) -> tuple[str, ...]:
    """What such files may call a tool, the usual name first."""
    return _TOOLS.get(tool) or tuple(_of_server(tool))


def usual_name(tool: str) -> str:
    """What such files call a tool. Where the server's name ends in a tool of MCP cannot be told: it keeps its own."""
    return _TOOLS.get(tool, (tool,))[0]


def _of_server(tool: str) -> Iterator[str]:
    """`mcp__server__tool`, with each underscore in the name as the possible end of the server's."""
    for index, character in enumerate(tool):
        server, rest = tool[:index], tool[index + 1 :]
        if character == "_" and server and rest:
            yield f"{_MCP}{server}__{rest}"
            if "-" in server:
                yield f"{_MCP}{server.replace('-', '_')}__{rest}"


def to_other(tool: str, arguments: JsonObject, cwd: str) -> dict[str, object]:
    """A call's arguments under the names of such files, where `file_path` is absolute."""
    names = _ARGUMENTS.get(tool, {})
    renamed = {names.get(key, key): value for key, value in arguments.items()}
    path = renamed.get("file_path")
    if "file_path" in names.values() and isinstance(path, str):
        renamed["file_path"] = posixpath.normpath(posixpath.join(cwd, path))
    return renamed


def from_other(tool: str, arguments: JsonObject) -> dict[str, object]:
    """The way back."""
    names = {theirs: ours for ours, theirs in _ARGUMENTS.get(tool, {}).items()}
    return {names.get(key, key): value for key, value in arguments.items()}
