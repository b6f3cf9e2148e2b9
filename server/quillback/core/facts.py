"""What a stream says of itself, across the summaries in it: the task, the last prompts, the plan, the files known."""

from collections.abc import Iterable

from quillback.core.message import Diff, FileSeen, Message, MessageState, PlanEntry, Role
from quillback.core.stream import summary_of

LAST_PROMPTS = 4


def user_said(messages: Iterable[Message]) -> tuple[str, tuple[str, ...]]:
    """What the user wrote in the first prompt, and in the last four; without the files that prompts link to."""
    task, said = "", [""][:0]
    for message in messages:
        summary = summary_of(message)
        if summary is not None:
            task, said = summary.task, list(summary.said)
        elif _is_prompt(message) and (text := message.text()):
            task = task or text
            said = [*said, text][-LAST_PROMPTS:]
    return task, tuple(said)


def last_plan(messages: Iterable[Message]) -> tuple[PlanEntry, ...] | None:
    plan = None
    for message in messages:
        summary = summary_of(message)
        if summary is not None:
            plan = summary.plan
        for result in message.tool_results():
            plan = result.plan if result.plan is not None else plan
    return plan


def files_seen(messages: Iterable[Message]) -> tuple[FileSeen, ...]:
    """The files that the session has read or written, each once, with the content it knows last."""
    seen: dict[str, FileSeen] = {}
    for message in messages:
        summary = summary_of(message)
        found = [*(summary.seen if summary else ()), *(s for r in message.tool_results() for s in r.seen)]
        for file in found:
            seen.pop(file.path, None)
            seen[file.path] = file
    return tuple(seen.values())


def files_changed(messages: Iterable[Message]) -> tuple[str, ...]:
    """The paths whose change was shown as a diff."""
    changed: list[str] = []
    for message in messages:
        summary = summary_of(message)
        changed += summary.changed if summary else ()
        changed += [s.path for r in message.tool_results() if not r.is_error for s in r.shown if isinstance(s, Diff)]
    return tuple(dict.fromkeys(changed))


def open_items(plan: tuple[PlanEntry, ...] | None) -> tuple[PlanEntry, ...]:
    return tuple(e for e in plan or () if e.status != "completed")


def item_line(entry: PlanEntry) -> str:
    mark = {"completed": "x", "in_progress": "~"}.get(entry.status, " ")
    return f"- [{mark}] {entry.content}"


def _is_prompt(message: Message) -> bool:
    return message.role is Role.USER and message.visible_to_user and message.state is MessageState.COMPLETE
