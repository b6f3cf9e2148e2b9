"""Builds the request of a step from the stored stream."""

from collections.abc import Iterable, Sequence

from attrs import evolve, frozen

from quillback.core.message import (
    Image,
    Message,
    Part,
    RedactedThinking,
    Resource,
    Summary,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from quillback.core.model import Failure, Model, ModelRequest, RequestMessage, ToolSpec
from quillback.core.model import Thinking as ThinkingLevel
from quillback.core.repair import repair, visible

MARKED_MESSAGES = 2
IMAGE_NOTE = "(an image was left out: the model's service does not take it)"


@frozen
class Reductions:
    """What is left out of requests because the model's service refused it."""

    thinking: bool = False
    images: bool = False


def reduction(failure: Failure, made: Reductions) -> Reductions | None:
    """`made` and what cures this refusal; None if there is no cure, or it was made already."""
    match failure:
        case Failure.BAD_THINKING if not made.thinking:
            return evolve(made, thinking=True)
        case Failure.BAD_IMAGE if not made.images:
            return evolve(made, images=True)
        case _:
            return None


def build_request(
    history: Iterable[Message],
    *,
    session_id: str,
    model: Model,
    system: str,
    tools: Sequence[ToolSpec],
    thinking: ThinkingLevel,
    max_tokens: int,
    reductions: Reductions = Reductions(),
    continuing: bool = False,
) -> ModelRequest:
    """A valid request: repaired messages, tools sorted by name so that the prompt cache holds, cache marks."""
    seen = visible(history, model.id, thinking=not reductions.thinking)
    if reductions.images or not model.images:
        seen = [RequestMessage(m.role, tuple(_without_image(p) for p in m.parts)) for m in seen]
    messages = repair(seen, continuing=continuing).messages
    return ModelRequest(
        session_id=session_id,
        model=model,
        system=system,
        messages=messages,
        tools=tuple(sorted(tools, key=lambda t: t.name)),
        max_tokens=min(max_tokens, model.max_output),
        thinking=thinking,
        marks=cache_marks(messages),
    )


def cache_marks(messages: Sequence[RequestMessage]) -> tuple[tuple[int, int], ...]:
    """The last part that may carry a mark, of each of the last two messages."""
    marks = []
    for i in range(max(0, len(messages) - MARKED_MESSAGES), len(messages)):
        parts = messages[i].parts
        last = next((j for j in reversed(range(len(parts))) if _markable(parts[j])), None)
        if last is not None:
            marks.append((i, last))
    return tuple(marks)


def request_bytes(request: ModelRequest) -> int:
    """Roughly how many bytes of text a request carries, for estimates."""
    tools = sum(spec_bytes(t) for t in request.tools)
    return text_bytes(request.system) + tools + sum(part_bytes(p) for m in request.messages for p in m.parts)


def spec_bytes(spec: ToolSpec) -> int:
    """Roughly how many bytes a tool's definition takes."""
    return text_bytes(spec.description) + text_bytes(str(spec.input_schema))


def part_bytes(part: Part) -> int:
    """Roughly how many bytes of text a part is to a model."""
    match part:
        case Text(text=text) | Thinking(text=text) | Summary(text=text):
            return text_bytes(text)
        case ToolUse(name=name, input=given, raw=raw):
            return text_bytes(name) + text_bytes(raw or str(dict(given)))
        case ToolResult(content=content):
            return sum(part_bytes(c) for c in content)
        case Image():
            return 6_000  # about 1,500 tokens, whatever the size of the data
        case _:
            return text_bytes(str(part))


def _markable(part: Part) -> bool:
    return not isinstance(part, Thinking | RedactedThinking) and not (isinstance(part, Text) and not part.text.strip())


def _without_image(part: Part) -> Part:
    match part:
        case Image():
            return Text(IMAGE_NOTE)
        case ToolResult(call_id=call_id, content=content, is_error=is_error):
            return ToolResult(
                call_id, tuple(Text(IMAGE_NOTE) if isinstance(c, Image) else c for c in content), is_error
            )
        case Resource(blob=blob, uri=uri) if blob is not None:
            return Text(f"{uri}: {IMAGE_NOTE}")
        case _:
            return part


def text_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
