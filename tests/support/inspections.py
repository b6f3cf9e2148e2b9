"""Short ways to write what inspectors judge, and a small model that answers as the test says."""

from typing import Any

from attrs import define, field

from quillback.core.message import ToolKind, ToolUse
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import Access, Inspection, Mode, Rule, RuleEffect
from quillback.core.side import SideModelError

ROOT = "/ws/space"


def spec(name: str, *, read_only: bool = False) -> ToolSpec:
    return ToolSpec(name, "Does it.", {"type": "object"}, ToolKind.OTHER, lambda _: Sketch(name), read_only=read_only)


def inspection(tool: str = "tool", access: Access | None = None, *, read_only: bool = False, **more: Any) -> Inspection:
    """A call of `tool`; `given` is its input, and the other options are fields of Inspection."""
    call = ToolUse("c1", "t1", tool, more.pop("given", {}))
    plain = {"session_id": "s1", "mode": Mode.APPROVE, "roots": (ROOT, "/more"), "rules": ()}
    return Inspection(call=call, spec=spec(tool, read_only=read_only), access=access or Access(), **{**plain, **more})


def command(line: str, **more: Any) -> Inspection:
    return inspection("shell", Access(command=line, cwd=ROOT), given={"command": line}, **more)


def writing(*paths: str, tool: str = "write_file", **more: Any) -> Inspection:
    return inspection(tool, Access(writes=paths), given={"path": paths[0]}, **more)


def reading(*paths: str, tool: str = "read_file", **more: Any) -> Inspection:
    return inspection(tool, Access(reads=paths), given={"path": paths[0]}, **{"read_only": True, **more})


def configured(*, allow: str = "", ask: str = "", deny: str = "") -> list[Rule]:
    """Rules of the configuration; several of one kind are separated by ` & `."""
    lists = ((RuleEffect.ALLOW, allow), (RuleEffect.ASK, ask), (RuleEffect.REJECT, deny))
    return [Rule("", pattern, effect) for effect, text in lists for pattern in text.split(" & ") if pattern]


def answered(pattern: str, effect: RuleEffect = RuleEffect.ALLOW) -> Rule:
    """A stored answer."""
    return Rule(ROOT, pattern, effect)


@define
class Side:
    """Gives `answers` in order; an exception is raised. Without any left, being asked is a failure of the test."""

    answers: list[str | BaseException] = field(factory=list)
    asked: list[tuple[str, str]] = field(factory=list)

    async def ask(self, system: str, user: str) -> str:
        self.asked.append((system, user))
        assert self.answers, "the small model is asked more often than it has answers"
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


FAILED = SideModelError("no answer within 20 seconds")
