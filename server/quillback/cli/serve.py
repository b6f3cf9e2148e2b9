"""`quillback acp` with its arguments parsed; the plain call does not come through here, to be quicker."""

import os
from argparse import Namespace


def acp(options: Namespace) -> int:
    from quillback.app import serve_acp

    return serve_acp(None, os.getppid())
