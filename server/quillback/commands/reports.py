"""What the built-in commands answer, as short Markdown."""

from collections.abc import Iterable, Sequence

from quillback.core.audit import AuditRecord, DecidedBy, Decision
from quillback.core.commands import CommandInfo, Desk
from quillback.core.rules import MODES
from quillback.core.text import one_line
from quillback.core.undo import UndoReport
from quillback.core.verdict import Allow

_WHO = {
    DecidedBy.INSPECTORS: "the inspectors",
    DecidedBy.RULE: "a rule of yours",
    DecidedBy.USER: "you",
}
_ARGUMENTS = 100
_REASON = 160


def code(text: str) -> str:
    """`text` in one line between backticks."""
    line = one_line(text, 300)
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def command_line(info: CommandInfo) -> str:
    typed = code(f"/{info.name} {info.hint}".rstrip())
    return f"- {typed}: {info.description}" if info.description else f"- {typed}"


def modes(desk: Desk) -> str:
    lines = [f"- `{mode.value}`: {about}" for mode, (_, about) in MODES.items()]
    now = f"The mode is `{desk.record.mode.value}`. `/mode MODE` changes it:"
    return "\n".join([now, "", *lines])


def models(desk: Desk) -> str:
    lines = [f"- {code(name)}" for name in desk.models()]
    now = f"The model is {code(desk.record.model)}. `/model MODEL` changes it:"
    return "\n".join([now, "", *lines])


def cost(desk: Desk) -> str:
    window, used = desk.model.context_window, desk.context_used
    share = f" ({100 * used / window:.0f} %)" if window else ""
    known = "" if desk.model.price else " The price of this model is not known, so its requests count as free."
    return (
        f"This session has cost ${desk.record.cost:.4f}.{known}\n\n"
        f"{used:,} of {window:,} tokens{share} of the context window of {code(desk.record.model)} are in use."
    )


def audit(records: Sequence[AuditRecord], count: int) -> str:
    if not records:
        return "Nothing has been decided in this session yet."
    shown = records[-count:]
    some = f"The last {len(shown)} of {len(records)} decisions"
    head = some if len(shown) < len(records) else "All decisions of this session"
    return "\n".join([f"{head}, newest last:", "", *map(_decision, shown)])


def _decision(record: AuditRecord) -> str:
    allowed = record.decision is Decision.ALLOW
    word = "allowed" if allowed else "**denied**"
    call = code(f"{record.tool} {one_line(record.arguments, _ARGUMENTS)}")
    reasons = [f.verdict.reason for f in record.findings if not isinstance(f.verdict, Allow) and f.verdict.reason]
    why = f": {one_line('; '.join(dict.fromkeys(reasons)), _REASON)}" if reasons else ""
    return f"- {word} by {_WHO[record.decided_by]}: {call}{why}"


NOT_COVERED = "What shell commands and other servers changed is not part of this."


def undone(report: UndoReport) -> str:
    if not report.prompt:
        return "There is nothing to undo: no turn of this session that changed files is left."
    lines = [
        *(f"- restored {code(path)}" for path in report.restored),
        *(f"- removed {code(path)}, which the turn had made" for path in report.removed),
        *(f"- left {code(path)} as it is: {why}" for path, why in report.kept),
    ]
    done = bool(report.restored or report.removed)
    head = "The last turn that changed files is undone:" if done else "Nothing was changed:"
    return "\n".join([head, "", *lines, "", NOT_COVERED]) if lines else "There is nothing to undo."


def helped(groups: Iterable[tuple[str, Sequence[CommandInfo]]], notes: Sequence[str]) -> str:
    """All commands under the headings of their origins, then what is to be said of those that are missing."""
    blocks = [f"**{origin}**\n\n" + "\n".join(map(command_line, infos)) for origin, infos in groups if infos]
    if notes:
        blocks.append("**Not usable**\n\n" + "\n".join(f"- {note}" for note in notes))
    return "\n\n".join(blocks)
