"""The names of the tools there are, so that a rule about one that is only misspelled does not pass in silence."""

TOOLS = (
    "ask_user",
    "edit_file",
    "final_output",
    "glob",
    "grep",
    "list_dir",
    "load_skill",
    "mcp_read_resource",
    "read_file",
    "shell",
    "shell_kill",
    "shell_output",
    "subagent",
    "todo_write",
    "write_file",
)
_ALIKE = 0.78


def misspelled(name: str) -> str:
    """What is wrong with a name that is nearly one of ours; empty for ours, and for those that may well be others'.

    Tools of MCP servers are called `server_tool`, so a name that ends in one of ours is none of ours.
    """
    if name in TOOLS or name.lower().endswith(tuple(f"_{tool}" for tool in TOOLS)):
        return ""
    meant = _meant(name.lower())
    return f"no tool is called {name}; did you mean {meant}?" if meant else ""


def _meant(name: str) -> str:
    from difflib import get_close_matches

    plain = name.replace("-", "_")
    squeezed = {tool.replace("_", ""): tool for tool in TOOLS}
    if plain in TOOLS or plain.replace("_", "") in squeezed:
        return squeezed[plain.replace("_", "")]
    close = get_close_matches(plain, TOOLS, 1, _ALIKE)
    return close[0] if close else ""
