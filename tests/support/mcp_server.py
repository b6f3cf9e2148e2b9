"""A stdio MCP server that does what tests need, run as a program: `mcp_server.py MODE [LOG]`.

Modes: `tools` has a tool for each behaviour; `hang` never answers; `exit` ends at once; `names` and `schemas` list odd
tools; `deep` lists one that is nested too deeply; `number` lists the number 5; `once` starts one time only; `modern`
knows only the revision without a handshake; `rich` has resources and instructions as well, `prompts` has prompts,
`late` gets them with a call of `grow_prompts`, `stuck` never lists them.
LOG gets a line of JSON for each start, call and cancel.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

OBJECT = {"type": "object", "properties": {"q": {"type": "string"}}}
NAMES = ["a.b", "a/b", "a b", "x" * 90, "größe", "検索", "plain"]
ODD_BLOCKS = [
    {"type": "text", "text": "colour \x1b[31mred\x1b[0m and nul \x00 end"},
    {"type": "hologram", "depth": 3},
    {"type": "resource_link", "uri": "file:///notes.txt", "name": "notes"},
    {"type": "resource", "resource": {"uri": "memo://1", "text": "a memo"}},
    "loose text",
]
FORM = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
RESOURCES = [{"uri": "memo://1", "name": "first memo"}, {"name": "no address"}, 7, {"uri": "memo://2"}]
PROMPTS = [
    {
        "name": "review",
        "description": "Review a file",
        "arguments": [{"name": "path", "description": "which file", "required": True}, {"name": "focus"}],
    },
    {"name": "odd name", "arguments": [7, {"description": "no name"}]},
    {"description": "no name"},
    {"name": "mixed"},
    {"name": "nothing"},
    {"name": "refuse"},
    {"name": "wait"},
    {"name": "die"},
    {"name": "huge"},
    {"name": "secret"},
]
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
MIXED = [
    {"role": "user", "content": {"type": "text", "text": "look at \x1b[31mthis\x1b[0m"}},
    {"role": "user", "content": {"type": "image", "data": PICTURE, "mimeType": "image/png"}},
    {"role": "user", "content": {"type": "resource", "resource": {"uri": "memo://1", "text": "a memo"}}},
    {"role": "assistant", "content": {"type": "text", "text": "I see.\nIt is red."}},
    {"role": "user", "content": {"type": "hologram", "depth": 3}},
    "loose",
]
SCHEMAS = {
    "untyped": {"properties": {"q": {"type": "string"}}},
    "choice": {"oneOf": [{"type": "object", "properties": {"a": {}}, "required": ["a"]}, {"type": "object"}]},
    "missing": None,
    "string": {"type": "string"},
    "broken": {"type": "object", "properties": {"q": {"type": "strong", "required": True}}},
}


DEEP = {"fine": 50, "deep": 150, "deeper": 300, "deepest": 900}


def nested(depth: int) -> dict:
    schema: dict = {"type": "object"}
    for _ in range(depth // 2):
        schema = {"type": "object", "properties": {"q": schema}}
    return schema


class Server:
    def __init__(self, mode: str, log: str) -> None:
        self.mode = mode
        self.log = Path(log) if log else None
        self.extra: list[str] = []
        self.open: dict[str, object] = {}
        self.params: dict = {}
        self.prompts = list(PROMPTS) if mode in ("prompts", "stuck") else []

    def note(self, **what: object) -> None:
        if self.log:
            with self.log.open("a") as file:
                file.write(json.dumps(what) + "\n")

    def send(self, **message: object) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def answer(self, number: object, *blocks: object, **more: object) -> None:
        self.send(id=number, result={"content": list(blocks), **more})

    def say(self, number: object, text: str, **more: object) -> None:
        self.answer(number, {"type": "text", "text": text}, **more)

    def run(self) -> None:
        self.note(start=os.getpid(), env=dict(os.environ), cwd=str(Path.cwd()))
        if self.mode == "exit":
            print("cannot open the store of", os.environ.get("STORE_TOKEN"), file=sys.stderr, flush=True)
            sys.exit(3)
        if self.mode == "once" and self.log and len(self.log.read_text().splitlines()) > 1:
            sys.exit(4)
        for line in sys.stdin:
            if self.mode != "hang":
                self.handle(json.loads(line))

    def handle(self, message: dict) -> None:
        method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
        self.params = params
        match method:
            case "initialize" if self.mode == "modern":
                self.send(id=number, error={"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}})
            case "initialize":
                version = params["protocolVersion"]
                self.note(offered=params["capabilities"])
                offers = {"tools": {"listChanged": True}, **({"resources": {}} if self.mode == "rich" else {})}
                offers |= {"prompts": {"listChanged": True}} if self.mode in ("prompts", "late", "stuck") else {}
                about = {"name": "test", "version": "1"}
                more = {"instructions": "Echo before you die."} if self.mode == "rich" else {}
                result = {"protocolVersion": version, "capabilities": offers, "serverInfo": about, **more}
                self.send(id=number, result=result)
            case None if number == "question":
                self.say(self.open.pop("asking"), json.dumps(message.get("result") or message.get("error")))
            case "resources/list":
                self.send(id=number, result={"resources": RESOURCES})
            case "resources/read":
                self.note(read=params["uri"])
                contents = [{"uri": params["uri"], "text": f"what {params['uri']} says"}, {"uri": "memo://odd"}]
                self.send(id=number, result={"contents": contents})
            case "server/discover" if self.mode == "modern":
                offers = {"tools": {"listChanged": True}, "prompts": {"listChanged": True}}
                self.send(id=number, result=fresh(supportedVersions=["2026-07-28"], capabilities=offers))
            case "subscriptions/listen":
                self.open["listen"] = number
                self.note(listen=True)
                self.tell("notifications/subscriptions/acknowledged", notifications={"toolsListChanged": True})
            case "prompts/list":
                self.note(prompts=True)
                if self.mode != "stuck":
                    self.send(id=number, result=fresh(prompts=self.prompts))
            case "prompts/get":
                self.note(prompt=params["name"], values=params.get("arguments"))
                self.prompt(number, params["name"], params.get("arguments") or {})
            case "tools/list" if self.mode == "number":
                self.send(id=number, result=5)
            case "tools/list":
                self.note(list=True)
                self.send(id=number, result=fresh(tools=self.tools()))
            case "tools/call":
                self.note(call=params["name"], arguments=params.get("arguments"))
                self.call(number, params["name"], params.get("arguments") or {}, params.get("_meta") or {})
            case "notifications/cancelled":
                self.note(cancelled=params["requestId"])
            case _ if number is not None:
                self.send(id=number, error={"code": -32601, "message": "no such method"})

    def tell(self, method: str, **params: object) -> None:
        """A notification of the revision without a handshake, on the open subscription."""
        self.send(
            method=method,
            params={**params, "_meta": {"io.modelcontextprotocol/subscriptionId": self.open["listen"]}},
        )

    def tools(self) -> list[object]:
        match self.mode:
            case "deep":
                return [{"name": name, "inputSchema": nested(depth)} for name, depth in DEEP.items()]
            case "names":
                return [{"name": name, "inputSchema": OBJECT} for name in NAMES]
            case "schemas":
                return [{"name": name, "inputSchema": schema} for name, schema in SCHEMAS.items()] + [7, {}]
            case _:
                names = [*(name for name in dir(self) if name.startswith("do_")), *self.extra]
                return [
                    {"name": name.removeprefix("do_"), "description": "does it", "inputSchema": OBJECT}
                    for name in names
                ]

    def call(self, number: object, name: str, arguments: dict, meta: dict) -> None:
        do = getattr(self, f"do_{name}", None)
        if do is None:
            self.say(number, f"called {name}")
        else:
            do(number, arguments, meta)

    def prompt(self, number: object, name: str, values: dict) -> None:
        said = {"text": f"Review {values.get('path')}, above all {values.get('focus', 'everything')}.", "type": "text"}
        match name:
            case "mixed":
                self.send(id=number, result={"messages": MIXED})
            case "nothing":
                self.send(id=number, result={"messages": []})
            case "refuse":
                self.send(id=number, error={"code": -32602, "message": "not today"})
            case "wait":
                pass
            case "die":
                os._exit(5)
            case "huge":
                text = {"type": "text", "text": "x" * 300_000}
                self.send(id=number, result={"messages": [{"role": "user", "content": text}]})
            case "secret":
                text = {"type": "text", "text": f"the key is {os.environ.get('API_KEY')}"}
                self.send(id=number, result={"messages": [{"role": "user", "content": text}]})
            case _:
                self.send(id=number, result=fresh(messages=[{"role": "user", "content": said}]))

    # ------------------------------------------------------------ tools

    def do_grow_prompts(self, number: object, arguments: dict, _: dict) -> None:
        self.prompts.append({"name": str(arguments.get("q", "grown"))})
        if self.mode == "modern":
            self.tell("notifications/prompts/list_changed")
        else:
            self.send(method="notifications/prompts/list_changed")
        self.say(number, "grown")

    def do_echo(self, number: object, arguments: dict, _: dict) -> None:
        self.answer(number, {"type": "text", "text": json.dumps(arguments)}, resultType="complete")

    def do_die(self, number: object, arguments: dict, _: dict) -> None:
        print("giving up", file=sys.stderr, flush=True)
        if arguments.get("q") == "held":
            subprocess.Popen(["sleep", "60"])
        os._exit(5)

    def do_big(self, number: object, _: dict, __: dict) -> None:
        self.say(number, "BIG" + "b" * 5_000_000 + "END")

    def do_blocks(self, number: object, _: dict, __: dict) -> None:
        self.answer(number, *ODD_BLOCKS, isError=True)

    def do_refuse(self, number: object, _: dict, __: dict) -> None:
        self.send(id=number, error={"code": -32000, "message": f"not with {os.environ.get('API_KEY')}"})

    def do_ask(self, number: object, _: dict, __: dict) -> None:
        params = {"message": "Which colour?", "requestedSchema": FORM, "mode": "form"}
        if self.mode != "modern":
            self.open["asking"] = number
            self.send(id="question", method="elicitation/create", params=params)
        elif "inputResponses" in self.params:
            self.say(number, json.dumps([self.params["requestState"], self.params["inputResponses"]["a"]]))
        else:
            asked = {"a": {"method": "elicitation/create", "params": params}}
            self.send(
                id=number, result=fresh(inputRequests=asked, requestState="s1") | {"resultType": "input_required"}
            )

    def do_env(self, number: object, _: dict, __: dict) -> None:
        self.say(number, json.dumps(dict(os.environ)))

    def do_wait(self, number: object, _: dict, __: dict) -> None:
        pass

    def do_progress(self, number: object, arguments: dict, meta: dict) -> None:
        for step in range(4):
            params = {"progressToken": meta.get("progressToken"), "progress": step, "total": 4, "message": "working"}
            self.send(method="notifications/progress", params=params)
            time.sleep(0.15)
        self.say(number, "worked")

    def do_garbage(self, number: object, _: dict, __: dict) -> None:
        for line in (b"plain words", b"{broken", b"\xff\xfe\x00", b'{"jsonrpc": "2.0", "id": 99}', b"[]", b""):
            sys.stdout.buffer.write(line + b"\n")
        half = '{"jsonrpc": "2.0", "id": %s, "result": {"content": [{"type": "text", "text": "half \\ud83d"}]}}'
        sys.stdout.buffer.write((half % json.dumps(number)).encode() + b"\n")
        sys.stdout.buffer.flush()

    def do_odd(self, number: object, arguments: dict, _: dict) -> None:
        """Answers with the text it was given, `ID` in it being the number of the call."""
        sys.stdout.write(str(arguments["q"]).replace("ID", json.dumps(number)) + "\n")
        sys.stdout.flush()

    def do_grow(self, number: object, arguments: dict, _: dict) -> None:
        self.extra.append(str(arguments.get("q", "grown")))
        if self.mode == "modern":
            self.tell("notifications/tools/list_changed")
        else:
            self.send(method="notifications/tools/list_changed")
        self.say(number, "grown")

    def do_offspring(self, number: object, arguments: dict, _: dict) -> None:
        """Children that outlive the usual means: in the group, out of it, and orphaned out of it."""
        sleeper = f"sleep 60; : {arguments['q']}"
        subprocess.Popen(["sh", "-c", sleeper])
        subprocess.Popen(["sh", "-c", sleeper], start_new_session=True)
        subprocess.Popen(["sh", "-c", f"(setsid sh -c '{sleeper}' &)"])
        self.say(number, "born")

    def do_stubborn(self, number: object, _: dict, __: dict) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.say(number, "from now on only a kill ends me")
        while True:
            time.sleep(60)


def fresh(**result: object) -> dict[str, object]:
    return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}


if __name__ == "__main__":
    Server(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "").run()
