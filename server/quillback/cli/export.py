"""A session as a file for people or programs: Markdown, JSON or HTML, without the secrets that it may hold."""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape

from quillback.cli.clean import clean, one_line
from quillback.cli.diffs import diff_lines
from quillback.cli.json_view import to_json
from quillback.cli.tool_lines import call_input
from quillback.cli.view import prompt_marks
from quillback.config import Settings
from quillback.core.message import (
    Diff,
    Image,
    Message,
    MessageState,
    Notice,
    Part,
    RedactedThinking,
    Resource,
    ResourceLink,
    Role,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from quillback.core.ports import SessionRecord

VERSION = 1
HIDDEN = "[secret]"
SHORTEST_SECRET = 8
_KEYS = re.compile(r"\bsk-ant-[\w-]{16,}")
_TICKS = re.compile(r"`{3,}")


def as_json(record: SessionRecord, messages: Sequence[Message]) -> str:
    """`{"version": 1, "session": {...}, "messages": [...]}`, with the shapes of `run --json`."""
    whole = {"version": VERSION, "session": to_json(record), "messages": to_json(messages)}
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def as_markdown(record: SessionRecord, messages: Sequence[Message]) -> str:
    """What the user saw, in order. A prompt is a heading of the second level; what came of it is of the third."""
    began = datetime.fromtimestamp(record.created_at / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    calls = {call.id: call for message in messages for call in message.tool_uses()}
    blocks = [f"# {one_line(record.title) or 'Untitled session'}"]
    blocks.append(f"{record.id} · {one_line(record.cwd)} · {one_line(record.model)} · {began}")
    for message in messages:
        if message.visible_to_user:
            blocks += _message(message, calls, record.cwd)
    return "\n\n".join(blocks) + "\n"


def as_html(record: SessionRecord, messages: Sequence[Message]) -> str:
    """See `export_html`; its library is not loaded for anything else."""
    from quillback.cli.export_html import as_html

    return as_html(record, messages)


FORMATS: Mapping[str, Callable[[SessionRecord, Sequence[Message]], str]] = {
    "markdown": as_markdown,
    "json": as_json,
    "html": as_html,
}


def without_secrets(text: str, settings: Settings, environ: Mapping[str, str] = os.environ) -> str:
    """`text` without the configured keys, the values of secret variables, and what looks like a key of Anthropic's."""
    names = {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", *settings.secret_env}
    secrets = {
        settings.anthropic_api_key,
        settings.anthropic_auth_token,
        settings.openai_api_key,
        *(environ.get(n, "") for n in names),
    }
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            for written in (secret, json.dumps(secret)[1:-1], escape(secret, quote=False).replace('"', "&quot;")):
                text = text.replace(written, HIDDEN)
    return _KEYS.sub(HIDDEN, text)


# ---------------------------------------------------------------- Markdown


def _message(message: Message, calls: Mapping[str, ToolUse], cwd: str) -> Iterable[str]:
    if message.role is Role.USER:
        yield f"## Prompt {prompt_marks(message)}".rstrip()
    for part in message.parts:
        yield from _part(part, message.role, calls, cwd)
    if message.state is MessageState.INTERRUPTED:
        yield "*(broke off here)*"


def _part(part: Part, role: Role, calls: Mapping[str, ToolUse], cwd: str) -> Iterable[str]:
    match part:
        case Text(text=text) if text.strip():
            if role is Role.ASSISTANT:
                yield "### Answer"
            yield clean(text).strip("\n")
        case Thinking(text=text) if text.strip():
            yield "### Thinking"
            yield "\n".join(f"> {line}".rstrip() for line in clean(text).strip("\n").split("\n"))
        case Notice(text=text):
            yield f"*{one_line(text)}*"
        case ToolUse():
            yield f"### Call: {one_line(part.title or part.name)}"
            yield _fenced(call_input(part))
        case ToolResult():
            yield from _result(part, calls, cwd)
        case Image(mime_type=kind):
            yield f"*(an image, {one_line(kind)})*"
        case Resource(uri=uri) | ResourceLink(uri=uri):
            yield f"*(attached: {one_line(uri)})*"
        case Text() | Thinking() | RedactedThinking():
            pass


def _result(result: ToolResult, calls: Mapping[str, ToolUse], cwd: str) -> Iterable[str]:
    call = calls.get(result.call_id)
    yield f"**{'Failed' if result.is_error else 'Result'}** of {one_line((call.title or call.name) if call else '?')}:"
    diffs = [shown for shown in result.shown if isinstance(shown, Diff)]
    for diff in diffs:
        yield _fenced("\n".join(line for line, _ in diff_lines(diff, cwd)), "diff")
    text = "".join(p.text for p in result.content if isinstance(p, Text))
    if text and not diffs:
        yield _fenced(text)


def _fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any in the text."""
    fence = "`" * max([3, *(len(found) + 1 for found in _TICKS.findall(text))])
    return f"{fence}{language}\n{clean(text).rstrip()}\n{fence}"
