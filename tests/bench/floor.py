"""The floor of the benchmarks: the least an agent in Python can do. It reads lines, answers, and knows nothing."""

import json
import sys


def send(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def chunk(text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": text}}
    send({"method": "session/update", "params": {"sessionId": "s", "update": update}})


def prompt(request: dict[str, object], params: dict[str, object]) -> None:
    words = str(params["prompt"][0]["text"]).split()  # type: ignore[index]
    for n in range(int(words[1]) if words[0] == "deltas" else 1):
        chunk(f"word {n} ")
    if words[0] != "hang":
        send({"id": request["id"], "result": {"stopReason": "end_turn"}})


def main() -> None:
    open_prompt: object = None
    for line in sys.stdin:
        request = json.loads(line)
        match request["method"]:
            case "initialize":
                send({"id": request["id"], "result": {"protocolVersion": 1}})
            case "session/new":
                send({"id": request["id"], "result": {"sessionId": "s"}})
            case "session/prompt":
                open_prompt = request["id"]
                prompt(request, request["params"])
            case "session/cancel":
                send({"id": open_prompt, "result": {"stopReason": "cancelled"}})


main()
