"""Sends the pieces of one reply as chunks."""

import itertools
import json
from collections.abc import Mapping
from typing import Any

from support.fake_model.http import Connection
from support.fake_openai.reply import Comments, Drop, Eof, ErrorChunk, Hang, Piece, Raw, Reply, Say, Wait, deltas

_numbers = itertools.count(1)


class ChunkStream:
    def __init__(self, connection: Connection, reply: Reply, model: str, *, counts: bool) -> None:
        self._connection = connection
        self._reply = reply
        self._counts = counts
        self._head = {"id": f"chatcmpl-{next(_numbers)}", "object": "chat.completion.chunk", "model": model}

    async def run(self) -> None:
        await self._delta({"role": "assistant", "content": ""})
        for piece in self._reply.pieces:
            if not await self._piece(piece):
                return
        await self._end()
        await self._connection.send_end()

    async def _end(self) -> None:
        reply = self._reply
        usage = reply.usage if self._counts else None
        if reply.finish:
            more = {"usage": usage} if usage and reply.usage_with_end else {}
            await self._delta({}, reply.finish, more)
        if usage and not reply.usage_with_end:
            await self._data({**self._head, "choices": [], "usage": usage})
        if reply.done:
            await self._text("data: [DONE]")

    async def _piece(self, piece: Piece) -> bool:
        """False when nothing may follow."""
        match piece:
            case Wait(seconds=seconds):
                await self._connection.sleep(seconds)
            case Comments(count=count, every=every):
                for _ in range(count):
                    await self._connection.sleep(every)
                    await self._text(": OPENROUTER PROCESSING")
            case Raw(data=data):
                await self._connection.send_chunks(data, self._reply.cut)
            case Hang():
                await self._connection.sleep(None)
            case Drop():
                self._connection.drop()
                return False
            case Eof():
                await self._connection.send_end()
                return False
            case ErrorChunk(payload=payload):
                await self._data(payload)
                await self._text("data: [DONE]")
                await self._connection.send_end()
                return False
            case _:
                for delta in deltas(piece):
                    await self._delta(delta)
                    if isinstance(piece, Say) and piece.delay:
                        await self._connection.sleep(piece.delay)
        return True

    async def _delta(
        self, delta: Mapping[str, Any], finish: str | None = None, more: Mapping[str, Any] | None = None
    ) -> None:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        await self._data({**self._head, "choices": [choice], **(more or {"usage": None})})

    async def _data(self, payload: Mapping[str, Any]) -> None:
        await self._text(f"data: {json.dumps(payload, ensure_ascii=False)}")

    async def _text(self, text: str) -> None:
        data = f"{text}{self._reply.newline * 2}".encode("utf-8", "surrogatepass")
        await self._connection.send_chunks(data, self._reply.cut)
