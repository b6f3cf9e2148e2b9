"""Entry point. A server answers `initialize` first and imports the rest of the program afterwards."""

import os
import signal
import sys
from contextlib import suppress

BROKEN = "Quillback cannot start, its installation is broken; its standard error says more"


def main() -> int:
    """Returns the exit code, or ends the process with it.

    0 done, 1 failed, 2 usage, 3 cancelled, 4 no credentials.
    """
    code = _run(sys.argv[1:])
    _leave_threads(code)
    return code


def _run(arguments: list[str]) -> int:
    if arguments in (["acp"], ["lsp"]) or (not arguments and not os.isatty(0)):
        return _serve(arguments[0] if arguments else "")
    from quillback.cli.main import run

    return run(arguments)


def _serve(front: str) -> int:
    """`front` is acp or lsp; empty for what the first bytes tell."""
    from quillback.edge import fds

    parent = os.getppid()
    if wrong := fds.unusable():
        return _failed(wrong)
    if sys.stderr and os.isatty(0):
        print("Waiting for an editor on standard input; Ctrl-D ends.", file=sys.stderr, flush=True)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _leave)  # until the server takes them over: nothing has begun that could be lost
    from quillback.edge.handshake import Handshake, first_exchange, is_lsp, refuse

    handshake = Handshake(b"") if front == "lsp" else first_exchange(0, 1, parent)
    if handshake.eof and not handshake.rest.strip():
        return 0
    lsp = front == "lsp" or (not front and is_lsp(handshake.rest))
    try:
        from quillback.serving import serve_acp, serve_lsp
    except Exception as error:
        _failed(f"cannot start, its installation is broken: {type(error).__name__}: {error}")
        if not lsp:
            refuse(0, 1, handshake.rest, BROKEN)
        return 1
    return serve_lsp(handshake, parent) if lsp else serve_acp(handshake, parent)


def _failed(why: str) -> int:
    if sys.stderr:
        print(f"quillback: {why}", file=sys.stderr, flush=True)
    return 1


def _leave_threads(code: int) -> None:
    """End without taking the interpreter apart where threads still run: one that imports a library aborts it."""
    import threading

    if any(thread.daemon for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)


def _leave(*_: object) -> None:
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
