"""A tiny ACP agent for tests of the client: the text of a prompt says what it does. Standard library only."""

import json
import os
import sys
import time
from pathlib import Path


def send(**members):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def say(session_id, text):
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}, "messageId": "m"}
    send(method="session/update", params={"sessionId": session_id, "update": update})


def ask(session_id):
    options = [{"optionId": f"id-{kind}", "name": kind, "kind": kind} for kind in ("allow_once", "reject_once")]
    params = {"sessionId": session_id, "toolCall": {"toolCallId": "c"}, "options": options}
    send(id="q1", method="session/request_permission", params=params)
    while "method" in (message := receive()):
        say(session_id, f"({message['method']})")
    return message


def prompt(request_id, session_id, text):
    stop = "end_turn"
    match text.split():
        case ["die", code]:
            print("the disk is full", file=sys.stderr, flush=True)
            os._exit(int(code))
        case ["mute"]:
            os.close(1)
            time.sleep(600)
        case ["noise"]:
            sys.stdout.write("not json\n")
            say(session_id, "after the noise")
        case ["big", size]:
            say(session_id, "x" * int(size))
        case ["ask"]:
            say(session_id, json.dumps(ask(session_id)))
        case ["unknown"]:
            send(id=1, method="fs/read_text_file", params={"sessionId": session_id, "path": "/x"})
            say(session_id, str(receive()["error"]["code"]))
        case ["wait"]:
            say(session_id, "waiting")
            message = receive()
            stop = "cancelled" if message.get("method") == "session/cancel" else "refusal"
        case ["fail"]:
            send(id=request_id, error={"code": -32000, "message": "log in first"})
            return
        case ["env"]:
            say(session_id, json.dumps([str(Path.cwd()), os.environ.get("COLOUR")]))
        case words:
            for word in words:
                say(session_id, word + " ")
            say("other", "not of this turn")
    send(id=request_id, result={"stopReason": stop})


def main():
    while True:
        message = receive_or_linger()
        params = message.get("params") or {}
        match message.get("method"):
            case "initialize":
                send(id=message["id"], result={"protocolVersion": 1, "agentInfo": params["clientInfo"]})
            case "session/new":
                send(id=message["id"], result={"sessionId": f"session of {params['cwd']}"})
            case "session/load":
                say(params["sessionId"], "replayed")
                send(id=message["id"], result=None)
            case "session/prompt":
                prompt(message["id"], params["sessionId"], params["prompt"][0]["text"])


def receive_or_linger():
    try:
        return receive()
    except SystemExit:
        if "ignore-eof" in sys.argv:
            time.sleep(600)
        raise


main()
