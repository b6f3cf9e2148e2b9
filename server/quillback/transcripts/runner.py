"""Runs a transcript: sends its lines, and compares what comes with what it expects."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from itertools import groupby

from attrs import define, field, frozen

from quillback.transcripts.document import FileBlock, Transcript
from quillback.transcripts.inbox import Arrived, Line
from quillback.transcripts.judging import Fits, Wait, judge, without_text
from quillback.transcripts.link import Link
from quillback.transcripts.pattern import UnknownNameError, fill
from quillback.transcripts.place import Place
from quillback.transcripts.steps import Mark, Step
from quillback_protocol.framing import dumps

SECONDS = 10.0


@frozen
class Mismatch:
    """`came` is None where nothing came. Of `wanted`, the lines that might have been it, any would have done."""

    wanted: tuple[Step, ...]
    came: dict[str, object] | Line | None
    why: str = ""


@frozen
class FileDiffers:
    block: FileBlock
    found: str | None


@frozen
class Unsendable:
    step: Step
    why: str


@frozen
class LeftOver:
    """It came, and nothing was expected any more."""

    came: dict[str, object] | Line


Problem = Mismatch | FileDiffers | Unsendable | LeftOver


class Failed(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


@frozen
class Expected:
    """Lines that must come, in any order where there are several. `begins` see `judge`."""

    steps: tuple[Step, ...]
    begins: bool


Task = FileBlock | Step | Expected
"""What is done next: a file, a line that is sent, may come or is skipped, lines that must come."""


def tasks_of(transcript: Transcript) -> Iterator[Task]:
    """In the order of the file."""
    items: list[FileBlock | Step] = []
    for block in transcript.blocks:
        items += [block] if isinstance(block, FileBlock) else block.steps
    for place, same in groupby(enumerate(items), lambda it: -1 if _is(it[1], Mark.MIXED) else it[0]):
        found = list(same)
        steps = tuple(item for _, item in found if isinstance(item, Step))
        if place < 0 or _is(found[0][1], Mark.MUST):
            yield Expected(steps, _begins(steps[-1], _following(items, found[-1][0])))
        else:
            yield found[0][1]


def _following(items: Sequence[FileBlock | Step], at: int) -> FileBlock | Step | None:
    behind = (items[i] for i in range(at + 1, len(items)))
    return next((item for item in behind if not _is(item, Mark.SKIP)), None)


def _begins(step: Step, following: FileBlock | Step | None) -> bool:
    if not isinstance(following, Step) or following.mark is Mark.SEND:
        return True
    both = step.message, following.message
    return both[0] is not None and both[1] is not None and without_text(both[0]) == without_text(both[1])


def _is(item: FileBlock | Step, mark: Mark) -> bool:
    return isinstance(item, Step) and item.mark is mark


@define(eq=False)
class Runner:
    """`seconds` is how long it waits for something to come."""

    link: Link
    place: Place
    seconds: float = SECONDS
    names: dict[str, object] = field(factory=dict)
    skips: list[Step] = field(factory=list)
    loose: list[Step] = field(factory=list)
    asked: set[str] = field(factory=set)

    async def run(self, tasks: Sequence[Task]) -> None:
        """Raises Failed for the first thing that is not as it should be."""
        self.names.update(self.place.names())
        for task in tasks:
            await self.do(task)
        await self.finish()

    async def do(self, task: Task) -> None:
        match task:
            case FileBlock(check=False):
                self.place.write(task)
            case FileBlock():
                if (found := self.place.read(task)) != task.text:
                    raise Failed(FileDiffers(task, found))
            case Expected():
                await self._expect(task)
            case Step(mark=Mark.SEND):
                self._send(task)
            case Step(mark=Mark.SKIP):
                self.skips.append(task)
            case Step():
                self.loose.append(task)

    async def finish(self) -> None:
        """The end of the agent's input. What it was still asked for then may come, or not."""
        await self.link.finish()
        while not self.asked and (arrived := self.link.inbox.head) is not None:
            if not self._passed_over(arrived):
                raise Failed(LeftOver(arrived.value))

    # ------------------------------------------------------------ sending

    def _send(self, step: Step) -> None:
        if step.message is None:
            self.link.send(step.raw.encode("utf-8", "surrogatepass"))
            return
        try:
            message = fill(step.message, self.names)
        except UnknownNameError as error:
            raise Failed(Unsendable(step, str(error))) from None
        assert isinstance(message, dict)
        if "method" in message and "id" in message:
            self.asked.add(json.dumps(message["id"]))
        self.link.send(dumps(message if "jsonrpc" in message else {"jsonrpc": "2.0", **message}))

    # ------------------------------------------------------------ expecting

    async def _expect(self, expected: Expected) -> None:
        left = list(expected.steps)
        while left:
            arrived = self.link.inbox.head
            if arrived is None:
                await self._news(left)
                continue
            for step in left:
                verdict = judge(step, arrived, self.names, begins=expected.begins)
                if verdict is not None:
                    break
            else:
                if not self._passed_over(arrived):
                    await self.complete(arrived)
                    raise Failed(Mismatch(tuple(left), arrived.value))
                continue
            match verdict:
                case Wait():
                    await self._more(arrived)
                case Fits():
                    self._take(verdict)
                    left.remove(step)
        self.loose.clear()

    def _passed_over(self, arrived: Arrived) -> bool:
        """Whether it is something that may come here."""
        for step in self.loose:
            match judge(step, arrived, self.names, begins=True):
                case Fits() as verdict:
                    if step.mark is Mark.MAY and not arrived.open:  # more of an open text is still the same message
                        self.loose.remove(step)
                    self._take(verdict)
                    return True
        for step in self.skips:
            if judge(step, arrived, self.names, begins=True) is not None:
                self.link.inbox.take()
                return True
        return False

    def _take(self, verdict: Fits) -> None:
        self.names.update(verdict.names)
        inbox = self.link.inbox
        if verdict.length is not None:
            inbox.take_text(verdict.length)
            return
        taken = inbox.take()
        if isinstance(taken, dict) and "method" not in taken:
            self.asked.discard(json.dumps(taken.get("id")))

    # ------------------------------------------------------------ waiting

    async def heard(self, seconds: float) -> bool:
        """Wait for something new; whether anything came."""
        try:
            async with asyncio.timeout(seconds):
                await self.link.inbox.news()
        except TimeoutError:
            return False
        return True

    async def complete(self, arrived: Arrived) -> None:
        """Have the whole of a text, as far as it comes."""
        while arrived.open:
            await self._more(arrived)

    async def _more(self, arrived: Arrived) -> None:
        """Wait for more of a text; what there is has to do if no more comes."""
        if not await self.heard(self.seconds):
            arrived.open = False

    async def _news(self, left: Sequence[Step]) -> None:
        if self.link.inbox.ended:
            raise Failed(Mismatch(tuple(left), None, "the agent has ended"))
        if not await self.heard(self.seconds):
            raise Failed(Mismatch(tuple(left), None, f"nothing came for {self.seconds:g} s"))
