"""shell: runs a command line in the session's directory and shows its output while it runs."""

import asyncio
import shutil
from typing import Any

from attrs import frozen

from quillback.core.message import JsonObject, Text, ToolKind
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import Access, ToolError, ToolOutcome, ToolProgress
from quillback.tools.call import Prepared, Steps, flag, said, schema, seconds, single, string
from quillback.tools.command import Commands
from quillback.tools.context import ToolContext
from quillback.tools.environment import command_environment
from quillback.tools.jobs import Jobs
from quillback.tools.output import NOTHING, Output, ending
from quillback.tools.places import real_path, standing
from quillback.tools.sandbox import PROTECTED, Cell
from quillback.tools.terminal import in_terminal
from quillback.tools.text import clean, one_line
from quillback.tools.unsaved import noted

TIMEOUT = 120.0
TIMEOUT_LIMIT = 3600.0
_FRAME = 0.1
_TAIL = 16 * 1024
_ENDING = 2.0
_REASON = 200
_WAY_OUT: dict[str, dict[str, Any]] = {
    "outside_sandbox": {"type": "boolean", "description": "run it without the sandbox, if the user agrees"},
    "reason": {"type": "string", "description": "why it must run outside; shown to the user"},
}

_BASICS = f"""Run a command line with bash in the session's directory. Each call starts there anew: a `cd` or a \
variable does not last. Standard input is empty, there is no terminal, pagers and editors are off, and keys of model \
providers are not in the environment.
Returns standard output and standard error as they were mixed, and the exit code when it is not 0. After `timeout` \
seconds ({TIMEOUT:.0f} by default, at most {TIMEOUT_LIMIT:.0f}) the command is ended.
"""
DESCRIPTION = f"""{_BASICS}Processes it leaves behind (`server &`) keep running, unseen, until the session ends. For \
one whose output matters use background=true: it returns a job at once, for shell_output and shell_kill."""
CONFINED = f"""{_BASICS}Processes it leaves behind (`server &`) end with it. For one that is to go on use \
background=true: it returns a job at once, for shell_output and shell_kill.
Commands run in a sandbox: they can write below the session's directories and in a /tmp that only they see, and \
nowhere else; {", ".join(PROTECTED)} there are read-only.{{network}} Where that is in the way of what has to be done, \
set outside_sandbox=true and say in `reason` what for: the user is asked. Do not work around the sandbox."""
_NO_NETWORK = " There is no network."


@frozen
class Shell:
    context: ToolContext
    commands: Commands
    jobs: Jobs
    cell: Cell | None = None

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name="shell",
            description=self._description(),
            input_schema=schema(
                ("command",),
                command={"type": "string", "description": "the command line"},
                timeout={"type": "number", "minimum": 0, "description": "seconds; no use with background"},
                background={"type": "boolean", "description": "run it as a job and return at once"},
                **({} if self.cell is None else _WAY_OUT),
            ),
            kind=ToolKind.EXECUTE,
            describe=_describe,
        )

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return frozenset()

    async def prepare(self, call_id: str, arguments: JsonObject) -> Prepared:
        line = _line(arguments)
        limit = seconds(arguments, "timeout", TIMEOUT, TIMEOUT_LIMIT)
        if not limit:
            raise ToolError("timeout must be more than 0 seconds")
        escalation = await self._escalation(arguments)
        cell = None if escalation else self.cell
        real = real_path(self.context.cwd)
        access = Access(command=line, cwd=real, escalation=escalation)
        if flag(arguments, "background"):
            job = single(lambda: self._start_job(line, real, cell))
            return Prepared(lambda: noted(self.context, job()), access)
        if cell is None and self.context.shell_in_editor and self.context.editor.capabilities.terminal:
            return Prepared(lambda: noted(self.context, in_terminal(self.context, call_id, line, real, limit)), access)
        return Prepared(lambda: noted(self.context, self._run(call_id, line, real, limit, cell)), access)

    def _description(self) -> str:
        """What holds for commands here; a sandbox that does not work is not claimed to be there."""
        if self.cell is None or self.cell.problem:
            return DESCRIPTION
        return CONFINED.format(network=_NO_NETWORK if self.cell.offline else "")

    async def _escalation(self, arguments: JsonObject) -> str:
        """Why this call is not confined although a sandbox is configured."""
        if self.cell is None:
            return ""
        if problem := await self.cell.look():
            return f"the sandbox is configured but not available ({problem}): this command runs without it"
        if not flag(arguments, "outside_sandbox"):
            return ""
        reason = one_line(clean(string(arguments, "reason")), _REASON) or "no reason was given"
        return f"this command is to run outside the sandbox ({reason})"

    async def _start_job(self, line: str, real: str, cell: Cell | None) -> ToolOutcome:
        environment = command_environment(self.context.secret_env)
        with standing(self.context.cwd, real) as cwd:
            job = self.jobs.start(line, _argv(line, cell), cwd, environment, boxed=cell is not None)
        return said(f"Started {job.id}. Its output comes with shell_output; shell_kill ends it.")

    async def _run(self, call_id: str, line: str, real: str, limit: float, cell: Cell | None) -> Steps:
        output = Output(self.context.outputs, f"shell-{call_id}", self.context.mask)
        environment = command_environment(self.context.secret_env)
        with standing(self.context.cwd, real) as cwd:
            command = self.commands.start(_argv(line, cell), cwd, environment, output.feed, boxed=cell is not None)
        clock = asyncio.get_running_loop().time
        deadline, next_frame, seen = clock() + limit, 0.0, 0
        try:
            while not command.ended and clock() < deadline:
                await command.change(min(deadline, next_frame if output.received > seen else deadline) - clock())
                if output.received > seen and clock() >= next_frame and not command.ended:
                    seen, next_frame = output.received, clock() + _FRAME
                    yield ToolProgress((Text(output.tail(_TAIL)),))
            timed_out = not command.ended
            if timed_out:
                command.end()
                await command.wait_gone(_ENDING)
            else:
                await command.settle()
        except BaseException:
            command.end()
            raise
        finally:
            command.sink = None
            text = output.take(final=True)
        if timed_out:
            end = "was ended" if command.gone else "was told to end, but some of it still runs"
            last = f"[timed out after {limit:g} s and {end}]"
        else:
            last = f"[could not run: {command.failure}]" if command.failure else ending(command.exit_status or 0)
        yield _outcome(text, last, command.exit_status, timed_out)


def _outcome(text: str, last: str, status: int | None, timed_out: bool) -> ToolOutcome:
    whole = "\n".join(part for part in (text or NOTHING, last) if part)
    raw = {"exit_code": status, "timed_out": timed_out}
    return said(whole, is_error=last != "", raw_output=raw)


def _line(arguments: JsonObject) -> str:
    line = string(arguments, "command")
    if not line.strip():
        raise ToolError("the command is empty")
    if "\0" in line:
        raise ToolError("the command holds a NUL character")
    try:
        line.encode()
    except UnicodeEncodeError:
        raise ToolError("the command is not valid Unicode text") from None
    return line


def _argv(line: str, cell: Cell | None) -> tuple[str, ...]:
    plain = (shutil.which("bash") or "/bin/sh", "-c", line)
    return plain if cell is None else cell.confined(plain)


def _describe(arguments: JsonObject) -> Sketch:
    line = arguments.get("command")
    return Sketch((one_line(line) if isinstance(line, str) else "") or "Run a command")
