"""Serves an editor over stdio: takes the pipes, joins the app with its front, and ends in time whatever hangs."""

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TextIO, cast

from quillback.app import App, mask_of
from quillback.config import Settings, load_settings
from quillback.core.mask import Mask
from quillback.core.ports import StoreError
from quillback.edge import fds
from quillback.edge.guard import keep_private
from quillback.edge.handshake import Handshake, refuse
from quillback.edge.serve import AcpServer
from quillback.edge.stderr import Stderr
from quillback.edge.stdio import claim_stdio
from quillback.problems import warnings_of
from quillback.session.registry import Sessions

NOISY = (
    *("httpx2", "httpcore2", "anthropic", "mcp", "client", "asyncio", "aiosqlite"),
    *("keyring", "jeepney", "secretstorage"),
)
"""Loggers of libraries that tell too much below warnings: of requests, and of what the keyring holds."""
END_SECONDS = 4.8
"""From the end of the input to the end of the process, whatever hangs; five are promised."""
CLOSE_SECONDS = 4.3
"""Until everything is closed where that is possible; the rest is for the end of the interpreter."""
STORE_SECONDS = 0.8
"""What of it is kept for the store."""
SAVE_SECONDS = 1.0
"""How long an answer to a prompt waits for another process to let go of the database, when the end has begun."""
LOG_SECONDS = 0.3
NO_START = "Quillback could not start because of an internal error; its standard error says more"
log = logging.getLogger(__name__)


def serve_acp(handshake: Handshake | None, parent: int) -> int:
    """Serve an ACP client over stdio; returns the exit code."""
    return _serve_stdio(handshake, parent, lsp=False)


def serve_lsp(handshake: Handshake | None, parent: int) -> int:
    """Serve an LSP client over stdio; returns the exit code."""
    return _serve_stdio(handshake, parent, lsp=True)


def _serve_stdio(handshake: Handshake | None, parent: int, *, lsp: bool) -> int:
    if wrong := fds.unusable():
        with suppress(OSError):
            os.write(2, f"quillback: {wrong}\n".encode())
        return 1
    keep_private()
    stdin, stdout = claim_stdio()
    errors = Stderr()
    sys.stdout = sys.stderr = cast("TextIO", errors)
    handshake = handshake or Handshake(b"")
    try:
        settings = load_settings(os.environ)
        mask = mask_of(settings)
        configure_logging(settings, mask)
        front = _lsp_front(settings) if lsp else AcpServer
        asyncio.run(_serve(settings, mask, front, handshake, parent, stdin, stdout, errors))
    except Exception:
        log.exception("Quillback has to stop")
        if not lsp:
            refuse(stdin, stdout, handshake.rest, NO_START)
        return 1
    finally:
        errors.flushed(LOG_SECONDS)
    return 0


def _lsp_front(settings: Settings) -> Callable[..., AcpServer]:
    """Imported for editors that need it only: it takes a while."""
    from quillback.edge.lsp.server import LspServer

    return partial(LspServer, answers=settings.home / "answers")


async def _serve(
    settings: Settings,
    mask: Mask,
    front: Callable[..., AcpServer],
    handshake: Handshake,
    parent: int,
    stdin: int,
    stdout: int,
    errors: Stderr,
) -> None:
    app = App(settings, mask)
    server = front(
        stdin,
        stdout,
        sessions=lambda editor: Sessions(app.services, app.defaults, editor),
        models=app.models.choices,
        problems=app.problems,
        parent=parent,
        frontend_seconds=settings.frontend_timeout,
    )
    try:
        await server.serve(handshake)
    finally:
        clock = asyncio.get_running_loop().time
        until = clock() + CLOSE_SECONDS
        _leave_after(END_SECONDS, errors)
        app.store.hurry(SAVE_SECONDS)
        await server.wind_up(until - STORE_SECONDS)
        try:
            await app.close(max(STORE_SECONDS, until - clock()))
        except StoreError as error:
            log.error("at the end: %s", error)
    # all is closed: what is left, the wait for threads that still import and the end of every module, is only time
    errors.flushed(LOG_SECONDS)
    os._exit(server.exit_code)


def _leave_after(seconds: float, errors: Stderr) -> None:
    """End the process in any case: a thread that hangs in a system call keeps the interpreter from ending."""

    def leave() -> None:
        log.error("something hangs: ending without it")
        errors.flushed(0.1)
        os._exit(0)

    timer = threading.Timer(seconds, leave)
    timer.daemon = True
    timer.start()


class MaskingFormatter(logging.Formatter):
    """Lines of the log without secrets."""

    def __init__(self, mask: Mask, form: str) -> None:
        super().__init__(form)
        self._mask = mask

    def format(self, record: logging.LogRecord) -> str:
        return self._mask.hide(super().format(record))


def configure_logging(settings: Settings, mask: Mask) -> None:
    """Everything but the protocol goes to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(MaskingFormatter(mask, "%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=settings.log_level.value.upper())
    for noisy in NOISY:
        logging.getLogger(noisy).setLevel(logging.WARNING)
    for problem in (*settings.problems, *warnings_of(settings)):
        log.warning("%s", problem)
