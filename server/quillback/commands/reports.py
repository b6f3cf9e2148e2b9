"""What the built-in commands answer, as short Markdown."""

from collections.abc import Iterable, Sequence

from quillback.core.audit import AuditRecord, DecidedBy, Decision
from quillback.core.commands import CommandInfo, Desk
from quillback.core.rules import MODES
from quillback.core.text import code, one_line
from quillback.core.verdict import Allow

_WHO = {
    DecidedBy.INSPECTORS: "the inspectors",
    DecidedBy.RULE: "a rule of yours",
    DecidedBy.USER: "you",
}
_ARGUMENTS = 100
_REASON = 160


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


def helped(groups: Iterable[tuple[str, Sequence[CommandInfo]]], notes: Sequence[str]) -> str:
    """All commands under the headings of their origins, then what is to be said of those that are missing."""
    blocks = [f"**{origin}**\n\n" + "\n".join(map(command_line, infos)) for origin, infos in groups if infos]
    if notes:
        blocks.append("**Not usable**\n\n" + "\n".join(f"- {note}" for note in notes))
    return "\n\n".join(blocks)
