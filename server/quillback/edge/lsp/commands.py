"""workspace/executeCommand: begins a turn and is answered at once, since clients wait for it; for those that know ACP
it is a session/prompt."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen
from lsprotocol import types
from pygls.workspace import PositionCodec

from quillback.core.ports import EditorError, Mode, StoreError
from quillback.core.rules import MODES
from quillback.core.text import one_line
from quillback.core.undo import undo_text
from quillback.edge.acp import prompt as acp_prompt
from quillback.edge.lsp.documents import Document, real_path
from quillback.edge.lsp.front import Front
from quillback.edge.lsp.prompts import (
    ACTIONS,
    PREFIX,
    READY,
    SEVERITIES,
    Action,
    Passage,
    Problem,
    prompt_text,
    title_of,
)
from quillback.edge.lsp.turns import Job
from quillback.edge.lsp.wire import read
from quillback.session.undo import UndoBusyError
from quillback_protocol import acp
from quillback_protocol.jsonrpc import INTERNAL_ERROR, REQUEST_CANCELLED, InvalidParams, RpcError

Json = Mapping[str, Any]
READ_LIMIT = 4 * 1024 * 1024


@frozen
class Asked:
    """A command with its arguments read. `words` are the user's own, `path` is real and may be empty."""

    action: Action
    words: str
    path: str
    passage: Passage | None
    problems: tuple[Problem, ...]

    def job(self) -> Job:
        title = title_of(self.action, self.passage, self.problems, self.words)
        return Job(title, prompt_text(self.action, self.passage, self.problems, self.words), self.action.reads)


async def handle(front: Front, params: object) -> object:
    try:
        return await _handle(front, params)
    finally:
        front.withdrawn.discard(id(params))


async def _handle(front: Front, params: object) -> object:
    request = read(types.ExecuteCommandParams, params)
    name = request.command.removeprefix(PREFIX)
    arguments = _arguments(request.arguments or ())
    if name in OTHERS:
        await OTHERS[name](front, arguments)
        return None
    if name not in ACTIONS:
        raise InvalidParams(f"there is no command {request.command[:100]!r}")
    asked = await _asked(front, ACTIONS[name], arguments)
    if front.editor.knows_acp:
        return await _prompt(front, params, asked, arguments)
    if asked.action.name != "ask" or asked.words:
        front.turns.begin(await front.turns.session(front.roots(asked.path)), asked.job())
    elif front.client.asks:
        front.turns.aside(_choose_and_ask(front, asked))
    else:
        raise _no_words()
    return None


def withdraw(front: Front, params: object) -> None:
    """The cancelling of a command that is a prompt."""
    request = front.prompts.get(id(params))
    if request is None:
        front.withdrawn.add(id(params))  # it is on its way to become one
    else:
        acp_prompt.withdraw(front.connection, request)


async def _prompt(front: Front, params: object, asked: Asked, arguments: Json) -> object:
    """What session/prompt answers, with the id of the session."""
    if asked.action.name == "ask" and not asked.words:
        raise _no_words()
    given = arguments.get("sessionId")
    roots = front.roots(asked.path)
    session_id = given if isinstance(given, str) else (await front.turns.session(roots)).record.id
    request = acp.PromptRequest(session_id, (acp.TextContent(asked.job().prompt),))
    if id(params) in front.withdrawn:
        raise RpcError(REQUEST_CANCELLED, "the request was cancelled")
    front.prompts[id(params)] = request
    try:
        return await acp_prompt.handle(front.connection, request)
    finally:
        del front.prompts[id(params)]


async def _choose_and_ask(front: Front, asked: Asked) -> None:
    try:
        words = await front.client.choose("Quillback: what would you like to know?", READY)
    except EditorError:
        raise _no_words() from None
    if words:
        asked = Asked(asked.action, words, asked.path, asked.passage, asked.problems)
        front.turns.begin(await front.turns.session(front.roots(asked.path)), asked.job())


def _no_words() -> RpcError:
    return InvalidParams('what is the question? Give it as the argument: quillback.ask {"prompt": "..."}')


# ---------------------------------------------------------------- arguments


def _arguments(given: object) -> Json:
    """The arguments as one object; bare texts are the words of a prompt."""
    items = given if isinstance(given, list | tuple) else ()
    objects = [item for item in items if isinstance(item, dict)]
    words = " ".join(item for item in items if isinstance(item, str))
    return {**({"prompt": words} if words else {}), **(objects[0] if objects else {})}


async def _asked(front: Front, action: Action, arguments: Json) -> Asked:
    words = arguments.get("prompt") or ""
    if not isinstance(words, str):
        raise InvalidParams("prompt must be a string")
    uri = arguments.get("uri") or ""
    if not isinstance(uri, str):
        raise InvalidParams("uri must be a string")
    raw = arguments.get("diagnostics") or ()
    diagnostics = read(list[types.Diagnostic], list(raw) if isinstance(raw, list | tuple) else raw)
    if not uri:
        if action.name not in ("ask", "do") and not words:
            raise InvalidParams(f"{action.command} needs the uri of a file")
        return Asked(action, words, "", None, ())
    path = real_path(uri)
    document = front.documents.get(uri) or await _from_disk(uri, path, front.documents.codec)
    span = read(types.Range, arguments["range"]) if arguments.get("range") is not None else None
    root = front.roots(path)[0]
    label = str(Path(path).relative_to(root)) if path and Path(path).is_relative_to(root) else path or uri
    problems = tuple(map(_problem, diagnostics))
    return Asked(action, words, path, _passage(document, path or uri, label, span), problems)


async def _from_disk(uri: str, path: str, codec: PositionCodec) -> Document:
    """A file that the editor has not opened."""
    try:
        text = await asyncio.to_thread(_text, path)
    except OSError as error:
        raise InvalidParams(f"{uri} cannot be read: {error.strerror or error}") from None
    return Document(types.TextDocumentItem(uri, "", 0, text), codec)


def _text(path: str) -> str:
    file = Path(path)
    if not path or not file.is_file():
        raise OSError("it is no file, and not open in the editor")
    if file.stat().st_size > READ_LIMIT:
        raise OSError("it is too large")
    return file.read_text("utf-8", "replace")


def _passage(document: Document, path: str, label: str, span: types.Range | None) -> Passage:
    language = document.language_id or ""
    if span is None:
        return Passage(path, label, language, 1, max(1, len(document.lines)), document.text, whole=True)
    first, last = span.start, span.end
    if first == last:  # a cursor stands for its line
        first, last = types.Position(first.line, 0), types.Position(first.line + 1, 0)
    text = document.text_in_client_range(types.Range(first, last))
    end = last.line if last.character == 0 and last.line > first.line else last.line + 1
    return Passage(path, label, language, first.line + 1, end, text)


def _problem(diagnostic: types.Diagnostic) -> Problem:
    source = " ".join(str(part) for part in (diagnostic.source, diagnostic.code) if part)
    severity = SEVERITIES.get(int(diagnostic.severity or 1), "problem")
    return Problem(diagnostic.range.start.line + 1, severity, one_line(diagnostic.message, 1_000), source)


# ---------------------------------------------------------------- commands that are no prompts


async def _answer(front: Front, arguments: Json) -> None:
    if not front.questions.answer(str(arguments.get("question")), str(arguments.get("answer"))):
        raise InvalidParams("this question is not open any more")


async def _new(front: Front, arguments: Json) -> None:
    front.turns.forget(front.roots(real_path(str(arguments.get("uri") or ""))))
    front.client.message("Quillback: the next action begins a new conversation.")


async def _cancel(front: Front, arguments: Json) -> None:
    front.turns.cancel()


async def _undo(front: Front, arguments: Json) -> None:
    session = front.turns.current(front.roots(real_path(str(arguments.get("uri") or ""))))
    if session is None:
        raise InvalidParams("nothing was done in this conversation yet")
    try:
        report = await session.undo()
    except (UndoBusyError, StoreError) as error:
        raise RpcError(INTERNAL_ERROR, str(error)) from None
    front.client.message(f"Quillback: {undo_text(report, session.record.cwd)}")


async def _mode(front: Front, arguments: Json) -> None:
    """Of the conversation; the user chooses where the argument does not say."""
    session = await front.turns.session(front.roots(real_path(str(arguments.get("uri") or ""))))
    wanted = arguments.get("mode") or arguments.get("prompt")
    if wanted:
        if wanted not in set(Mode):
            raise InvalidParams(f"mode must be one of {', '.join(Mode)}")
        session.set_mode(Mode(wanted))
        front.client.message(f"Quillback: the mode is {MODES[session.record.mode][0]} now.")
        return
    titles = {f"{name}: {text}": mode for mode, (name, text) in MODES.items()}

    async def choose() -> None:
        try:
            picked = await front.client.choose("Quillback: how much may it do without asking?", tuple(titles))
        except EditorError:
            raise InvalidParams('which mode? Give it as the argument: quillback.mode {"mode": "auto"}') from None
        if picked is not None:
            session.set_mode(titles[picked])

    front.turns.aside(choose())


OTHERS: Mapping[str, Callable[[Front, Json], Awaitable[None]]] = {
    "answer": _answer,
    "new": _new,
    "cancel": _cancel,
    "undo": _undo,
    "mode": _mode,
}
COMMANDS = tuple(PREFIX + name for name in (*ACTIONS, *OTHERS))
