"""What a process costs, read from /proc."""

import os
from pathlib import Path

MIB = 1024 * 1024


def memory(pid: int) -> float:
    """Resident memory in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MIB


def processor_time(pid: int) -> float:
    """Seconds of processor time used so far, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
