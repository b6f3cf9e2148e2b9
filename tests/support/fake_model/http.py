"""One keep-alive HTTP/1.1 connection: enough of it for a test server, and it knows when the client has gone."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress

from attrs import frozen


@frozen
class HttpRequest:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class ClientGone(Exception):
    """The client closed the connection before its answer was through."""


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._early = b""
        self.gone = asyncio.Event()

    async def request(self) -> HttpRequest:
        """The next request. Raises IncompleteReadError at the end of the connection."""
        early, self._early = self._early, b""
        head = early + await self._reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        pairs = (line.split(":", 1) for line in lines if ":" in line)
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
        return HttpRequest(method, target.partition("?")[0], headers, await self._body(headers))

    async def _body(self, headers: Mapping[str, str]) -> bytes:
        if "content-length" in headers:
            return await self._reader.readexactly(int(headers["content-length"]))
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            while size := int(await self._reader.readline(), 16):
                body += await self._reader.readexactly(size)
                await self._reader.readexactly(2)
            await self._reader.readline()
        return body

    async def watch(self) -> None:
        """Set `gone` when the client closes; runs beside an answer."""
        with suppress(ConnectionError):
            self._early = await self._reader.read(1)
        if not self._early:
            self.gone.set()

    async def sleep(self, seconds: float | None) -> None:
        """Wait, for ever with None. Raises ClientGone as soon as the client leaves."""
        try:
            await asyncio.wait_for(self.gone.wait(), seconds)
        except TimeoutError:
            return
        raise ClientGone

    async def send_json(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        data = json.dumps(body).encode()
        await self.send_head(status, {"content-type": "application/json", **headers, "content-length": str(len(data))})
        await self.send(data)

    async def send_head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Status", "request-id: req_fake", *(f"{k}: {v}" for k, v in headers.items())]
        await self.send("".join(f"{line}\r\n" for line in [*lines, ""]).encode())

    async def send(self, data: bytes) -> None:
        if self.gone.is_set():
            raise ClientGone
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError:
            raise ClientGone from None

    async def send_chunks(self, data: bytes, cut: int) -> None:
        """`data` as HTTP chunks of `cut` bytes, one if 0."""
        step = cut or len(data)
        for at in range(0, len(data), step):
            piece = data[at : at + step]
            await self.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            if cut:
                await asyncio.sleep(0)

    async def send_end(self) -> None:
        await self.send(b"0\r\n\r\n")

    def drop(self) -> None:
        """Cut the connection without a goodbye."""
        self._writer.transport.abort()

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()
