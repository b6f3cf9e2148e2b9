"""A transcript: a Markdown file whose fenced blocks are carried out in their order; all else is prose."""

import re
from pathlib import PurePosixPath

from attrs import frozen

from quillback.transcripts.errors import TranscriptError
from quillback.transcripts.steps import Step, read_steps

_FENCE = re.compile(r"(`{3,}|~{3,})\s*([^`]*)$")
_NAMED = ("file", "check")
_KINDS = ("acp", "script", "config", *_NAMED)


@frozen
class FileBlock:
    """A file of the workspace. `check` says that it must hold `text` by now, otherwise it is written."""

    path: str
    text: str
    check: bool
    lines: tuple[int, int]


@frozen
class Messages:
    steps: tuple[Step, ...]
    lines: tuple[int, int]


Block = FileBlock | Messages


@frozen
class Transcript:
    """`lines` are those of the file, without line ends. `script` and `config` are empty where there are none; the
    numbers in blocks are lines, from 0."""

    place: str
    lines: tuple[str, ...]
    blocks: tuple[Block, ...]
    script: str = ""
    config: str = ""

    @property
    def steps(self) -> list[Step]:
        return [step for block in self.blocks if isinstance(block, Messages) for step in block.steps]


@frozen
class _Fence:
    """`lines` are those between the fences."""

    info: str
    lines: tuple[int, int]


def read_transcript(text: str, place: str) -> Transcript:
    """Raises TranscriptError. `place` is what errors call the file."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    blocks: list[Block] = []
    once: dict[str, str] = {}
    for fence in _fences(lines):
        kind, _, rest = fence.info.partition(" ")
        inside = lines[slice(*fence.lines)]
        if kind == "acp":
            blocks.append(Messages(tuple(read_steps(inside, fence.lines[0], place)), fence.lines))
        elif kind in _NAMED:
            blocks.append(_file(kind, rest, inside, fence, place))
        elif kind in ("script", "config"):
            if kind in once or any(isinstance(block, Messages) for block in blocks):
                what = f"there is one `{kind}` block at most, and it stands before the first `acp` block"
                raise TranscriptError(place, fence.lines[0], what)
            once[kind] = "\n" * (fence.lines[0] if kind == "script" else 0) + _joined(inside)  # lines count as here
        elif "path=" in rest:
            raise TranscriptError(place, fence.lines[0], f"`{kind}` blocks do nothing; there are {', '.join(_KINDS)}")
    if not any(isinstance(block, Messages) for block in blocks):
        raise TranscriptError(place, 1, "there is no `acp` block in it, so there is nothing to run")
    return Transcript(place, tuple(lines), tuple(blocks), once.get("script", ""), once.get("config", ""))


def _fences(lines: list[str]) -> list[_Fence]:
    """The fenced blocks that begin at the margin. One that is not closed ends with the file."""
    found: list[_Fence] = []
    opened: tuple[str, str, int] | None = None
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if opened is None:
            if fence:
                opened = (fence[1], fence[2].strip(), number + 1)
        elif line.rstrip() and set(line.rstrip()) == {opened[0][0]} and len(line.rstrip()) >= len(opened[0]):
            found.append(_Fence(opened[1], (opened[2], number)))
            opened = None
    if opened is not None:
        found.append(_Fence(opened[1], (opened[2], len(lines))))
    return found


def _file(kind: str, rest: str, inside: list[str], fence: _Fence, place: str) -> FileBlock:
    key, _, path = rest.strip().partition("=")
    if key != "path" or not path:
        raise TranscriptError(place, fence.lines[0], f"say which file: ```{kind} path=src/a.py")
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        raise TranscriptError(place, fence.lines[0], f"`{path}` must be a path inside the workspace, such as src/a.py")
    return FileBlock(path, _joined(inside), kind == "check", fence.lines)


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
