"""Rewrites a transcript to what came: prose, names and patterns stay as far as they fit."""

import json
from collections.abc import Sequence
from difflib import SequenceMatcher

from attrs import define, field

from quillback.transcripts.document import FileBlock, Messages, Transcript
from quillback.transcripts.inbox import Line
from quillback.transcripts.merging import kind_of, merged
from quillback.transcripts.naming import Naming
from quillback.transcripts.pattern import fits
from quillback.transcripts.pattern_writing import write_pattern
from quillback.transcripts.runner import Expected, Failed, FileDiffers, Mismatch, Runner, Task, tasks_of
from quillback.transcripts.steps import Mark, Step

QUIET = 1.0
"""Seconds without anything new after which nothing more is waited for, where no request is open."""
Came = dict[str, object] | Line


@define(eq=False)
class Updater:
    """`edits` are lines of the file, from the first to the one behind the last, and what is to stand there."""

    transcript: Transcript
    runner: Runner
    edits: list[tuple[int, int, list[str]]] = field(factory=list)

    async def run(self) -> None:
        """Raises Failed for what cannot be rewritten: a line that cannot be sent, a file that is not there."""
        self.runner.names.update(self.runner.place.names())
        for part in _parts(list(tasks_of(self.transcript))):
            await self._part(part)
        self.runner.link.inbox.taken.clear()
        if self.runner.asked:  # nothing is expected yet of what was asked last
            await self._gather(None)
        try:
            await self.runner.finish()
        except Failed:
            await self._gather(None)
        self._added(self._end(), self._heeded(self.runner.loose))

    def text(self) -> str:
        lines = list(self.transcript.lines)
        for start, end, new in sorted(self.edits, key=lambda edit: edit[:2], reverse=True):
            lines[start:end] = new
        return "\n".join(lines)

    async def _part(self, part: Sequence[Task]) -> None:
        """What stands between two lines that are sent."""
        runner, names = self.runner, dict(self.runner.names)
        runner.link.inbox.taken.clear()
        try:
            for task in part:
                await runner.do(task)
        except Failed as failed:
            match failed.problem:
                case FileDiffers(block=block, found=str(found)):
                    self.edits.append((*block.lines, found.removesuffix("\n").split("\n")))
                case Mismatch():
                    steps = [step for task in part for step in _steps(task)]
                    await self._gather(next((s for s in reversed(steps) if not s.optional), None))
                    runner.names.clear()
                    runner.names.update(names)
                    self._rewrite(steps, self._heeded(steps))
                    runner.loose.clear()
                case _:
                    raise

    async def _gather(self, last: Step | None) -> None:
        """Take what comes until something like `last` is there, or nothing comes any more."""
        runner, inbox = self.runner, self.runner.link.inbox
        wanted = kind_of(last.message) if last is not None else None
        while not any(kind_of(came) == wanted for came in inbox.taken):
            if inbox.head is None:
                if inbox.ended or not await runner.heard(runner.seconds if runner.asked else QUIET):
                    return
            else:
                await runner.complete(inbox.head)
                came = inbox.take()
                if isinstance(came, dict) and "method" not in came:
                    runner.asked.discard(json.dumps(came.get("id")))

    def _heeded(self, steps: Sequence[Step]) -> list[Came]:
        """What was taken, without what is skipped and what may come anyway."""
        runner = self.runner
        free = [*runner.skips, *(step for step in steps if step.optional)]
        patterns = [step.message for step in free if step.message is not None]
        return [c for c in runner.link.inbox.taken if not any(fits(p, c, runner.names) is not None for p in patterns)]

    # ------------------------------------------------------------ rewriting

    def _rewrite(self, steps: Sequence[Step], came: Sequence[Came]) -> None:
        steps = [step for step in steps if not step.optional]
        matcher = SequenceMatcher(None, [kind_of(s.message) for s in steps], [kind_of(c) for c in came], autojunk=False)
        for what, i, end, j, last in matcher.get_opcodes():
            if what == "equal":
                for step, one in zip(steps[i:end], came[j:last], strict=True):
                    self._merge(step, one)
                continue
            self._added(steps[i].lines[0] if i < len(steps) else steps[-1].lines[1], came[j:last])
            self.edits += [(*step.lines, []) for step in steps[i:end]]

    def _merge(self, step: Step, came: Came) -> None:
        names = self.runner.names
        if step.message is None or isinstance(came, Line):
            new = _written(came, Naming(names), step.mark)
            if step.source.split("\n") != new:
                self.edits.append((*step.lines, new))
            return
        new_message = merged(step.message, came, names, Naming(names))
        if new_message != step.message:
            self.edits.append((*step.lines, _lines(step.mark, write_pattern(new_message, used=len(step.mark) + 1))))

    def _added(self, line: int, came: Sequence[Came]) -> None:
        if not came:
            return
        naming = Naming(self.runner.names)
        self.edits.append((line, line, [text for one in came for text in _written(one, naming, Mark.MUST)]))

    def _end(self) -> int:
        """Behind the last line of the last block, blank ones apart."""
        last = [block for block in self.transcript.blocks if isinstance(block, Messages)][-1]
        return last.steps[-1].lines[1] if last.steps else last.lines[1]


def _parts(tasks: Sequence[Task]) -> list[list[Task]]:
    """Each line that is sent, and each file, begins a part of its own."""
    parts: list[list[Task]] = [[]]
    for task in tasks:
        if isinstance(task, FileBlock) or (isinstance(task, Step) and task.mark is Mark.SEND):
            parts.append([task])
            parts.append([])
        else:
            parts[-1].append(task)
    return [part for part in parts if part]


def _steps(task: Task) -> Sequence[Step]:
    match task:
        case Expected(steps=steps):
            return steps
        case Step(mark=Mark.MAY | Mark.MANY):
            return (task,)
        case _:
            return ()


def _written(came: Came, naming: Naming, mark: Mark) -> list[str]:
    if isinstance(came, Line):
        return [f"{mark} raw {came.text}"]
    return _lines(mark, write_pattern(naming.came(came), used=len(mark) + 1))


def _lines(mark: Mark, written: str) -> list[str]:
    return f"{mark} {written}".split("\n")
