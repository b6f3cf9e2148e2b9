"""A session as one HTML page that needs nothing else: it can be read, printed and passed on."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import assert_never

from quillback.cli.clean import one_line
from quillback.cli.diffs import diff_lines
from quillback.cli.html_style import STYLE
from quillback.cli.html_text import escaped, markdown, picture
from quillback.cli.tool_lines import call_input
from quillback.cli.view import prompt_marks
from quillback.core.message import (
    Diff,
    Image,
    Message,
    MessageState,
    Notice,
    Part,
    PlanEntry,
    RedactedThinking,
    Resource,
    ResourceLink,
    Role,
    Summary,
    Terminal,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from quillback.core.ports import SessionRecord

NOTHING_ELSE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
HEADING = 90
_LINES = {"green": "add", "red": "del", "cyan": "hunk", "bold": "head", "dim": "head"}
_SIGNS = {"completed": "☑", "in_progress": "▸"}


def as_html(record: SessionRecord, messages: Sequence[Message]) -> str:
    """What the user saw, in order: prompts and answers open, thoughts and calls to be opened."""
    shown = [message for message in messages if message.visible_to_user]
    page = _Page(record.cwd, shown)
    title = escaped(one_line(record.title) or "Untitled session")
    body = "\n".join(line for message in shown for line in page.message(message))
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{NOTHING_ELSE}">',
            '<meta name="generator" content="Quillback">',
            f"<title>{title}</title><style>{STYLE}</style></head>",
            f"<body><main><header><h1>{title}</h1>{_facts(record)}</header>",
            *page.contents(),
            body,
            "</section></main></body></html>" if page.prompts else "</main></body></html>",
            "",
        ]
    )


def _facts(record: SessionRecord) -> str:
    began = datetime.fromtimestamp(record.created_at / 1000, UTC)
    when = f'<time datetime="{began.isoformat()}">{began:%Y-%m-%d %H:%M} UTC</time>'
    facts = [escaped(record.id), escaped(one_line(record.cwd)), escaped(one_line(record.model)), when]
    return f'<p class="meta">{" · ".join([*facts, *([f"${record.cost:.4f}"] if record.cost else [])])}</p>'


class _Page:
    """`prompts` are the first words of each prompt, known once all messages have been written."""

    def __init__(self, cwd: str, messages: Sequence[Message]) -> None:
        self.prompts: list[str] = []
        self._cwd = cwd
        self._calls = {call.id for message in messages for call in message.tool_uses()}
        self._results: Mapping[str, ToolResult] = {r.call_id: r for m in messages for r in m.tool_results()}

    def contents(self) -> Iterable[str]:
        """A list of the prompts, where there are several."""
        if len(self.prompts) > 1:
            items = "".join(f'<li><a href="#p{n}">{words}</a></li>' for n, words in enumerate(self.prompts, 1))
            yield f"<nav><details><summary>{len(self.prompts)} prompts</summary><ol>{items}</ol></details></nav>"

    def message(self, message: Message) -> Iterable[str]:
        if message.role is Role.USER:
            yield from self._prompt(message)
        else:
            for part in message.parts:
                yield from self._part(part)
        if message.state is MessageState.INTERRUPTED:
            yield '<p class="note">(broke off here)</p>'

    def _prompt(self, message: Message) -> Iterable[str]:
        if self.prompts:
            yield "</section>"
        self.prompts.append(escaped(one_line(message.text(), HEADING)) or "(no words)")
        linked = {part.uri for part in message.parts if isinstance(part, ResourceLink)}
        yield f'<section id="p{len(self.prompts)}">'
        yield f'<p class="who">{f"Prompt {prompt_marks(message)}".rstrip()}</p>'
        for part in message.parts:
            if isinstance(part, Text):
                yield f'<article class="user">{escaped(part.text.strip())}</article>' if part.text.strip() else ""
            elif not (isinstance(part, Resource) and part.uri in linked):
                yield from self._part(part)

    def _part(self, part: Part) -> Iterable[str]:
        match part:
            case Text(text=text):
                if text.strip():
                    yield f'<article class="assistant">{markdown(text)}</article>'
            case Thinking(text=text):
                if text.strip():
                    yield _folded("thought", "Thinking", f"<div>{escaped(text.strip())}</div>")
            case ToolUse():
                yield self._call(part)
            case ToolResult(call_id=call_id):
                if call_id not in self._calls:
                    yield _folded("call", "Result of a call", "".join(self._result(part)))
            case Image(data=data, mime_type=mime_type):
                yield picture(data, mime_type)
            case Resource(uri=uri, text=str(text)):
                yield _folded("file", f"Attached: {escaped(one_line(uri))}", _pre(text))
            case Resource(uri=uri) | ResourceLink(uri=uri):
                yield f'<p class="note">Attached: {escaped(one_line(uri))}</p>'
            case Notice(text=text):
                yield f'<p class="note">{escaped(text)}</p>'
            case RedactedThinking() | Summary():
                pass
            case _:
                assert_never(part)

    # ------------------------------------------------------------ calls

    def _call(self, call: ToolUse) -> str:
        result = self._results.get(call.id)
        failed = result is None or result.is_error
        sign = "…" if result is None else "✗" if result.is_error else "✓"
        body = [_pre(call_input(call)), *(self._result(result) if result else ['<p class="note">(no result)</p>'])]
        heading = f"{sign} {escaped(one_line(call.title or call.name))}"
        return _folded("call failed" if failed else "call", heading, "".join(body))

    def _result(self, result: ToolResult) -> Iterable[str]:
        """The differences and pictures, else what the model was told."""
        if result.plan is not None:
            yield _plan(result.plan)
        seen = False
        for shown in result.shown:
            match shown:
                case Diff():
                    seen = True
                    yield self._diff(shown)
                case ResourceLink(uri=uri):
                    yield f'<p class="note">{escaped(one_line(uri))}</p>'
                case Text() | Image() | Terminal():
                    pass
                case _:
                    assert_never(shown)
        for part in result.content:
            match part:
                case Image(data=data, mime_type=mime_type):
                    yield picture(data, mime_type)
                case Text(text=text):
                    if text.strip() and (result.is_error or not seen):
                        yield _pre(text)
                case _:
                    assert_never(part)

    def _diff(self, diff: Diff) -> str:
        lines = (
            f'<span class="{_LINES[style]}">{escaped(line)}</span>'
            if style in _LINES
            else f"<span>{escaped(line)}</span>"
            for line, style in diff_lines(diff, self._cwd)
        )
        return f'<pre class="diff">{"".join(lines)}</pre>'


def _folded(kind: str, heading: str, body: str) -> str:
    return f'<details class="{kind}"><summary>{heading}</summary>{body}</details>'


def _pre(text: str) -> str:
    return f"<pre>{escaped(text.rstrip())}</pre>"


def _plan(entries: Iterable[PlanEntry]) -> str:
    items = (
        f'<li class="{escaped(entry.status)}">{_SIGNS.get(entry.status, "☐")} {escaped(entry.content)}</li>'
        for entry in entries
    )
    return f'<ul class="plan">{"".join(items)}</ul>'
