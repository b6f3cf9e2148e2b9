"""Records the sessions of this directory anew: real ones, with scripts as models, as `sessions export` writes them.

    .venv/bin/python tests/replays/record.py [NAME ...]

Do this when the loop is meant to do something else from now on, and look at what has changed in the files.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from attrs import field, frozen

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from quillback_protocol.client import choose  # noqa: E402
from quillback_protocol.outgoing import ConnectionClosedError, RemoteError  # noqa: E402
from support.agent import Agent, agent, environment, scripted  # noqa: E402

WORK = "/project"
"""What the workspace is called in the files."""
Part = Callable[[Agent, str], Awaitable[None]]


@frozen
class Scene:
    """`parts` are played one after the other, each by a process of its own that opens the session again."""

    script: str
    parts: tuple[Part, ...]
    files: dict[str, str] = field(factory=dict)
    config: str = ""
    hooks: dict[str, object] = field(factory=dict)


def prompts(*texts: str) -> Part:
    async def play(a: Agent, session: str) -> None:
        for text in texts:
            await a.client.prompt(session, text)

    return play


# ---------------------------------------------------------------- scenes

TOOLS = """\
think: I will look first.
text: Let me look.
call: read_file {"path": "greeting.py"}
call: grep {"pattern": "Hello"}
call: list_dir {}
---
text: I will mend it.
call: edit_file {"path": "greeting.py", "old_text": "Hello", "new_text": "Hello!"}
call: todo_write {"items": [{"content": "mend it", "status": "completed"}, {"content": "test it", "status": "pending"}]}
usage: {"input_tokens": 900, "output_tokens": 30}
---
call: shell {"command": "cat greeting.py; exit 3"}
---
text: Done.
---
call: no_such_tool {"x": 1}
call: read_file {"pth": "a"}
call-raw: read_file {"path":
call: read_file {"path": "missing.py"}
---
text: None of that worked.
"""

PERMISSION = """\
call: write_file {"path": "a.txt", "content": "a"}
---
call: write_file {"path": "b.txt", "content": "b"}
call: shell {"command": "echo three > c.txt"}
---
text: b.txt is there, a.txt is not.
"""


async def permission(a: Agent, session: str) -> None:
    kinds = iter(["reject_once", "allow_once", "allow_always"])

    async def answer(params: dict[str, object]) -> object:
        return await choose(next(kinds))(params)

    a.client.on_request("session/request_permission", answer)
    await a.client.prompt(session, "Write the files.")


CANCEL = """\
text: I will run two commands.
call: read_file {"path": "a.txt"}
call: shell {"command": "sleep 60"}
---
pace: 20ms
text*200: and so on\\s
---
text: Yes.
"""


async def cancel(a: Agent, session: str) -> None:
    turn = await a.client.start_prompt(session, "Wait for it.")
    await turn.until(lambda u: u.get("status") == "completed")
    started = [u["toolCallId"] for u in turn.updates if u.get("kind") == "execute"]
    await turn.until(lambda u: u.get("status") == "in_progress" and u["toolCallId"] == started[0])
    a.client.cancel(session)
    await turn.finished()
    turn = await a.client.start_prompt(session, "Now tell me a long story.")
    await turn.until(lambda u: u["sessionUpdate"] == "agent_message_chunk")
    a.client.cancel(session)
    await turn.finished()
    await a.client.prompt(session, "Still there?")


ERROR = """\
text: this is cut
drop
---
text: this came at the second try.
---
text: half of an
error: 400 broken
---
text: All is well again.
"""


async def error(a: Agent, session: str) -> None:
    await a.client.prompt(session, "First")
    try:
        await a.client.prompt(session, "Second")
    except RemoteError:
        await a.client.prompt(session, "Third")


COMPACTION = """\
text: First one.
call: read_file {"path": "a.txt"}
usage: {"input_tokens": 100, "output_tokens": 10}
---
text: Then the other.
call: read_file {"path": "b.txt"}
usage: {"input_tokens": 190000, "output_tokens": 10}
---
text: They differ in one line.
usage: {"input_tokens": 5000, "output_tokens": 10}
---
text: The third line.
---
text: Nothing.
"""

CONTINUATION = """\
call: read_file {"path": "a.txt"}
---
call: edit_file {"path": "a.txt", "old_text": "one", "new_text": "two"}
---
text: It says two now.
---
text: I looked: it does.
---
text: Nothing left.
---
text: Really nothing.
---
text: Still nothing.
---
text: No.
"""

STEER = """\
call: write_file {"path": "a.txt", "content": "abc"}
---
expect: capitals
call: write_file {"path": "a.txt", "content": "ABC"}
---
text: Written.
---
text: ABC.
---
text: You took it back.
"""


async def steer(a: Agent, session: str) -> None:
    gate = asyncio.Event()

    async def answer(params: dict[str, object]) -> object:
        await gate.wait()
        return await choose("allow_once")(params)

    a.client.on_request("session/request_permission", answer)
    first = await a.client.start_prompt(session, "Write a file.")
    await first.until(lambda u: u["sessionUpdate"] == "usage_update")
    words = [{"type": "text", "text": "In capitals, please."}]
    await a.client.request("_quillback/session/steer", {"sessionId": session, "prompt": words})
    second = await a.client.start_prompt(session, "And what is in it?")
    gate.set()
    await first.finished()
    await second.finished()
    await a.client.request("_quillback/session/undo", {"sessionId": session})
    await a.client.prompt(session, "What happened?")


LIMITS = """\
call: read_file {"path": "a.txt"}
---
call: read_file {"path": "b.txt"}
---
call: read_file {"path": "a.txt"}
---
call: read_file {"path": "b.txt"}
---
stop: end_turn
---
stop: end_turn
---
stop: end_turn
---
stop: end_turn
---
text: It is too
call-raw: write_file {"path": "a.txt", "content": "lo
stop: max_tokens
---
text: That was too much
stop: max_tokens
"""

REFUSAL = """\
text: Of course.
---
text: I would rather
stop: refusal
---
text: Yes.
"""

HOOKS = """\
call: read_file {"path": "a.txt"}
---
text: Done, I think.
---
text: Now it is done.
"""
STOP_ONCE = "if [ -e asked ]; then exit 0; fi; touch asked; echo 'look again' >&2; exit 2"

KILLED = """\
text: It will take a while.
call: read_file {"path": "a.txt"}
call: shell {"command": "sleep 60"}
---
text: The command was cut off.
"""


async def killed(a: Agent, session: str) -> None:
    turn = await a.client.start_prompt(session, "Run it.")
    await turn.until(lambda u: u.get("status") == "completed")
    started = [u["toolCallId"] for u in turn.updates if u.get("kind") == "execute"]
    await turn.until(lambda u: u.get("status") == "in_progress" and u["toolCallId"] == started[0])
    a.kill()
    with suppress(ConnectionClosedError):
        await turn.finished()


def hook(command: str) -> list[object]:
    return [{"hooks": [{"type": "command", "command": command}]}]


AB = {"a.txt": "one\n", "b.txt": "b\n"}
AUTO = 'mode = "auto"\n'
SCENES = {
    "tools": Scene(
        TOOLS,
        (prompts("Please look at the greeting and mend it.", "Thanks. And now try nonsense."),),
        {"greeting.py": 'print("Hello")\n'},
    ),
    "permission": Scene(PERMISSION, (permission,)),
    "cancel": Scene(CANCEL, (cancel,), AB, AUTO),
    "error": Scene(ERROR, (error,)),
    "compaction": Scene(
        COMPACTION,
        (
            prompts("Read both files and compare them.", "/compact the differences", "So what is different?"),
            prompts("/clear", "What do you know?"),
        ),
        AB,
    ),
    "continuation": Scene(CONTINUATION, (prompts("/goal The file a.txt says two", "/help", "/grind"),), AB),
    "steer": Scene(STEER, (steer,)),
    "limits": Scene(
        LIMITS, (prompts("Look again and again.", "Say nothing.", "Say it all."),), AB, "max_steps = 4\n" + AUTO
    ),
    "repetition": Scene('loop\n\ncall: read_file {"path": "a.txt"}\n', (prompts("Look at it."),), AB),
    "refusal": Scene(REFUSAL, (prompts("Something that is all right.", "Something that is not.", "And now?"),)),
    "hooks": Scene(
        HOOKS,
        (prompts("Read it."),),
        AB,
        hooks={"Stop": hook(STOP_ONCE), "UserPromptSubmit": hook("echo 'today is a Tuesday'")},
    ),
    "killed": Scene(KILLED, (killed, prompts("What came of it?")), AB, AUTO),
}

# ---------------------------------------------------------------- recording


async def record(scene: Scene, place: Path) -> str:
    """The exported session."""
    work, home = place / "workspace", place / "home" / "quillback"
    for directory in (work, home):
        directory.mkdir(parents=True)
    for name, text in scene.files.items():
        (work / name).write_text(text)
    (home / "config.toml").write_text(scene.config)
    if scene.hooks:
        (home / "hooks.json").write_text(json.dumps({"hooks": scene.hooks}))
    env, session, replies = scripted(place, scene.script), "", scene.script.split("---\n")
    for part in scene.parts:
        async with agent(place, env=env, polite=False) as a:
            if session:
                await a.client.load_session(session, work)
            else:
                session = await a.session()
            await part(a, session)
        used = _replies_of(await _export(place, env, session))
        scripted(place, "---\n".join(replies[used:]) or "text: nothing is left\n")
    return (await _export(place, env, session)).replace(str(work), WORK).replace(str(place), "/there")


async def _export(place: Path, env: dict[str, str], session: str) -> str:
    argv = [sys.executable, "-m", "quillback", "sessions", "export", session, "--format", "json"]
    done = await asyncio.to_thread(
        subprocess.run, argv, env=environment(place / "home", "", env), capture_output=True, text=True, check=True
    )
    return done.stdout


def _replies_of(exported: str) -> int:
    """How many replies of the script a session has had: a process that opens it again begins the rest of the script."""
    return sum(bool(message["model"]) for message in json.loads(exported)["messages"])


async def main(names: list[str]) -> None:
    for name in names or SCENES:
        with tempfile.TemporaryDirectory() as place:
            (HERE / f"{name}.json").write_text(await record(SCENES[name], Path(place).resolve()))
        print(name)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
