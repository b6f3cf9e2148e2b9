"""Serves one LSP client over stdio. The connection is that of the ACP front with other frames: bad input is answered,
no handler holds up the reader, and a client that does not read costs bounded memory."""

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from quillback.edge.editor import AcpEditor
from quillback.edge.lsp.answers import Answers
from quillback.edge.lsp.editor import LspEditor
from quillback.edge.lsp.front import Front, Stage
from quillback.edge.lsp.table import CANCELS, EXECUTE, NOTIFICATIONS, REQUESTS
from quillback.edge.lsp.turns import Turns
from quillback.edge.lsp.wire import NOT_INITIALIZED, from_lsp, to_lsp
from quillback.edge.serve import AcpServer
from quillback.session.registry import Sessions
from quillback_protocol.framing import HeaderFramer
from quillback_protocol.jsonrpc import INVALID_REQUEST, JsonObject, RpcError

EXIT = "exit"


class LspServer(AcpServer):
    """`answers` is the directory for texts to be shown. `exit_code` is 1 after an exit without shutdown."""

    framing = HeaderFramer
    nothing = None

    def __init__(
        self,
        stdin: int,
        stdout: int,
        *,
        sessions: Callable[[AcpEditor], Sessions],
        models: Callable[[], Iterable[tuple[str, str]]],
        problems: tuple[str, ...],
        parent: int,
        frontend_seconds: float | None = None,
        answers: Path,
    ) -> None:
        self._answers = Answers(answers)
        super().__init__(
            stdin,
            stdout,
            sessions=sessions,
            models=models,
            problems=problems,
            parent=parent,
            frontend_seconds=frontend_seconds,
        )
        editor = self._connection.editor
        assert isinstance(editor, LspEditor)
        self._front = Front(self._connection, editor, Turns(self._connection, editor))

    # ------------------------------------------------------------ what is served

    def _served(self) -> tuple[Collection[str], Collection[str], Collection[str]]:
        requests, notifications, cancels = super()._served()
        return {*requests, *REQUESTS}, {*notifications, *NOTIFICATIONS, EXIT}, {*cancels, *CANCELS}

    def _is_acp(self, method: str) -> bool:
        return method not in REQUESTS

    def _editor(self, frontend_seconds: float | None) -> AcpEditor:
        return LspEditor(self._peer, self._answers, frontend_seconds)

    def _encode(self, obj: JsonObject) -> bytes:
        return HeaderFramer.encode(to_lsp(obj))

    def _take(self, frames: Iterable[object]) -> None:
        super()._take(map(from_lsp, frames))

    def _refusal(self, method: str) -> RpcError | None:
        if method == "initialize":
            self._gate.opened = True
        elif not self._gate.opened:
            return RpcError(NOT_INITIALIZED, "initialize must be the first request")
        if self._front.stage is Stage.SHUT_DOWN:
            return RpcError(INVALID_REQUEST, "the server was shut down")
        return super()._refusal(method)

    async def _answer(self, name: str, params: object) -> object:
        if name != "initialize" and self._front.stage is Stage.NEW:
            raise RpcError(NOT_INITIALIZED, "initialize has failed")
        if name not in REQUESTS:
            return await super()._answer(name, params)
        return await REQUESTS[name](self._front, params)

    async def _notification(self, name: str, params: object) -> None:
        if name == EXIT:
            self.exit_code = 0 if self._front.stage is Stage.SHUT_DOWN else 1
            self._stop.set()
        elif self._front.stage is Stage.INITIALIZED:
            if name in NOTIFICATIONS:
                await NOTIFICATIONS[name](self._front, params)
            else:
                await super()._notification(name, params)

    def _cancelled(self, name: str, params: object) -> None:
        if name in CANCELS:
            CANCELS[name](self._front, params)
        else:
            super()._cancelled(name, params)

    def _lasts(self, method: str) -> bool:
        return method == EXECUTE or super()._lasts(method)

    # ------------------------------------------------------------ end

    async def wind_up(self, until: float) -> None:
        self._front.turns.cancel()
        await super().wind_up(until)
        self._front.turns.drop()
