"""An agent for tests that knows nothing: for each line it gets it says the next lines of its part.

Its part is a JSON file: a list with, for each line, what to do: strings are printed, numbers are seconds of silence,
{"exit": CODE}, {"kill": SIGNAL}, {"stderr": TEXT}, {"echo": true} prints the line itself, {"bytes": HEX} writes these.
"""

import json
import os
import sys
import time
from pathlib import Path


def act(step, line):
    match step:
        case str():
            os.write(1, step.encode() + b"\n")
        case int() | float():
            time.sleep(step)
        case {"exit": code}:
            sys.exit(code)
        case {"kill": number}:
            os.kill(os.getpid(), number)
        case {"stderr": text}:
            os.write(2, text.encode())
        case {"echo": _}:
            os.write(1, line)
        case {"bytes": digits}:
            os.write(1, bytes.fromhex(digits))


part = json.loads(Path(sys.argv[1]).read_text())
for line in sys.stdin.buffer:
    for step in part.pop(0) if part else []:
        act(step, line)
