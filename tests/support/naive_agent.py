"""An agent that reads its input naively, in a way that its argument names. Standard library only."""

import json
import os
import sys

WAY = sys.argv[1]
LIMIT = 65536


def lines():
    """What this way of reading takes for lines."""
    if WAY == "a-read-is-a-message":
        while data := os.read(0, LIMIT):
            yield data
        return
    for line in sys.stdin.buffer:
        if WAY == "short-lines" and len(line) > LIMIT:
            sys.exit("line too long")
        if WAY == "plain-line-ends" and line.endswith(b"\r\n"):
            continue
        if WAY != "no-empty-lines" and not line.strip():
            continue
        yield line


def answer(message):
    match message.get("method"):
        case "initialize":
            return {"result": {"protocolVersion": 1, "agentCapabilities": {}}}
        case _:
            return {"error": {"code": -32601, "message": "no such method"}}


for line in lines():
    try:
        message = json.loads(line)
    except ValueError:
        if WAY == "no-empty-lines":
            raise
        continue
    request_id = message.get("id")
    if WAY == "no-pairs" and isinstance(request_id, str):
        request_id = request_id.encode("ascii", "replace").decode()
    if request_id is not None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request_id, **answer(message)}) + "\n")
        sys.stdout.flush()
