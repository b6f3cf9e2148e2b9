"""The client's side of a check: what it offers to agents, and how it answers what they ask."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from attrs import define, field

from quillback.conformance.wire import Wire
from quillback_protocol.jsonrpc import METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, JsonObject

Answer = Literal["allow", "reject", "cancel", "hold"]
PERMISSION = "session/request_permission"
NOTHING: JsonObject = {}
EVERYTHING: JsonObject = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "elicitation": {"form": {}, "url": {}},
    "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
}
_CANCELLED = {"outcome": {"outcome": "cancelled"}}


@define(eq=False)
class Host:
    """Answers requests of the agent. `policy` is for permission questions; those that are held are in `held`.

    Files are those of `cwd`; terminals run nothing and have ended at once.
    """

    wire: Wire
    cwd: Path
    policy: Answer
    held: list[JsonObject] = field(factory=list)

    def on_request(self, request: JsonObject) -> None:
        method, params = request["method"], request.get("params")
        params = params if isinstance(params, dict) else {}
        if method == PERMISSION:
            self._permission(request, params)
        elif method in _ANSWERS and _offered(method, self.wire.offered):
            try:
                self._send(request, {"result": _ANSWERS[method](self, params)})
            except (OSError, ValueError, KeyError, TypeError) as error:
                self._send(request, {"error": {"code": RESOURCE_NOT_FOUND, "message": type(error).__name__}})
        else:
            self._send(request, {"error": {"code": METHOD_NOT_FOUND, "message": f"{method} was not offered"}})

    def _permission(self, request: JsonObject, params: JsonObject) -> None:
        if self.policy == "hold":
            self.held.append(request)
            return
        options = params.get("options")
        options = [o for o in options if isinstance(o, dict)] if isinstance(options, list) else []
        wanted = [o for o in options if str(o.get("kind")).startswith(self.policy)]
        wanted.sort(key=lambda option: option.get("kind") != f"{self.policy}_once")
        chosen = wanted[0].get("optionId") if wanted and self.policy != "cancel" else None
        outcome = {"outcome": {"outcome": "selected", "optionId": chosen}} if chosen is not None else _CANCELLED
        self._send(request, {"result": outcome})

    def release(self, *, answer: bool) -> None:
        """Forget the held questions, answered `cancelled` as a client does after a cancel."""
        held, self.held = self.held, []
        for request in held if answer else ():
            self._send(request, {"result": _CANCELLED})

    def _send(self, request: JsonObject, answer: JsonObject) -> None:
        self.wire.send({"jsonrpc": "2.0", "id": request["id"], **answer})

    def _inside(self, path: Any) -> Path:  # noqa: ANN401 - as the agent sent it
        found = Path(path).resolve()
        if not found.is_relative_to(self.cwd.resolve()):
            raise ValueError(path)
        return found

    def _read(self, params: JsonObject) -> JsonObject:
        lines = self._inside(params["path"]).read_text(encoding="utf-8").splitlines(keepends=True)
        start = max(0, (params.get("line") or 1) - 1)
        limit = params.get("limit")
        return {"content": "".join(lines[start : None if limit is None else start + limit])}

    def _write(self, params: JsonObject) -> JsonObject:
        path = self._inside(params["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(params["content"], encoding="utf-8")
        return {}

    def _create(self, params: JsonObject) -> JsonObject:
        return {"terminalId": f"terminal-{len(self.wire.log)}"}

    def _output(self, params: JsonObject) -> JsonObject:
        return {"output": "", "truncated": False, "exitStatus": {"exitCode": 0}}

    def _exit(self, params: JsonObject) -> JsonObject:
        return {"exitCode": 0}

    def _done(self, params: JsonObject) -> JsonObject:
        return {}

    def _elicit(self, params: JsonObject) -> JsonObject:
        return {"action": "cancel"}


_ANSWERS: dict[str, Callable[[Host, JsonObject], JsonObject]] = {
    "fs/read_text_file": Host._read,
    "fs/write_text_file": Host._write,
    "terminal/create": Host._create,
    "terminal/output": Host._output,
    "terminal/wait_for_exit": Host._exit,
    "terminal/kill": Host._done,
    "terminal/release": Host._done,
    "elicitation/create": Host._elicit,
}


def _offered(method: str, capabilities: JsonObject) -> bool:
    return offered(method, capabilities)


def offered(method: str, capabilities: JsonObject) -> bool:
    """Whether a client of these capabilities serves the method. Permission questions are always served."""
    files: JsonObject = capabilities.get("fs", {})
    match method.split("/"):
        case ["session", "request_permission"]:
            return True
        case ["fs", "read_text_file"]:
            return bool(files.get("readTextFile"))
        case ["fs", "write_text_file"]:
            return bool(files.get("writeTextFile"))
        case ["terminal", _]:
            return bool(capabilities.get("terminal"))
        case ["elicitation", _]:
            return bool(capabilities.get("elicitation"))
    return False
