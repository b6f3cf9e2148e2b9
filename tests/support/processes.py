"""Looks at processes from outside, by what a test put into their command lines."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def running(mark: str) -> list[int]:
    """The living processes with `mark` in their command line; zombies have none."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if mark.encode() in (entry / "cmdline").read_bytes().replace(b"\0", b" "):
                    found.append(int(entry.name))
    return found


def zombies(parent: int) -> list[int]:
    """The dead children that `parent` has not taken notice of."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if fields[0] == "Z" and int(fields[1]) == parent:
                    found.append(int(entry.name))
    return found


async def until(condition: Callable[[], object], seconds: float = 3.0) -> bool:
    """Whether `condition` came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.01)
    return True
