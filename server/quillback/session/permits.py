"""Decides of each call whether it may run: the inspectors first, then the user where they say so; writes it down."""

from collections.abc import Awaitable, Callable
from typing import assert_never

from attrs import frozen

from quillback.core.audit import (
    AuditRecord,
    DecidedBy,
    Decision,
    Finding,
    arguments_text,
    denial,
    without_asking,
)
from quillback.core.mask import Mask
from quillback.core.message import ToolUse
from quillback.core.model import ToolSpec
from quillback.core.ports import (
    Choice,
    Editor,
    EditorError,
    Inspection,
    Mode,
    PermissionAsk,
    PreparedCall,
    Rule,
    RuleEffect,
    Store,
    StoreError,
)
from quillback.core.verdict import Ask, Deny, Verdict, merge
from quillback.session.masking import hidden_findings, hidden_shown
from quillback.session.questions import Questions

CHAT = "not run: the session is in chat mode, where no tool runs. Describe what you would do instead."
REJECTED = "The user rejected this call. Do not try it again unless asked; go on another way, or ask the user."

HOOK = "hook"
"""What hooks are called among the inspectors, in the audit."""

Inspected = tuple[Verdict, tuple[Finding, ...]]


class AskCancelled(Exception):
    """The editor answered a permission question with `cancelled`: the turn has ended, its calls are answered."""


class Refused(Exception):
    """The call does not run; the text is for the model. `by_user` when the user said no."""

    def __init__(self, text: str, *, by_user: bool = False) -> None:
        super().__init__(text)
        self.by_user = by_user


@frozen
class Permits:
    """`mode` and `said` (the first prompt, and the last four) are read anew for each call.

    `rule` names the narrowest rule for a call. `cancel` ends the turn. `repeats` are the calls that the turn refused by
    itself and why; they are taken from it when they are written down.
    """

    session_id: str
    root: str
    roots: tuple[str, ...]
    editor: Editor
    store: Store
    inspect: Callable[[Inspection], Awaitable[Inspected]]
    rule: Callable[[Inspection], str]
    mode: Callable[[], Mode]
    said: Callable[[], tuple[str, tuple[str, ...]]]
    now: Callable[[], int]
    cancel: Callable[[], None]
    repeats: list[tuple[ToolUse, str]]
    mask: Mask

    def check_mode(self, call: ToolUse) -> None:
        """Raises Refused in chat mode, where no call is even looked at, the editor's own tools included."""
        if self.mode() is Mode.CHAT:
            refusal = (Finding("permission", Deny(CHAT)),)
            self._write(call, refusal, Decision.DENY, DecidedBy.INSPECTORS, Mode.CHAT)
            raise Refused(CHAT)

    async def ask(
        self,
        call: ToolUse,
        spec: ToolSpec,
        prepared: PreparedCall,
        questions: Questions,
        hooked: tuple[Finding, ...] = (),
    ) -> None:
        """Returns when the call may run. Raises Refused or AskCancelled. `hooked` is what hooks said of the call.

        The editor decides about its own tools; only chat mode, or a hook that wants a question, comes before that.
        """
        if spec.frontend:
            self.check_mode(call)
            if not _asks(hooked):
                return
        inspection = await self._inspection(call, spec, prepared)
        verdict, findings = await self._verdict(inspection, hooked)
        if isinstance(verdict, Ask):
            async with questions.turn_of(call.id):
                # the answer to a question before, or a change of mode, may have settled this one
                now = await self._inspection(call, spec, prepared)
                if now != inspection:
                    inspection = now
                    verdict, findings = await self._verdict(inspection, hooked)
                if isinstance(verdict, Ask):
                    await self._ask(inspection, prepared, verdict.reason, findings)
                    return
        decision = Decision.DENY if isinstance(verdict, Deny) else Decision.ALLOW
        self._write(call, findings, decision, without_asking(findings, decision), inspection.mode)
        if decision is Decision.DENY:
            raise Refused(denial(findings))

    def refuse(self, call: ToolUse, finding: Finding) -> None:
        """Write down a refusal that came before the inspectors."""
        self._write(call, (finding,), Decision.DENY, DecidedBy.INSPECTORS, self.mode())

    def write_repeats(self) -> None:
        """Write down which calls the turn refused to repeat. The other inspectors were not asked about them."""
        while self.repeats:
            call, reason = self.repeats.pop(0)
            findings = (Finding("repetition", Deny(reason)),)
            self._write(call, findings, Decision.DENY, DecidedBy.INSPECTORS, self.mode())

    async def _verdict(self, inspection: Inspection, hooked: tuple[Finding, ...]) -> Inspected:
        """That of the inspectors, which hooks can only make stricter."""
        if inspection.spec.frontend:
            return merge(f.verdict for f in hooked), hooked
        verdict, findings = await self.inspect(inspection)
        return (merge((verdict, *(f.verdict for f in hooked))), (*findings, *hooked)) if hooked else (verdict, findings)

    async def _inspection(self, call: ToolUse, spec: ToolSpec, prepared: PreparedCall) -> Inspection:
        task, said = self.said()
        return Inspection(
            session_id=self.session_id,
            call=call,
            spec=spec,
            access=prepared.access,
            mode=self.mode(),
            roots=self.roots,
            rules=tuple(await self.store.rules(self.root)),
            task=task,
            said=said,
        )

    async def _ask(
        self, inspection: Inspection, prepared: PreparedCall, reason: str, findings: tuple[Finding, ...]
    ) -> None:
        """Put the question. Whatever ends it other than a yes is written down as a no."""
        call = inspection.call
        await self.store.flush()
        always_asks = any(isinstance(f.verdict, Ask) and (f.verdict.rule or f.inspector == HOOK) for f in findings)
        rule = "" if always_asks else self.rule(inspection)
        ask = PermissionAsk(
            call,
            hidden_shown(self.mask, prepared.shown),
            prepared.locations or call.locations,
            self.mask.hide(reason),
            rule,
        )
        decision, by = Decision.DENY, DecidedBy.USER
        try:
            await self._answered(ask)
            decision = Decision.ALLOW
        except StoreError:
            by = DecidedBy.INSPECTORS  # the user said yes, and it could not be kept
            raise
        except EditorError as error:
            by = DecidedBy.INSPECTORS
            raise Refused(f"not run: the user could not be asked for permission ({error})") from None
        finally:
            self._write(call, findings, decision, by, inspection.mode)

    async def _answered(self, ask: PermissionAsk) -> None:
        """Returns on a yes. Raises Refused, AskCancelled, EditorError, StoreError."""
        choice = await self.editor.ask_permission(self.session_id, ask)
        match choice:
            case Choice.ALLOW_ONCE:
                return
            case Choice.ALLOW_ALWAYS:
                await self._remember(ask.rule, RuleEffect.ALLOW)
            case Choice.REJECT_ALWAYS:
                await self._remember(ask.rule, RuleEffect.REJECT)
                raise Refused(REJECTED, by_user=True)
            case Choice.REJECT_ONCE:
                raise Refused(REJECTED, by_user=True)
            case Choice.CANCELLED:
                self.cancel()  # before the next question is let through
                raise AskCancelled
            case _:
                assert_never(choice)

    async def _remember(self, rule: str, effect: RuleEffect) -> None:
        if rule:
            await self.store.add_rule(Rule(self.root, rule, effect))

    def _write(
        self, call: ToolUse, findings: tuple[Finding, ...], decision: Decision, by: DecidedBy, mode: Mode
    ) -> None:
        self.write_repeats()
        self.store.audit(
            AuditRecord(
                session_id=self.session_id,
                call_id=call.id,
                tool=call.name,
                arguments=arguments_text(call.input, self.mask),
                decision=decision,
                decided_by=by,
                findings=hidden_findings(self.mask, findings),
                mode=mode,
                at=self.now(),
            )
        )


def _asks(findings: tuple[Finding, ...]) -> bool:
    return any(isinstance(f.verdict, Ask) for f in findings)
