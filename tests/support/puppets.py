"""Transcripts against an agent that says what the test says: see tests/transcripts/puppet.py."""

import json
import sys
from pathlib import Path

from quillback.transcripts.document import read_transcript
from quillback.transcripts.running import How, run, update

PUPPET = Path(__file__).parent.parent / "transcripts" / "puppet.py"


def puppet(place: Path, *parts: list[object]) -> tuple[str, ...]:
    """The command of an agent that does the next of `parts` for each line it gets."""
    part = place / "part.json"
    part.write_text(json.dumps(parts))
    return (sys.executable, str(PUPPET), str(part))


def page(*lines: str) -> str:
    return "\n".join(["# A page", "", "```acp", *lines, "```", ""])


async def played(place: Path, lines: list[str], *parts: list[object], seconds: float = 20.0) -> str:
    """What is wrong with a transcript of these lines; its first line is the fourth of the file."""
    return await run(read_transcript(page(*lines), "page.md"), How(puppet(place, *parts), seconds=seconds))


async def rewritten(place: Path, text: str, *parts: list[object], seconds: float = 20.0) -> tuple[str, str]:
    return await update(read_transcript(text, "page.md"), How(puppet(place, *parts), seconds=seconds))


def chunk(text: str, message: str | None = "m1", kind: str = "agent_message_chunk", **more: object) -> str:
    """One line of an agent that says something."""
    ids = {} if message is None else {"messageId": message}
    update = {"sessionUpdate": kind, **ids, "content": {"type": "text", "text": text}, **more}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}})


def says(text: str, message: str = '"m1"', mark: str = "<-", kind: str = "agent_message_chunk") -> str:
    """A line that expects it; `text` and `message` as they are written."""
    return (
        f'{mark} {{"method": "session/update", "params": {{"sessionId": "s1", "update": {{"sessionUpdate": "{kind}", '
        f'"messageId": {message}, "content": {{"type": "text", "text": {text}}}}}}}}}'
    )


def note(method: str, **params: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params})


def answer(number: int, result: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result})
