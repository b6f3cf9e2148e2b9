"""Finds the living processes that an MCP server left: its group and session, and whatever carries its mark."""

import os
from pathlib import Path

MARK = "QUILLBACK_MCP_SERVER"
"""The variable that tells descendants which left the group; its value is new for each start of a server."""

_PROC = Path("/proc")


def members(leader: int, mark: str) -> list[int]:
    """Targets for os.kill: process ids or, on systems without /proc, the negative id of the group.

    Reads /proc, which takes some milliseconds.
    """
    if not (_PROC / "self/stat").exists():
        return [-leader] if _group_lives(leader) else []
    sought = f"{MARK}={mark}".encode()
    found = (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal())
    return [pid for pid in found if pid != os.getpid() and _belongs(pid, leader, sought)]


def signal_all(targets: list[int], number: int) -> None:
    for target in targets:
        try:
            os.kill(target, number)
        except (ProcessLookupError, PermissionError):
            continue


def _group_lives(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _belongs(pid: int, leader: int, sought: bytes) -> bool:
    try:
        # the name in parentheses may hold anything, so count from its end
        state, _, group, session, *_ = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        if state in (b"Z", b"X"):
            return False
        if leader in (int(group), int(session)):
            return True
        return sought in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return False
