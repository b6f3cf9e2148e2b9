"""Keeps the calls of one step that meet at a file in call order, also where a hook changed what one of them touches."""

import asyncio
from collections.abc import Iterable

_NOTHING: frozenset[str] = frozenset()


class Lanes:
    """What a call touches is known when it enters; until then it may touch anything."""

    def __init__(self, call_ids: Iterable[str]) -> None:
        self._known = {call_id: asyncio.Event() for call_id in call_ids}
        self._done = {call_id: asyncio.Event() for call_id in self._known}
        self._keys: dict[str, frozenset[str]] = {}

    async def enter(self, call_id: str, keys: frozenset[str]) -> None:
        """Wait for the calls before this one that share one of `keys`."""
        self._keys[call_id] = keys
        self._known[call_id].set()
        if not keys:
            return
        for earlier in self._known:
            if earlier == call_id:
                return
            await self._known[earlier].wait()
            if keys & self._keys.get(earlier, _NOTHING):
                await self._done[earlier].wait()

    def leave(self, call_id: str) -> None:
        """The call is over, or never entered."""
        self._known[call_id].set()
        self._done[call_id].set()
