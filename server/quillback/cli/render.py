"""Shows a turn to a person while it happens."""

from quillback.cli.flow import MarkdownFlow
from quillback.cli.question import write_answer, write_question
from quillback.cli.screen import Screen
from quillback.cli.tool_lines import title, write_call, write_diffs, write_plan
from quillback.cli.view import prompt_marks
from quillback.core.event import (
    Continued,
    Event,
    Growth,
    MessageAdded,
    MessageDropped,
    Noticed,
    PartClosed,
    PartGrew,
    PartOpened,
    RetryScheduled,
    StopReason,
    ToolChanged,
    ToolProgressed,
    ToolStarted,
    TurnCompleted,
)
from quillback.core.message import (
    Message,
    MessageState,
    Notice,
    Part,
    Role,
    Severity,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from quillback.core.ports import Choice, PermissionAsk, SessionRecord

STYLES = {Severity.INFO: "dim", Severity.WARNING: "yellow", Severity.ERROR: "bold red"}
ENDINGS = {
    StopReason.MAX_TOKENS: "Stopped: the reply reached its limit of tokens.",
    StopReason.MAX_TURN_REQUESTS: "Stopped: the turn reached its limit.",
    StopReason.REFUSAL: "Stopped: the model declined.",
    StopReason.CANCELLED: "Cancelled.",
}


class Renderer:
    """Implements View on a screen. A blank line stands between things of different kinds."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self._section = ""
        self._flow = MarkdownFlow()
        self._calls: dict[str, ToolUse] = {}
        self._answered: set[str] = set()
        self._diffs_shown: set[str] = set()
        self._attempt_shown = False
        self._explained = ""
        self._held: Message | None = None
        self._session = ""
        self._cwd = ""

    def opened(self, record: SessionRecord) -> None:
        self._session, self._cwd = record.id, record.cwd

    def failed(self, message: str) -> None:
        self._begin("")

    async def flush(self) -> None:
        await self.screen.flush()

    def hurry(self) -> None:
        self.screen.hurry()

    # ------------------------------------------------------------ events

    def show(self, event: Event) -> None:
        held, self._held = self._held, None
        if held is not None and not (isinstance(event, TurnCompleted) and event.final == held.text()):
            self._message(held)  # else it comes with the end of the command
        match event:
            case PartGrew(growth=Growth.TEXT, text=text, run_id=run):
                self._attempt_shown = True
                self._text(text, run)
            case PartGrew(growth=Growth.THOUGHT, text=text, run_id=run):
                self._attempt_shown = True
                self._thought(text, run)
            case PartOpened(part=ToolUse() as call) | ToolStarted(call=call):
                self._begin("tools")
                self.screen.status(f"{title(call)} …")
            case PartClosed(part=ToolUse() as call) | ToolChanged(call=call):
                self._calls[call.id] = call
            case ToolProgressed(call_id=call_id, shown=shown):
                printed = "".join(s.text for s in shown if isinstance(s, Text))
                self.screen.status(f"{title(self._calls.get(call_id))} … {printed.rstrip().rpartition(chr(10))[2]}")
            case MessageAdded(message=message):
                self._attempt_shown = False
                if message.role is Role.ASSISTANT:  # said by the turn itself: why it ends
                    self._explained = next((p.run_id for p in message.parts if isinstance(p, Text)), "")
                    self._held = message
                else:
                    self._message(message)
            case MessageDropped() if self._attempt_shown:
                self._attempt_shown = False
                self.note("That reply broke off and is not kept.", "yellow")
            case RetryScheduled(attempt=attempt, attempts=attempts, delay=delay, reason=reason):
                self.note(f"{reason} Trying again in {delay:.0f} s ({attempt} of {attempts}).", "yellow")
            case Continued(why=why) if why:
                self.note(f"Going on: {why}", "dim")
            case Noticed(title=said, severity=severity, description=description):
                self.note(" ".join(t for t in (said, description) if t), STYLES[severity])
            case TurnCompleted():
                self._completed(event)
            case _:
                pass

    def replay(self, message: Message) -> None:
        """A stored message, prompts included."""
        if message.role is not Role.USER:
            self._message(message)
            if message.state is MessageState.INTERRUPTED:
                self.note("(broke off here)", "yellow")
        elif message.visible_to_user:
            self._prompt(message)

    def _prompt(self, message: Message) -> None:
        self._begin(message.id)
        for line in f"{prompt_marks(message)} {message.text()}".strip().split("\n"):
            self.screen.line(f"> {line}", "bold")

    def _message(self, message: Message) -> None:
        if message.steered and message.visible_to_user:
            self._prompt(message)
        elif message.role is not Role.USER and message.visible_to_user:
            for part in message.parts:
                self._part(part)

    def _part(self, part: Part) -> None:
        match part:
            case Text(text=text, run_id=run):
                self._text(text, run)
            case Thinking(text=text, run_id=run):
                self._thought(text, run)
            case Notice(text=text, severity=severity):
                self.note(text, STYLES[severity])
            case ToolUse():
                self._calls[part.id] = part
            case ToolResult():
                self._result(part)
            case _:
                pass

    def _completed(self, event: TurnCompleted) -> None:
        explained = bool(self._explained) and self._explained == event.message_id
        if not event.error and not explained and event.stop_reason in ENDINGS:
            self.note(ENDINGS[event.stop_reason], "yellow")
        self._begin("end")
        if event.error and not event.input_tokens and not event.output_tokens:
            return
        facts = [f"{event.input_tokens:,} tokens in, {event.output_tokens:,} out"]
        if event.cost:
            facts.append(f"${event.cost:.4f}")
        self.screen.line(" · ".join([*facts, self._session]), "dim")

    def end(self) -> None:
        """Nothing more comes: name the calls whose result never came."""
        for call in self._calls.values():
            if call.id not in self._answered:
                self._begin("tools")
                self.screen.line(f"? {title(call)} (no result)", "yellow")
        self._begin("end")

    # ------------------------------------------------------------ text

    def _text(self, text: str, run: str) -> None:
        fresh = self._begin(f"text {run}")
        for piece, style in self._flow.feed(text.replace("\r", "").lstrip("\n") if fresh else text.replace("\r", "")):
            self.screen.write(piece, style)

    def _thought(self, text: str, run: str) -> None:
        fresh = self._begin(f"thought {run}")
        if fresh and not self.screen.coloured:
            self.screen.write("thinking: ")
        self.screen.write(text.lstrip("\n") if fresh else text, "dim italic")

    def note(self, text: str, style: str) -> None:
        self._begin("note")
        self.screen.line(text, style)

    def _begin(self, section: str) -> bool:
        """Whether this is a new section: what is written next is of another kind than what was written last."""
        if section == self._section:
            return False
        for piece, style in self._flow.end():
            self.screen.write(piece, style)
        self._flow = MarkdownFlow()
        self.screen.blank_line()
        self._section = section
        return True

    # ------------------------------------------------------------ tools

    def _result(self, result: ToolResult) -> None:
        self._begin("tools")
        self._answered.add(result.call_id)
        write_call(self.screen, self._calls.get(result.call_id), result)
        if not result.is_error and result.call_id not in self._diffs_shown:
            write_diffs(self.screen, result.shown, self._cwd)
        if result.plan is not None:
            write_plan(self.screen, result.plan)

    def asked(self, ask: PermissionAsk) -> None:
        self._begin("tools")
        write_question(self.screen, ask, self._cwd)
        self._diffs_shown.add(ask.call.id)

    def asked_elsewhere(self, ask: PermissionAsk) -> None:
        self._diffs_shown.add(ask.call.id)

    def answered(self, ask: PermissionAsk, choice: Choice, note: str) -> None:
        self._begin("tools")
        self.screen.write("  ")
        write_answer(self.screen, choice, note)
