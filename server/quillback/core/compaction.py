"""Replaces what the model has seen by a summary: when that is due, what is summarised, and what stands in its place.

Nothing is cut out of the stream. A summary is one more message, and whatever comes before it is for the user only, so
that no call can be parted from its result and a kill leaves either all of it or nothing.
"""

import math
from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from quillback.core.event import Event, HistoryReplaced, MessageAdded
from quillback.core.facts import files_changed, files_seen, item_line, last_plan, open_items, user_said
from quillback.core.message import (
    Image,
    Message,
    MessageState,
    Part,
    Resource,
    ResourceLink,
    Role,
    Summary,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from quillback.core.model import ToolSpec
from quillback.core.request import part_bytes, spec_bytes, text_bytes
from quillback.core.stream import Stream, since_summary, summary_of

LEVELS = (0.0, 0.1, 0.2, 0.5, 1.0)
"""Which share of the tool results is left out of what is summarised, from the middle outwards, try after try."""
BYTES_PER_TOKEN = 4
TASK_LIMIT = 16_000
PROMPT_LIMIT = 20_000
RESULT_LIMIT = 4_000
FILES_LIMIT = 50
DONE = "The model goes on from a summary of the conversation. Nothing of it is lost here."
CUT = "Your last prompt is long; its middle had to be left out of what the model goes on with."
LEFT_OUT = "(left out)"

INSTRUCTIONS = """\
You write the summary from which a coding agent goes on with its work, after the conversation so far has been taken \
away from it. Whatever you leave out is lost to it. Do not do the work, do not answer the user, call no tools.

Write, in this order and only what there is:
1. What the user wants, with every requirement, limit and correction they gave, as they worded it.
2. What was done, and what came of it: files with paths, names of functions, commands with their outcome.
3. What was found out that matters: how the code works, causes of errors, decisions and their reasons.
4. What was tried and did not work.
5. Where things stand now, and what is to be done next.

Be exact and dense; write no introduction.\
"""


@frozen
class SummaryRequest:
    """What the small model is asked: `system` and `user`."""

    system: str
    user: str


def context_size(messages: Sequence[Message], system: str, tools: Sequence[ToolSpec]) -> int:
    """Tokens that the next request takes: what the last reply reported and a guess at what came since.

    Input, both kinds of cached input and output count; see `Usage.context_size`.
    """
    since = 0
    for message in reversed(since_summary(messages)):
        if not message.visible_to_model or message.state in (MessageState.QUEUED, MessageState.NOT_RUN):
            continue
        if message.usage is not None and message.usage.context_size and summary_of(message) is None:
            return message.usage.context_size + math.ceil(since / BYTES_PER_TOKEN)
        since += sum(part_bytes(p) for p in message.parts)
    since += text_bytes(system) + sum(spec_bytes(t) for t in tools)
    return math.ceil(since / BYTES_PER_TOKEN)


def can_shrink(messages: Sequence[Message]) -> bool:
    """Whether there is anything but prompts and a summary that a summary could stand for."""
    return any(m.visible_to_model and m.role is not Role.USER for m in since_summary(messages))


def requests(messages: Sequence[Message], focus: str, room: int) -> Iterator[SummaryRequest]:
    """What to ask for a summary of `messages`, try after try, each shorter than the one before and none longer than
    `room` tokens."""
    wish = f"\n\nThe user asks to keep above all: {focus}" if focus else ""
    ask = "\n\nSummarise the conversation above."
    for text in _texts(messages, max(room, 1_000) * BYTES_PER_TOKEN):
        yield SummaryRequest(INSTRUCTIONS, f"<conversation>\n{text}\n</conversation>{wish}{ask}")


def _texts(messages: Sequence[Message], most: int) -> Iterator[str]:
    """The conversation, shorter and shorter, of at most `most` bytes."""
    last = ""
    for level in LEVELS:
        text = rendered(messages, level)
        if text_bytes(text) <= most and (not last or len(text) < len(last)):
            last = text
            yield text
    if not last:
        last = _middle_out(rendered(messages, 1.0), most // 2)
        yield last
    if len(shorter := _middle_out(last, len(last) // 2)) > 2_000:
        yield shorter


def rendered(messages: Sequence[Message], left_out: float) -> str:
    """The conversation as text. `left_out` is the share of tool results that are only named, from the middle on."""
    seen = [m for m in since_summary(messages) if m.visible_to_model]
    results = [i for i, m in enumerate(seen) if m.tool_results()]
    count = math.ceil(len(results) * left_out)
    first = (len(results) - count) // 2
    dropped = set(results[first : first + count])
    lines = [line for i, m in enumerate(seen) for p in m.parts if (line := _line(m, p, short=i in dropped))]
    return "\n\n".join(lines)


def replace(stream: Stream, prompt: int | None, text: str, cost: float, window: int) -> list[Event]:
    """Put a summary of `text` behind the stream, and the prompt that is being worked on behind that.

    `prompt` is the index of that prompt; None where there is none. Only these two stay in memory. What is repeated
    word for word takes a quarter of the `window` at most, the first prompt a fortieth.
    """
    messages = stream.messages
    hidden = last_shown(messages)
    waiting = prompt is not None and prompt == len(messages) - 1
    current = messages[prompt] if prompt is not None else None
    repeated = _bounded(current.parts, max(window, PROMPT_LIMIT)) if current is not None else []
    cut = current is not None and repeated != list(current.parts)
    told, run = stream.tell_user(f"{DONE} {CUT}" if cut else DONE)
    task, said = user_said(messages)
    plan = last_plan(messages)
    first = _middle_out(task, min(TASK_LIMIT, max(window // 10, 1_000)))
    words = summary_text(text, messages, first, waiting=waiting or current is None)
    lasting = Summary(words, task, said, plan, files_seen(messages), files_changed(messages))
    summary = stream.tell_model(lasting)
    summary = MessageAdded(evolve(summary.message, cost=cost))
    stream.messages[-1] = summary.message
    out: list[Event] = [told, summary]
    keep = 1
    if current is not None:
        out.append(stream.tell_model(*repeated))
        keep = 2
    del messages[:-keep]
    return [*out, HistoryReplaced(hidden, run)]


def summary_text(text: str, messages: Sequence[Message], task: str, *, waiting: bool) -> str:
    """What the model reads in place of the conversation."""
    known = {s.path for s in files_seen(messages)}
    changed = files_changed(messages)
    read = sorted(known - set(changed))
    items = open_items(last_plan(messages))
    then = (
        "The user's latest words follow."
        if waiting
        else "You were working on the user's latest prompt, which is repeated below. Go on where the summary ends; do "
        "not begin anew."
    )
    pieces = [
        "The conversation so far was too long and was replaced by this summary of it.",
        f"<summary>\n{text.strip()}\n</summary>",
        f"<first-prompt>\n{task}\n</first-prompt>" if task else "",
        "Open items of your todo list:\n" + "\n".join(map(item_line, items)) if items else "",
        _files("Files changed", changed),
        _files("Files read", read),
        then,
    ]
    return "\n\n".join(p for p in pieces if p)


def _files(title: str, paths: Sequence[str]) -> str:
    if not paths:
        return ""
    more = f"\n... and {len(paths) - FILES_LIMIT} more" if len(paths) > FILES_LIMIT else ""
    return f"{title}:\n" + "\n".join(paths[-FILES_LIMIT:]) + more


def _line(message: Message, part: Part, *, short: bool) -> str:
    who = "assistant" if message.role is Role.ASSISTANT else "user"
    match part:
        case Text(text=text) if text.strip():
            return f"[{who}] {text}"
        case Summary(text=text) if text:
            return f"[summary of what came before]\n{text}"
        case ToolUse(name=name, raw=raw, input=given):
            return f"[call {name}] {_middle_out(raw or str(dict(given)), RESULT_LIMIT)}"
        case ToolResult(content=content, is_error=is_error):
            label = "error" if is_error else "result"
            text = LEFT_OUT if short else "".join(c.text if isinstance(c, Text) else "(an image)" for c in content)
            return f"[{label}] {_middle_out(text, RESULT_LIMIT)}"
        case Image():
            return f"[{who}] (an image)"
        case Resource(uri=uri, text=text):
            return f"[{who}: {uri}] {_middle_out(text or '(binary)', PROMPT_LIMIT)}"
        case ResourceLink(uri=uri):
            return f"[{who}] (link to {uri})"
        case _:
            return ""


def _bounded(parts: Sequence[Part], limit: int) -> list[Part]:
    """A prompt again, without what alone could fill the window."""
    return [_bounded_part(part, limit) for part in parts]


def _bounded_part(part: Part, limit: int) -> Part:
    match part:
        case Text(text=text) if len(text) > limit:
            return evolve(part, text=_middle_out(text, limit))
        case Resource(text=str(text)) if len(text) > limit:
            return evolve(part, text=_middle_out(text, limit))
        case Resource(uri=uri, blob=str(blob)) if len(blob) > limit:
            return Text(f"({uri} was left out: it is too long)")
        case _:
            return part


def last_shown(messages: Sequence[Message]) -> str:
    """The id under which the editor knows the last thing it was shown; empty where there is none."""
    for message in reversed(messages):
        if message.visible_to_user and message.role is not Role.TOOL:
            runs = [p.run_id for p in message.parts if isinstance(p, Text | Thinking) and p.run_id]
            return runs[-1] if runs else message.id
    return ""


def _middle_out(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"
