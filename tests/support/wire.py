"""A transport in memory for a Peer: keeps what was written, and refuses what has no JSON form as a real one does."""

from quillback_protocol.framing import LineFramer
from quillback_protocol.jsonrpc import JsonObject


class Wire:
    buffered = 0

    def __init__(self) -> None:
        self.sent: list[JsonObject] = []

    def write(self, obj: JsonObject) -> None:
        LineFramer.encode(obj)
        self.sent.append(obj)

    async def drain(self) -> None:
        pass

    def answers(self, request_id: object) -> list[JsonObject]:
        """The answers written so far for an id of the other side's."""
        return [obj for obj in self.sent if "method" not in obj and obj["id"] == request_id]

    def answer(self, request_id: object) -> object:
        """The result, or the error's code, of the only answer for an id."""
        [answer] = self.answers(request_id)
        return answer.get("result", answer.get("error", {}).get("code"))
