"""A model that says what a script tells it: demos, transcripts, editor tests and CI need no key and no network."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from attrs import define

from quillback.core.message import Resource, ResourceLink, Text, ToolResult
from quillback.core.model import (
    Failure,
    InputDelta,
    ModelRequest,
    ProviderError,
    ProviderEvent,
    RequestMessage,
    TextDelta,
    ThinkingDelta,
)
from quillback.providers.script import Drop, Fail, Pace, Pause, Response, Say, Script
from quillback.providers.script_format import ScriptError, parse_script
from quillback.providers.script_player import ScriptPlayer

BUILT_IN = ("demo", "echo", "slow")
"""Scripts of the package: a whole turn with tools, one that repeats the prompt, one that takes ten seconds."""

_SIDE = Response((Say("ok"),))
_BURST = 16  # deltas that arrive together, as from one network read
_SHOWN = 200


def load_script(spec: str) -> Script:
    """A built-in script by name, or a file. Raises ScriptError."""
    if spec in BUILT_IN:
        text = (_package() / f"{spec}.script").read_text(encoding="utf-8")
        return parse_script(text, spec)
    try:
        return parse_script(Path(spec).expanduser().read_text(encoding="utf-8"), spec)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ScriptError(f"{spec}: {why}; give a file, or one of {', '.join(BUILT_IN)}") from None


def demo_workspace() -> dict[str, str]:
    """The files that the demo script works on: names and contents."""
    # they end in .txt in the package, so that no tool takes them for modules of ours
    found = sorted((_package() / "demo_workspace").iterdir(), key=lambda file: file.name)
    return {file.name.removesuffix(".txt"): file.read_text(encoding="utf-8") for file in found}


@define
class _Place:
    """Where a session is in the script, and what the request before this one was."""

    next: int = 0
    size: int = 0
    last: RequestMessage | None = None


class ScriptedProvider:
    """Plays one script; every session is at its own place in it. Side requests get a fixed short answer.

    `variables` replace `${name}` in text and in the strings of calls.
    """

    def __init__(self, script: Script, *, variables: Mapping[str, str] | None = None) -> None:
        self._script = script
        self._variables = dict(variables or {})
        self._places: dict[str, _Place] = {}
        self._numbers = itertools.count(1)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """One reply of the script. Raises ProviderError where the script says so or expects something else."""
        response = _SIDE if request.side else self._next(request)
        self._check(response, request)
        said = _last_text(request)
        prompt = said if said.strip() else "(no text)"
        player = ScriptPlayer(self._script.name, {"prompt": prompt, **self._variables}, self._numbers)
        pace, deltas = 0.0, 0
        for action in response.actions:
            match action:
                case Fail() | Drop():
                    raise player.failure(action)
                case Pause(seconds=seconds):
                    await asyncio.sleep(seconds)
                case Pace(seconds=seconds):
                    pace = seconds
                case _:
                    for event in player.events(action, request.model.id):
                        yield event
                        deltas += isinstance(event, TextDelta | ThinkingDelta | InputDelta)
                        if deltas and (pace or deltas == _BURST):
                            deltas = 0
                            await asyncio.sleep(pace)
        for event in player.end(response, request.model.id):
            yield event

    async def close(self) -> None:
        self._places.clear()

    def _next(self, request: ModelRequest) -> Response:
        place = self._places.setdefault(request.session_id, _Place())
        last = request.messages[-1] if request.messages else None
        again = (len(request.messages), last) == (place.size, place.last)  # a retry sends the same once more
        place.size, place.last = len(request.messages), last
        if self._script.each_prompt and not again and not _has_results(last):
            place.next = 0
        responses = self._script.responses
        if place.next >= len(responses):
            if not self._script.loop:
                raise ProviderError(Failure.INVALID, f"The script {self._script.name} has no more replies.")
            place.next = 0
        place.next += 1
        return responses[place.next - 1]

    def _check(self, response: Response, request: ModelRequest) -> None:
        seen = _last_text(request) if response.expectations else ""
        for expected in response.expectations:
            if (expected.text in seen) is not expected.present:
                what = "to contain" if expected.present else "not to contain"
                shown = seen if len(seen) <= _SHOWN else seen[:_SHOWN] + "…"
                text = (
                    f"{self._script.name}:{expected.line}: expected the last message {what} {expected.text!r}; "
                    f"it is {shown!r}."
                )
                raise ProviderError(Failure.INVALID, text)


def _package() -> Traversable:
    return files("quillback.providers") / "scripts"


def _has_results(message: RequestMessage | None) -> bool:
    return message is not None and any(isinstance(part, ToolResult) for part in message.parts)


def _last_text(request: ModelRequest) -> str:
    """The text of the last message: what was said, and what tools brought."""
    texts: list[str] = []
    for part in request.messages[-1].parts if request.messages else ():
        match part:
            case Text(text=text):
                texts.append(text)
            case Resource(text=str(text)):
                texts.append(text)
            case ResourceLink(uri=uri):
                texts.append(uri)
            case ToolResult(content=content):
                texts += [c.text for c in content if isinstance(c, Text)]
    return "\n".join(texts)
