"""Background jobs: commands that outlive the call that started them, never the session."""

import asyncio
from collections.abc import Mapping, Sequence

from attrs import define, frozen

from quillback.core.message import JsonObject, ToolKind
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import ToolError, ToolOutcome
from quillback.tools.call import Prepared, said, schema, seconds, single, string
from quillback.tools.command import Command, Commands
from quillback.tools.context import ToolContext
from quillback.tools.output import NOTHING, Output, ending
from quillback.tools.text import one_line

LIMIT = 20
WAIT_LIMIT = 60.0
_KEPT = 50
_QUIET = 0.3
_ENDING = 2.0


@define
class Job:
    id: str
    line: str
    command: Command
    output: Output
    taken: int = 0

    @property
    def status(self) -> str:
        if self.command.failure:
            return f"[could not run: {self.command.failure}]"
        if self.command.exit_status is None:
            return "[running]"
        return ending(self.command.exit_status) or "[ended, exit code 0]"

    @property
    def news(self) -> bool:
        return self.output.received > self.taken

    def take(self) -> str:
        """The output since the last call, and how it goes."""
        self.taken = self.output.received
        text = self.output.take(final=self.command.ended and self.command.gone)
        return f"{text or ('(no new output)' if self.taken else NOTHING)}\n{self.status}"


class Jobs:
    """The jobs of one session, ended ones included as long as there are not too many."""

    def __init__(self, context: ToolContext, commands: Commands) -> None:
        self._context = context
        self._commands = commands
        self._jobs: dict[str, Job] = {}
        self._count = 0

    def start(
        self, line: str, argv: Sequence[str], cwd: str, environment: Mapping[str, str], *, boxed: bool = False
    ) -> Job:
        running = [job.id for job in self._jobs.values() if not job.command.ended]
        if len(running) >= LIMIT:
            raise ToolError(f"{LIMIT} jobs are running already ({', '.join(running)}); end one with shell_kill first")
        name = f"job_{self._count + 1}"
        output = Output(self._context.outputs, name, self._context.mask)
        command = self._commands.start(argv, cwd, environment, output.feed, boxed=boxed)
        self._count += 1
        job = self._jobs[name] = Job(name, line, command, output)
        for old in [job.id for job in self._jobs.values() if job.command.ended][: max(0, len(self._jobs) - _KEPT)]:
            del self._jobs[old]
        return job

    def find(self, name: str) -> Job:
        if job := self._jobs.get(name):
            return job
        there = ", ".join(f"{job.id} ({one_line(job.line, 40)}) {job.status}" for job in self._jobs.values())
        raise ToolError(
            f"there is no job {one_line(name, 60)!r}; " + (f"there are: {there}" if there else "none was started")
        )


@frozen
class ShellOutput:
    jobs: Jobs

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name="shell_output",
            description="The output of a background job since the last call, and whether it still runs. With `wait` it "
            "waits until there is new output or the job ends, at most that long.",
            input_schema=schema(
                ("job",),
                job={"type": "string", "description": "such as job_1"},
                wait={"type": "number", "minimum": 0, "description": f"seconds, at most {WAIT_LIMIT:.0f}"},
            ),
            kind=ToolKind.READ,
            describe=lambda arguments: _sketch("Output of", arguments),
            read_only=True,
            polling=True,
        )

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return frozenset()

    async def prepare(self, call_id: str, arguments: JsonObject) -> Prepared:
        job = self.jobs.find(string(arguments, "job"))
        wait = seconds(arguments, "wait", 0, WAIT_LIMIT)

        async def run() -> ToolOutcome:
            await _await_news(job, wait)
            return said(job.take())

        return Prepared(single(run))


async def _await_news(job: Job, wait: float) -> None:
    """Until the job has ended, or has said something and paused, or the time is over."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + wait
    until, seen = deadline, -1
    while not job.command.ended:
        if job.news and job.output.received != seen:
            until, seen = min(deadline, clock() + _QUIET), job.output.received
        if (left := until - clock()) <= 0:
            break
        await job.command.change(left)
    if job.command.ended:
        await job.command.settle()


@frozen
class ShellKill:
    jobs: Jobs

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name="shell_kill",
            description="End a background job and everything it started; returns the rest of its output.",
            input_schema=schema(("job",), job={"type": "string", "description": "such as job_1"}),
            kind=ToolKind.EXECUTE,
            describe=lambda arguments: _sketch("End", arguments),
        )

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return frozenset()

    async def prepare(self, call_id: str, arguments: JsonObject) -> Prepared:
        job = self.jobs.find(string(arguments, "job"))

        async def run() -> ToolOutcome:
            had_ended = job.command.ended
            job.command.end()
            await job.command.wait_gone(_ENDING)
            end = "had already ended" if had_ended else "was ended"
            if not job.command.gone:
                end = "was told to end, but some of it still runs"
            return said(f"{job.take()}\n{job.id} {end}.")

        return Prepared(single(run))


def _sketch(verb: str, arguments: JsonObject) -> Sketch:
    name = arguments.get("job")
    named = one_line(name, 60) if isinstance(name, str) else ""
    return Sketch(f"{verb} {named or 'a job'}")
