"""What a process costs, read from /proc."""

import os
from pathlib import Path

from support.processes import until

MIB = 1024 * 1024


def memory(pid: int) -> float:
    """Resident memory in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MIB


def processor_time(pid: int) -> float:
    """Seconds of processor time used so far, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def waits(pid: int, seconds: float = 20.0) -> bool:
    """Whether it comes to wait for something, told by the processor time that it does not use for a while."""
    used = [-1.0]

    def quiet() -> bool:
        used.append(processor_time(pid))
        return len(used) > 30 and used[-1] - used[-30] < 0.02

    return await until(quiet, seconds)
