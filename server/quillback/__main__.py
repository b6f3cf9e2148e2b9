"""Entry point. A server answers `initialize` first and imports the rest of the program afterwards."""

import os
import signal
import sys


def main() -> int:
    """Returns the exit code: 0 done, 1 failed, 2 usage, 3 cancelled, 4 no credentials."""
    arguments = sys.argv[1:]
    if arguments == ["acp"] or (not arguments and not os.isatty(0)):
        return _serve()
    from quillback.cli.main import run

    return run(arguments)


def _serve() -> int:
    parent = os.getppid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _leave)  # until the server takes them over: nothing has begun that could be lost
    from quillback.edge.handshake import first_exchange

    handshake = first_exchange(0, 1, parent)
    if handshake.eof and not handshake.rest.strip():
        return 0
    from quillback.app import serve_acp

    return serve_acp(handshake, parent)


def _leave(*_: object) -> None:
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
