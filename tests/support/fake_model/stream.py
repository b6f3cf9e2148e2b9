"""Sends the pieces of one reply as server-sent events."""

import json

from support.fake_model.http import Connection
from support.fake_model.reply import (
    Block,
    Drop,
    Eof,
    ErrorEvent,
    Event,
    Hang,
    Open,
    Piece,
    Pings,
    Raw,
    Reply,
    Say,
    Wait,
    block_events,
)


class ReplyStream:
    def __init__(self, connection: Connection, reply: Reply) -> None:
        self._connection = connection
        self._reply = reply
        self._index = 0

    async def event(self, event: Event) -> None:
        end = self._reply.newline
        name = f"event: {event['type']}{end}" if self._reply.event_names else ""
        text = f"{name}data: {json.dumps(event, ensure_ascii=False, separators=(',', ':'))}{end}{end}"
        await self._connection.send_chunks(text.encode("utf-8", "surrogatepass"), self._reply.cut)

    async def piece(self, piece: Piece) -> bool:
        """False when nothing may follow."""
        match piece:
            case Wait(seconds=seconds):
                await self._connection.sleep(seconds)
            case Pings(count=count, every=every):
                for _ in range(count):
                    await self._connection.sleep(every)
                    await self.event({"type": "ping"})
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
            case ErrorEvent(type=kind, message=message):
                await self.event({"type": "error", "error": {"type": kind, "message": message}})
                await self._connection.send_end()
                return False
            case Open(block=block):
                await self._block(block, closed=False)
            case _:
                await self._block(piece, closed=True)
        return True

    async def _block(self, block: Block, *, closed: bool) -> None:
        for event in block_events(self._index, block):
            await self.event(event)
            if isinstance(block, Say) and block.delay and event["type"] == "content_block_delta":
                await self._connection.sleep(block.delay)
        if closed:
            await self.event({"type": "content_block_stop", "index": self._index})
        self._index += 1
