"""What follows when the model has nothing more to do: an ordered list of rules, the first that applies wins.

Source: RUNTIME section 8. Nothing goes on by hidden state: each reason to go on becomes a message that the model sees,
and an event.
"""

from collections.abc import Callable
from enum import StrEnum

from attrs import define, frozen

from quillback.core.hooks import HookAnswer
from quillback.core.text import one_line
from quillback.core.turn_types import Aim, Question

NUDGES = 3
IDLE_REPLIES = 3
STOP_HOOK_BLOCKS = 8

ASK_FINAL = "The work needs a final output. Call the tool final_output with it now; it is the last thing to do."
CHECK_GOAL = (
    "Before you end: the goal is this.\n\n{goal}\n\n"
    "Check whether it is fully met, by looking rather than from memory. If it is not, go on working. "
    "If it is, say in a sentence how you know."
)
MEND = "Find out why and mend it; the work is done when all checks pass."
KEEP_WORKING = (
    "Keep working: look for what is not done, not checked or could be better in what was asked, and do it. "
    "If there is really nothing left, say so in a sentence."
)


class Reason(StrEnum):
    """Why a turn went on."""

    FINAL_OUTPUT = "final_output"
    STEER = "steer"
    GOAL = "goal"
    GRIND = "grind"
    CHECKS = "checks"
    STOP_HOOK = "stop_hook"


@define
class Progress:
    """What the rules remember of a turn. The answers to questions are those since the model's last reply."""

    final: str = ""
    nudges: int = 0
    goal_checked: bool = False
    idle: int = 0
    tries: int = 0
    blocks: int = 0
    failures: str | None = None
    stop: HookAnswer | None = None

    def went_on(self, reason: Reason) -> None:
        """The turn goes on: whatever was found out about its end is out of date."""
        self.final, self.failures, self.stop = "", None, None
        match reason:
            case Reason.FINAL_OUTPUT:
                self.nudges += 1
            case Reason.STEER:
                self.blocks = self.idle = 0
            case Reason.GOAL:
                self.goal_checked = True
            case Reason.GRIND:
                self.idle += 1
            case Reason.CHECKS:
                self.tries += 1
            case Reason.STOP_HOOK:
                self.blocks += 1

    def called_tools(self) -> None:
        self.idle = self.nudges = 0


@frozen
class Situation:
    aim: Aim
    progress: Progress
    steers: bool
    stop_hook: bool


@frozen
class GoOn:
    """`text` is for the model; empty where the user's own message is the reason. `why` is the reason in words for the
    user, empty where they know it. `fresh` hides the turn's work."""

    reason: Reason
    text: str = ""
    why: str = ""
    fresh: bool = False


@frozen
class Ask:
    question: Question


@frozen
class End:
    """`say` is shown to the user. `passed` says whether the recipe's checks passed; None where there are none."""

    say: str = ""
    passed: bool | None = None


Outcome = GoOn | Ask | End
Rule = Callable[[Situation], Outcome | None]


def final_output(now: Situation) -> Outcome | None:
    if now.aim.recipe.output is None or now.progress.final:
        return None
    if now.progress.nudges < NUDGES:
        return GoOn(Reason.FINAL_OUTPUT, ASK_FINAL, "the final output is missing")
    return End("Stopped: the model did not give the final output that the recipe asks for.", passed=False)


def steer(now: Situation) -> Outcome | None:
    return GoOn(Reason.STEER) if now.steers else None


def goal(now: Situation) -> Outcome | None:
    due = now.aim.goal and not now.progress.goal_checked and not now.progress.final
    why = "the goal is checked before the end"
    return GoOn(Reason.GOAL, CHECK_GOAL.format(goal=now.aim.goal), why) if due else None


def grind(now: Situation) -> Outcome | None:
    due = now.aim.grind and now.progress.idle < IDLE_REPLIES and not now.progress.final
    return GoOn(Reason.GRIND, KEEP_WORKING, "there may be more to do") if due else None


def checks(now: Situation) -> Outcome | None:
    recipe, progress = now.aim.recipe, now.progress
    if not recipe.checks:
        return None
    if progress.failures is None:
        return Ask(Question.CHECKS)
    if not progress.failures:
        return None
    if progress.tries < recipe.retries:
        why = f"the checks do not pass yet. {progress.failures.partition(chr(10))[0]}"
        return GoOn(Reason.CHECKS, f"{progress.failures}\n\n{MEND}", why, recipe.fresh)
    return End(f"The checks do not pass, after {_times(progress.tries + 1)}.\n\n{progress.failures}", passed=False)


def stop_hook(now: Situation) -> Outcome | None:
    answer = now.progress.stop
    if not now.stop_hook:
        return None
    if answer is None:
        return Ask(Question.STOP_HOOK)
    if not answer.blocked or answer.halt:
        return None
    if now.progress.blocks < STOP_HOOK_BLOCKS:
        why = f"a Stop hook says that the work is not done: {one_line(answer.blocked)}"
        return GoOn(Reason.STOP_HOOK, f"A hook of the user says that the work is not done: {answer.blocked}", why)
    say = f"Stopped, although a Stop hook said no {now.progress.blocks + 1} times in a row: {answer.blocked}"
    return End(say, _passed(now))


RULES: tuple[Rule, ...] = (final_output, steer, goal, grind, checks, stop_hook)


def what_next(now: Situation) -> Outcome:
    """What the first rule that applies says, or the end."""
    for rule in RULES:
        outcome = rule(now)
        if outcome is not None:
            return outcome
    return End(now.progress.final, _passed(now))


def _passed(now: Situation) -> bool | None:
    recipe = now.aim.recipe
    return True if recipe.checks or recipe.output is not None else None


def _times(n: int) -> str:
    return "one try" if n == 1 else f"{n} tries"
