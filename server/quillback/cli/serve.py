"""`quillback acp` and `lsp` with their arguments parsed; the plain calls do not come through here, to be quicker."""

import os
from argparse import Namespace


def acp(options: Namespace) -> int:
    from quillback.serving import serve_acp

    return serve_acp(None, os.getppid())


def lsp(options: Namespace) -> int:
    from quillback.serving import serve_lsp

    return serve_lsp(None, os.getppid())
