"""Finds out whether a recipe's work is done: runs its checks, and says what failed and how."""

import re
from collections.abc import Awaitable, Callable

from attrs import frozen

from quillback.core.audit import AuditRecord, DecidedBy, Decision, arguments_text, denial, without_asking
from quillback.core.mask import Mask
from quillback.core.message import ToolKind, ToolUse
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import Access, Inspection, Store
from quillback.core.process import Ran, RunCommand
from quillback.core.rules import Mode
from quillback.core.text import one_line
from quillback.core.turn_types import Check, Recipe
from quillback.core.verdict import Deny
from quillback.session.permits import Inspected

OUTPUT_LIMIT = 20_000
"""Characters of all that is said of failed checks."""
TOOL = "recipe_check"
"""What the audit calls a command of a recipe."""

_HEADLINE = 200
_SHOWN = 200
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b.?")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SHELL = ToolSpec("shell", "", {"type": "object"}, ToolKind.EXECUTE, lambda _: Sketch("Run a command"))

Allowed = Callable[[str], Awaitable[str]]
"""Why a command must not run; empty when it may."""


@frozen
class _Failure:
    command: str
    ending: str
    output: str = ""


async def anything(command: str) -> str:
    return ""


async def run_checks(recipe: Recipe, run: RunCommand, cwd: str, allowed: Allowed = anything) -> str:
    """What failed, the first line how many; empty when all checks passed. `on_failure` runs behind the last of them.

    All checks run, one after the other, also when one of them failed: the model should know of everything.
    """
    failures = [f for check in recipe.checks if (f := await _one(check, run, cwd, allowed)) is not None]
    if not failures:
        return ""
    note = ""
    if recipe.on_failure is not None and (failed := await _one(recipe.on_failure, run, cwd, allowed)) is not None:
        note = f"\n\nThe command that cleans up after a failure failed too: {failed.command}\n{failed.ending}"
    return _told(failures, len(recipe.checks)) + note


async def _one(check: Check, run: RunCommand, cwd: str, allowed: Allowed) -> _Failure | None:
    shown = one_line(check.command, _SHOWN)
    if reason := await allowed(check.command):
        return _Failure(shown, f"[{one_line(reason, _SHOWN)}]")
    ran = await run(check.command, cwd=cwd, seconds=check.seconds)
    if ran.code == 0:
        return None
    return _Failure(shown, _ending(ran, check.seconds), _output(ran))


def _ending(ran: Ran, seconds: float) -> str:
    if ran.code is None:
        return f"[{one_line(ran.problem, _SHOWN) or f'not done after {seconds:g} seconds'}]"
    return f"[exit code {ran.code}]" if ran.code > 0 else f"[ended by signal {-ran.code}]"


def _output(ran: Ran) -> str:
    out, err = _clean(ran.out), _clean(ran.err)
    if not (out and err):
        return out or err
    half = OUTPUT_LIMIT // 2
    room = max(half, OUTPUT_LIMIT - len(out)), max(half, OUTPUT_LIMIT - len(err))
    return f"{_tail(out, room[1])}\n{_tail(err, room[0])}"


def _told(failures: list[_Failure], checks: int) -> str:
    """Each failure has an equal share; what one does not need is for the others."""
    room, texts = OUTPUT_LIMIT - _HEADLINE, dict.fromkeys(range(len(failures)), "")
    for left, i in enumerate(sorted(texts, key=lambda i: len(failures[i].output))):
        failure = failures[i]
        frame = f"$ {failure.command}\n{failure.ending}"
        output = _tail(failure.output, room // (len(failures) - left) - len(frame) - 2)
        texts[i] = f"{frame}\n{output}" if output else frame
        room -= len(texts[i]) + 2
    count = (
        "The check of this work failed" if checks == 1 else f"{len(failures)} of {checks} checks of this work failed"
    )
    return "\n\n".join((f"{count}.", *texts.values()))[:OUTPUT_LIMIT]


def _tail(text: str, limit: int) -> str:
    """The end is where commands say what went wrong. It begins with a line, unless the lines are very long."""
    if len(text) <= limit:
        return text
    omitted = f"[... {len(text):,} characters, the end of them:]\n"
    if limit <= len(omitted):
        return ""
    end = text[len(text) - limit + len(omitted) :]
    cut, _, rest = end.partition("\n")
    return omitted + (rest if rest and len(cut) < _SHOWN else end)


def _clean(text: str) -> str:
    return _CONTROLS.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n"))).strip("\n")


@frozen
class CheckGate:
    """Implements Allowed: the inspectors look at a recipe's command as at one of the shell tool. Raises StoreError.

    The user wrote it, or trusts who did, so nobody is asked and the session's mode says nothing; but what an inspector
    denies does not run. `mode` is the session's, for the audit; the other fields are those of Permits.
    """

    inspect: Callable[[Inspection], Awaitable[Inspected]]
    store: Store
    session_id: str
    roots: tuple[str, ...]
    mode: Callable[[], Mode]
    now: Callable[[], int]
    new_id: Callable[[str], str]
    said: Callable[[], tuple[str, tuple[str, ...]]]
    mask: Mask

    async def __call__(self, command: str) -> str:
        call = ToolUse(self.new_id("check"), "", "shell", {"command": command})
        task, said = self.said()
        inspection = Inspection(
            session_id=self.session_id,
            call=call,
            spec=_SHELL,
            access=Access(command=command, cwd=self.roots[0]),
            mode=Mode.AUTO,
            roots=self.roots,
            rules=(),
            task=task,
            said=said,
        )
        verdict, findings = await self.inspect(inspection)
        decision = Decision.DENY if isinstance(verdict, Deny) else Decision.ALLOW
        by = without_asking(findings, decision) if decision is Decision.DENY else DecidedBy.USER
        self.store.audit(
            AuditRecord(
                session_id=self.session_id,
                call_id=call.id,
                tool=TOOL,
                arguments=arguments_text(call.input, self.mask),
                decision=decision,
                decided_by=by,
                findings=findings,
                mode=self.mode(),
                at=self.now(),
            )
        )
        await self.store.flush()
        return denial(findings) if decision is Decision.DENY else ""
