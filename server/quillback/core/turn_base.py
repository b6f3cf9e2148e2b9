"""What a turn keeps, and how it comes to its end: the part of `turn` that is the same whatever it does in between."""

from collections.abc import Mapping, Sequence

from attrs import define, field

from quillback.core.attempt import Attempt
from quillback.core.calls import Calls
from quillback.core.compaction import can_shrink, context_size, replace
from quillback.core.continuation import Ask, End, GoOn, Progress, Situation, what_next
from quillback.core.event import (
    CompactionChanged,
    Continued,
    Event,
    MessageAdded,
    Noticed,
    StopReason,
    TurnCompleted,
    UsageChanged,
)
from quillback.core.facts import last_plan
from quillback.core.message import NO_USAGE, Message, Severity, Text, ToolUse, Usage
from quillback.core.model import Failure, ToolSpec
from quillback.core.reminder import Reminder
from quillback.core.repetition import Repetition
from quillback.core.request import Reductions
from quillback.core.stream import Stream
from quillback.core.turn_table import Signal, State, TurnError, move
from quillback.core.turn_types import (
    ChecksRan,
    Compact,
    Compacted,
    CompactionFailed,
    Limits,
    Question,
    Setup,
    StopAnswered,
)

COMPACTIONS = 2
STILL_FULL = "What cannot be summarised (instructions, tools, the prompt) nearly fills the model's context window."
NO_ROOM = "The conversation does not fit the model's context window, and it could not be summarised"


@define
class Counts:
    """How often something happened in a row."""

    steps: int = 0
    attempts: int = 1
    empty: int = 0
    max_tokens: int = 0
    pauses: int = 0
    replies: int = 0


@define
class Context:
    """`tries` counts compactions without a good reply since; `overflowed` says that the next one must succeed."""

    tries: int = 0
    overflowed: bool = False
    off: bool = False
    id: str = ""


@define
class Step:
    """The reply being read and the calls being run."""

    calls: Calls
    tools: Mapping[str, ToolSpec] = field(factory=dict)
    attempt: Attempt | None = None


class TurnBase:
    """`history` is the session's stream, the prompt its last message; the turn appends to it and changes it."""

    def __init__(self, setup: Setup, history: list[Message]) -> None:
        self.state = State.READY
        self.history = history
        self.steers: list[Message] = []  # what the user added and the model has not been told yet
        self.repeats: list[tuple[ToolUse, str]] = []  # the calls that it refused to repeat, and why
        self._setup = setup
        self._stream = Stream(history, setup.session_id, setup.new_id, setup.now)
        self._prompt = len(history) - 1
        self._counts = Counts()
        self._context = Context()
        self._progress = Progress()
        self._reminder = Reminder(last_plan(history))
        self._repetition = Repetition()
        self._step = Step(Calls((), {}, self._repetition))
        self._reductions = Reductions()
        self._continuing = False
        self._superseded: tuple[str, ...] = ()
        self._wait = 0.0
        self._usage = NO_USAGE
        self._cost = 0.0
        self._last = Text("")  # the last run of text
        self._question = Question.STOP_HOOK
        self._passed = False
        self._refused = False  # the prompt was a command that could not be carried out
        self._completed: TurnCompleted | None = None

    @property
    def only_compacts(self) -> bool:
        """Whether no step follows."""
        return self._setup.aim.compact is not None

    @property
    def cost(self) -> float:
        """US dollars of this turn so far."""
        return self._cost

    @property
    def limits(self) -> Limits:
        """Those of this turn."""
        return self._setup.limits

    def _go(self, signal: Signal) -> None:
        self.state = move(self.state, signal)

    def _spend(self, cost: float, usage: Usage) -> None:
        self._cost += cost
        self._usage += usage

    def _usage_changed(self, message: Message) -> UsageChanged:
        used = message.usage.context_size if message.usage else 0
        return UsageChanged(used, self._setup.model.context_window, self._setup.spent + self._cost)

    # ------------------------------------------------------------ compaction

    def _compaction_due(self, tools: Sequence[ToolSpec]) -> bool:
        setup, context = self._setup, self._context
        if setup.aim.compact is not None:
            return True
        if context.off or context.tries:
            return False
        used = context_size(self.history, setup.system, tools)
        return setup.compacting.due(used, setup.model.context_window) and can_shrink(self.history)

    def _overflows(self) -> bool:
        """The request did not fit the window: whether a compaction may cure it."""
        if self._context.tries >= COMPACTIONS or len(self.history) < 2:
            return False
        self._context.overflowed = True
        return True

    def _begin_compaction(self) -> list[Event]:
        self._go(Signal.COMPACTION_DUE)
        self._context.id = self._setup.new_id("cmp")
        return [CompactionChanged(self._context.id, "in_progress")]

    def _compact(self) -> Compact:
        """All but the prompt where nothing was done about that yet."""
        focus = self._setup.aim.compact
        end = self._prompt if self._prompt == len(self.history) - 1 else len(self.history)
        return Compact(tuple(self.history[:end]), focus or "", focus is not None)

    def _compacted(self, given: Compacted) -> list[Event]:
        by_hand = self._setup.aim.compact is not None
        move(self.state, Signal.COMPACTED)
        self._spend(given.cost, given.usage)
        window = self._setup.model.context_window
        out = replace(self._stream, None if by_hand else self._prompt, given.summary, given.cost, window)
        self._prompt = len(self.history) - 1
        self._context.tries += 1
        self._context.overflowed = False
        used = context_size(self.history, self._setup.system, tuple(self._step.tools.values()))
        out.insert(0, CompactionChanged(self._context.id, "completed", given.summary))
        out.append(UsageChanged(used, window, self._setup.spent + self._cost))
        if not by_hand and self._setup.compacting.due(used, window):
            self._context.off = True
            out.append(Noticed(self._setup.new_id("msg"), STILL_FULL, Severity.WARNING))
        if by_hand:
            told = next(e.message for e in out if isinstance(e, MessageAdded))
            self._last = next(p for p in told.parts if isinstance(p, Text))
            return out + self._stop(Signal.COMPACTION_ENDED_TURN, StopReason.END_TURN, say="")
        self._go(Signal.COMPACTED)
        return out

    def _compaction_failed(self, given: CompactionFailed) -> list[Event]:
        ended = Signal.COMPACTION_ENDED_TURN
        move(self.state, ended)
        self._spend(given.cost, given.usage)
        failed = CompactionChanged(self._context.id, "failed", error=given.reason)
        if self._setup.aim.compact is not None:
            say = f"Could not compact: {given.reason} Nothing was changed."
            self._refused = True
            return [failed, *self._stop(ended, StopReason.END_TURN, say=say)]
        if self._context.overflowed:
            text = f"{NO_ROOM}: {given.reason} Send /clear to go on without it, or start a new session."
            return [failed, *self._finish(ended, StopReason.END_TURN, text, Failure.CONTEXT_LENGTH.value)]
        self._context.off = True
        self._go(Signal.COMPACTION_FAILED)
        title = f"The conversation could not be compacted: {given.reason} It goes on as it is."
        return [failed, Noticed(self._setup.new_id("msg"), title, Severity.WARNING)]

    # ------------------------------------------------------------ end

    def _answered(self, given: ChecksRan | StopAnswered) -> list[Event]:
        """What was asked before the end is known."""
        if self.state is not State.ENDING:
            raise TurnError("nothing was asked about the end of the turn")
        match given:
            case ChecksRan(failures=failures):
                self._progress.failures = failures
            case StopAnswered(answer=answer):
                self._progress.stop = answer
        return self._come_to_end()

    def _come_to_end(self) -> list[Event]:
        """The model has nothing more to do: go on all the same, ask about it, or end."""
        ended = _ENDED_FROM.get(self.state)
        if ended is None:
            raise TurnError(f"a turn that is {self.state.value} does not come to its end")
        match what_next(Situation(self._setup.aim, self._progress, bool(self.steers), self._setup.stop_hook)):
            case GoOn(reason=reason, text=text, why=why, fresh=fresh):
                out: list[Event] = [*self._stream.hide_from(self._prompt + 1)] if fresh else []
                told = self._stream.tell_model(Text(text)) if text else None
                self._progress.went_on(reason)
                self._go(Signal.WENT_ON)
                out += [told] if told else []
                return [*out, Continued(reason, told.message.id if told else "", why)]
            case Ask(question=question):
                self._question = question
                self._go(Signal.END_ASKED)
                return []
            case End(say=say, passed=passed):
                self._passed = passed is True
                return self._stop(ended, StopReason.END_TURN, say=say)

    def _stop(self, signal: Signal, reason: StopReason, *, say: str) -> list[Event]:
        """End the turn, after `say` is shown to the user (never to the model)."""
        out: list[Event] = []
        if say:
            told, run = self._stream.tell_user(say)
            out.append(told)
            self._last = Text(say, run)
        return out + self._finish(signal, reason)

    def _finish(self, signal: Signal, reason: StopReason, error: str = "", kind: str = "") -> list[Event]:
        self._go(signal)
        recipe, usage = self._setup.aim.recipe, self._usage
        self._completed = TurnCompleted(
            stop_reason=reason,
            message_id=self._last.run_id,
            text=self._last.text,
            error=error,
            error_kind=kind,
            input_tokens=usage.context_size - usage.output_tokens,
            output_tokens=usage.output_tokens,
            cost=self._cost,
            checks_passed=self._passed if recipe.checks or recipe.output is not None else None,
            final=self._progress.final if self._passed else "",
            refused=self._refused,
        )
        return []


_ENDED_FROM = {
    State.REQUESTING: Signal.REPLY_ENDED_TURN,
    State.RUNNING: Signal.CALLS_ENDED_TURN,
    State.ENDING: Signal.ENDING_ENDED_TURN,
}
