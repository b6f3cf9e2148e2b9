"""One turn as a pure machine: `next_action` says what to do, `feed` takes what came of it and returns events.

It decides everything and does nothing: no I/O, no clock, no randomness of its own. Transitions are in `turn_table`.
"""

from attrs import evolve

from quillback.core.assemble import Assembler
from quillback.core.attempt import Attempt
from quillback.core.calls import Calls, error_result
from quillback.core.compaction import can_shrink
from quillback.core.event import (
    CompactionChanged,
    Event,
    MessageEnded,
    RetryScheduled,
    StopReason,
)
from quillback.core.message import NO_USAGE, Message, MessageState, Role, Text, ToolResult
from quillback.core.model import Failure, ProviderError
from quillback.core.repair import INTERRUPTED
from quillback.core.reply import Decision, Next, decide
from quillback.core.request import build_request, reduction
from quillback.core.retry import ATTEMPTS, delay, give_up_message
from quillback.core.stream import next_seq
from quillback.core.turn_base import Step, TurnBase
from quillback.core.turn_table import Signal, State, TurnError, move
from quillback.core.turn_types import (
    Action,
    BeginStep,
    CallModel,
    Cancel,
    ChecksRan,
    Compacted,
    CompactionFailed,
    Consult,
    Crash,
    Finish,
    Input,
    Received,
    ReplyEnded,
    RequestFailed,
    RunTools,
    Steered,
    StepBegan,
    StopAnswered,
    ToolBegan,
    ToolFinished,
    Wait,
    Waited,
)

CANCELLED_CALL = "cancelled before it finished; it may have had effects"
CANCELLED_EARLY = "cancelled before it ran; nothing was changed"
NOT_RUN = "not run: the turn ended first"
CUT_REPLY = "not run: the reply was cut off"
NOTHING_YET = "There is nothing to compact yet."


class Turn(TurnBase):
    """`history` is the session's stream, the prompt its last message; the turn appends to it and changes it."""

    @property
    def streaming(self) -> Message | None:
        """The reply that grows now, as far as it has come; it is not in `history` yet."""
        return self._step.attempt.message if self._step.attempt is not None else None

    def next_action(self) -> Action:
        match self.state:
            case State.READY:
                return BeginStep()
            case State.REQUESTING:
                return CallModel(self._open_attempt().request)
            case State.WAITING:
                return Wait(self._wait)
            case State.RUNNING:
                return RunTools(self._step.calls.to_run)
            case State.COMPACTING:
                return self._compact()
            case State.ENDING:
                return Consult(self._question, self._last.text, self._progress.blocks)
            case State.ENDED:
                assert self._completed is not None
                return Finish(self._completed)

    def feed(self, given: Input) -> list[Event]:
        """What follows from `given`. A turn that has ended takes nothing more: late input is dropped."""
        if self.state is State.ENDED:
            return []
        match given:
            case StepBegan():
                return self._begin(given)
            case Steered(message=message):
                self.steers.append(message)
                return []
            case Received(events=events):
                return self._attempt().received(events)
            case ReplyEnded():
                return self._reply_ended()
            case RequestFailed(error=error):
                return self._request_failed(error)
            case Waited():
                self._go(Signal.WAITED)
                return []
            case ToolBegan(call_id=call_id):
                self._step.calls.begun.add(call_id)
                return []
            case ToolFinished():
                return self._tool_finished(given)
            case Compacted():
                return self._compacted(given)
            case CompactionFailed():
                return self._compaction_failed(given)
            case ChecksRan() | StopAnswered():
                return self._answered(given)
            case Cancel():
                return self._end_early(Signal.CANCELLED, StopReason.CANCELLED, CANCELLED_EARLY, CANCELLED_CALL)
            case Crash(message=message, kind=kind):
                reason = StopReason.END_TURN
                return self._end_early(Signal.CRASHED, reason, NOT_RUN, INTERRUPTED, error=message, kind=kind)

    # ------------------------------------------------------------ step

    def _begin(self, given: StepBegan) -> list[Event]:
        move(self.state, Signal.STEP_BEGAN)  # raises before anything is changed
        tools = {t.name: t for t in given.tools}
        if self._setup.aim.compact is not None and not can_shrink(self.history):
            return self._stop(Signal.NOTHING_TO_DO, StopReason.END_TURN, say=NOTHING_YET)
        reached = self._setup.limits.reached(self._counts.steps, self._cost, given.elapsed)
        if reached and self._setup.aim.compact is None:
            out = self._take_steers()
            return [*out, *self._stop(Signal.LIMIT_REACHED, StopReason.MAX_TURN_REQUESTS, say=reached)]
        if self._compaction_due(given.tools):
            self._step = Step(Calls((), tools, self._repetition), tools)
            return self._begin_compaction()
        out = self._take_steers()
        self._counts.steps += 1
        self._counts.attempts = 1
        if items := self._reminder.due():
            out.append(self._stream.tell_model(Text(items)))
        self._step = Step(Calls((), tools, self._repetition), tools)
        self._go(Signal.STEP_BEGAN)
        return out

    def _take_steers(self) -> list[Event]:
        """What the user added enters the stream, but not before the model has answered once."""
        if not self._counts.replies:
            return []
        steers, self.steers = self.steers, []
        return [self._stream.append(evolve(m, seq=next_seq(self.history), state=MessageState.COMPLETE)) for m in steers]

    def _open_attempt(self) -> Attempt:
        """The try at a reply that is due; its message is allocated here."""
        setup, step = self._setup, self._step
        if step.attempt is not None:
            return step.attempt
        request = build_request(
            self.history,
            session_id=setup.session_id,
            model=setup.model,
            system=setup.system,
            tools=tuple(step.tools.values()),
            thinking=setup.thinking,
            max_tokens=setup.model.max_output,
            reductions=self._reductions,
            continuing=self._continuing,
        )
        message = self._stream.message(Role.ASSISTANT, state=MessageState.STREAMING)
        message = evolve(message, model=setup.model.id, provider=setup.model.provider)
        assembler = Assembler(message.id, setup.new_id, step.tools, self._superseded)
        step.attempt = Attempt(request, message, assembler)
        return step.attempt

    # ------------------------------------------------------------ reply

    def _attempt(self) -> Attempt:
        if self.state is not State.REQUESTING or self._step.attempt is None:
            raise TurnError("there is no request whose reply could come")
        return self._step.attempt

    def _reply_ended(self) -> list[Event]:
        attempt = self._attempt()
        if not attempt.stop_reason:
            text = "The model's service ended its reply before it was complete."
            return self._request_failed(ProviderError(Failure.INCOMPLETE, text))
        out, message = attempt.complete()
        counts = self._counts
        decision = decide(message, counts.empty, counts.max_tokens, counts.pauses)
        self._spend(message.cost, message.usage or NO_USAGE)
        counts.replies += 1
        if decision.next is not Next.EMPTY and decision.next is not Next.OVERFLOW:
            self._context.tries = 0
        self._step.attempt = None  # only now: if anything above fails, the attempt is still there to be kept
        counts.empty = counts.empty + 1 if decision.next is Next.EMPTY else 0
        counts.max_tokens = counts.max_tokens + 1 if message.finish_reason == "max_tokens" else 0
        counts.pauses = counts.pauses + 1 if decision.next is Next.GO_ON else 0
        out += self._keep(message) if decision.keep else self._abandon(attempt)
        out.append(self._usage_changed(message))
        return out + self._carry_out(decision, attempt)

    def _carry_out(self, decision: Decision, attempt: Attempt) -> list[Event]:
        self._continuing = decision.next is Next.GO_ON
        if decision.keep and attempt.runs:  # the first of them said what it supersedes
            self._superseded = ()
        match decision.next:
            case Next.RUN:
                return self._start_calls()
            case Next.GO_ON:
                self._go(Signal.REPLY_GOES_ON)
                return []
            case Next.EMPTY:
                self._go(Signal.REQUEST_AGAIN)
                return []
            case Next.REFUSED:
                why = f": {attempt.explanation}" if attempt.explanation else ""
                say = f"The model declined to answer{why}. This prompt is left out of what it sees next."
                out = self._answer_open(NOT_RUN)
                out += self._stop(Signal.REPLY_ENDED_TURN, StopReason.REFUSAL, say=say)
                return [*out, *self._stream.hide_from(self._prompt)]
            case Next.OVERFLOW:
                out = self._answer_open(CUT_REPLY)
                if self._overflows():
                    return out + self._begin_compaction()
                return out + self._stop(Signal.REPLY_ENDED_TURN, decision.stop_reason, say=decision.say)
            case Next.END if decision.stop_reason is StopReason.END_TURN and not decision.say:
                return self._come_to_end()
            case Next.END:
                out = self._answer_open(NOT_RUN)
                return out + self._stop(Signal.REPLY_ENDED_TURN, decision.stop_reason, say=decision.say)

    def _keep(self, message: Message) -> list[Event]:
        """The reply enters the stream."""
        self._stream.append(message)
        texts = [p for p in message.parts if isinstance(p, Text) and p.text]
        if texts:
            run = texts[-1].run_id
            self._last = Text("".join(p.text for p in texts if p.run_id == run), run)
        self._step.calls = Calls(message.tool_uses(), self._step.tools, self._repetition)
        return [MessageEnded(message)]

    def _abandon(self, attempt: Attempt) -> list[Event]:
        """The attempt leaves the stream; the next one says which runs it supersedes."""
        if self._step.attempt is not None:
            self._step.attempt = None
            self._spend(attempt.spent, attempt.usage)
        self._superseded = (*self._superseded, *attempt.runs)
        return attempt.abandon()

    def _request_failed(self, error: ProviderError) -> list[Event]:
        attempt = self._attempt()
        reduced = reduction(error.failure, self._reductions)
        if reduced is not None:
            self._reductions = reduced
            self._go(Signal.REQUEST_AGAIN)
            return self._abandon(attempt)
        if error.failure is Failure.CONTEXT_LENGTH and self._overflows():
            return self._abandon(attempt) + self._begin_compaction()
        seconds = delay(self._counts.attempts, error, self._setup.jitter())
        if seconds is None:
            out = self._keep_partial(CUT_REPLY)
            text = give_up_message(error, self._counts.attempts)
            return out + self._finish(Signal.REQUEST_FAILED, StopReason.END_TURN, text, error.failure.value)
        self._counts.attempts += 1
        self._wait = seconds
        self._go(Signal.REQUEST_LATER)
        run = self._setup.new_id("msg")
        scheduled = RetryScheduled(self._counts.attempts, ATTEMPTS, seconds, error.message, run)
        return [*self._abandon(attempt), scheduled]

    def _keep_partial(self, unanswered: str) -> list[Event]:
        """What a reply that ended early had brought stays, marked as interrupted."""
        attempt, self._step.attempt = self._step.attempt, None
        if attempt is None:
            return []
        out, message = attempt.interrupt()
        self._spend(attempt.spent, attempt.usage)
        if message is None:
            return out
        return [*out, *self._keep(message), *self._answer_open(unanswered)]

    # ------------------------------------------------------------ tools

    def _start_calls(self) -> list[Event]:
        self._go(Signal.REPLY_CALLED_TOOLS)
        self._progress.called_tools()
        out: list[Event] = [e for result in self._step.calls.start() for e in self._answer(result)]
        self.repeats += self._step.calls.refused
        return out + self._calls_done()

    def _tool_finished(self, given: ToolFinished) -> list[Event]:
        if self.state is not State.RUNNING:
            return []
        calls = self._step.calls
        out = self._answer(given.result)
        if out:
            self._spend(given.cost, given.usage)
            calls.final = given.final or calls.final
        if out and given.stop_turn:
            calls.stop_turn = True
            calls.say = "\n\n".join(filter(None, (calls.say, given.say)))
        return out + self._calls_done()

    def _answer(self, result: ToolResult) -> list[Event]:
        if not self._step.calls.answer(result):
            return []
        if result.plan is not None:
            self._reminder.replaced(result.plan)
        return [self._stream.add(Role.TOOL, result)]

    def _answer_open(self, text: str, begun: str = "") -> list[Event]:
        """An error result for each call of the step that has none: `begun` for those that had begun to run."""
        calls = self._step.calls
        return [
            event
            for call in calls.unanswered()
            for event in self._answer(error_result(call, begun if call.id in calls.begun else text))
        ]

    def _calls_done(self) -> list[Event]:
        calls = self._step.calls
        if calls.unanswered():
            return []
        repeating = calls.repeats()
        if repeating:
            say = f"Stopped: the model kept repeating the same step ({repeating}) with the same result."
            return self._stop(Signal.CALLS_ENDED_TURN, StopReason.MAX_TURN_REQUESTS, say=say)
        if calls.stop_turn:
            return self._stop(Signal.CALLS_ENDED_TURN, StopReason.END_TURN, say=calls.say)
        if calls.final:
            self._progress.final = calls.final
            return self._come_to_end()
        self._go(Signal.CALLS_ANSWERED)
        return []

    # ------------------------------------------------------------ end

    def _end_early(
        self, signal: Signal, reason: StopReason, unanswered: str, begun: str, *, error: str = "", kind: str = ""
    ) -> list[Event]:
        out = self._keep_partial(unanswered) if self.state is State.REQUESTING else []
        if self.state is State.COMPACTING:
            out.append(CompactionChanged(self._context.id, "cancelled"))
        out += self._answer_open(unanswered, begun)
        return out + self._finish(signal, reason, error, kind)
