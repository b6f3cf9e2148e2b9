"""Ids that sort by time and never come twice."""

import secrets
import time
from threading import Lock


class IdSource:
    """Callable: a prefix to `prefix_<time><count><chance>`, strictly growing within one process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last = 0

    def __call__(self, prefix: str) -> str:
        with self._lock:
            self._last = max(self._last + 1, time.time_ns() // 1000)
            return f"{prefix}_{self._last:014x}{secrets.token_hex(4)}"
