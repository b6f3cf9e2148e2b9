"""A model, hooks and an editor that answer as a seed says: everything that may go wrong, and all within the rules."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from quillback_protocol.client import choose
from support.agent import Agent
from support.fake_model import Drop, Eof, ErrorEvent, FakeModel, Hang, Open, Reply, Say, Think, Use, Wait
from support.fake_model.server import Seen, last_token
from support.hooks import hook_file

Json = dict[str, Any]
TOO_LONG = ("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
FULL = {"input_tokens": 3, "cache_read_input_tokens": 190_000, "cache_creation_input_tokens": 9, "output_tokens": 140}
REPLIES = 9
"""After so many replies to a prompt the model only talks."""

HOOK = """\
said=$(cat)
case "$said" in
  *"$1:block"*) echo "not that" >&2; exit 2 ;;
  *"$1:halt"*) echo '{"continue": false, "stopReason": "enough"}' ;;
  *"$1:ask"*) echo '{"hookSpecificOutput": {"permissionDecision": "ask"}}' ;;
  *"$1:rewrite"*) echo '{"hookSpecificOutput": {"updatedInput": {"command": "echo rewritten"}}}' ;;
  *"$1:context"*) echo '{"hookSpecificOutput": {"additionalContext": "mind the gap"}}' ;;
  *"$1:slow"*) sleep 9 ;;
  *"$1:bad"*) echo '{"decision": 7' ;;
  *"$1:fail"*) exit 3 ;;
esac
"""
POINTS = {
    "SessionStart": "start",
    "UserPromptSubmit": "submit",
    "PreToolUse": "pre",
    "PostToolUse": "post",
    "PostToolUseFailure": "post",
    "PreCompact": "compact",
    "Stop": "stop",
    "TurnCompleted": "over",
}
VERDICTS = ["block", "halt", "ask", "rewrite", "context", "slow", "bad", "fail"]


def hooks(folder: Path) -> None:
    """Hooks for every moment; each does what a word like `pre:block` in what it is told says."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "hook.sh"
    script.write_text(HOOK)
    groups = {point: [("", f"sh {script} {word}", {"timeout": 0.3})] for point, word in POINTS.items()}
    hook_file(folder / "hooks.json", **groups)


def verdict(rng: Random, *words: str) -> str:
    """Nothing, or a word that makes a hook of one of the moments `words` speak."""
    return f"{rng.choice(words)}:{rng.choice(VERDICTS)}" if rng.random() < 0.3 else ""


class ChaoticModel(FakeModel):
    """Answers each prompt by the seed and the prompt's token; nothing is kept of requests that were right."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed
        self._rngs: dict[str, Random] = {}
        self._counts: dict[str, int] = {}
        self._side = Random(f"{seed} side")
        self.side_reply = lambda body: self._summary()
        self.title_reply = Reply(Say("A title"))

    def _reply(self, seen: Seen) -> Reply:
        token = last_token(seen.body)
        rng = self._rngs.setdefault(token, Random(f"{self._seed} {token}"))
        self._counts[token] = self._counts.get(token, 0) + 1
        if self._counts[token] > REPLIES:
            return Reply(Say("that is all"))
        kinds = {_calls: 10, _words: 4, _fault: 3, _stopped: 3, _silence: 1}
        (kind,) = rng.choices(list(kinds), list(kinds.values()))
        return kind(rng)

    def _summary(self) -> Reply:
        rng = self._side
        return rng.choice(
            [
                Reply(Say("what came before")),
                Reply(Say("what came before")),
                Reply(Say("ALLOW")),
                Reply(Say("")),
                Reply(status=400, error=TOO_LONG),
                Reply(status=404, error=("not_found_error", "no such model")),
                Reply(Say("half a "), Wait(rng.choice([0.2, 5.0]))),
            ]
        )


# ---------------------------------------------------------------- replies


def _usage(rng: Random) -> Json:
    return FULL if rng.random() < 0.08 else {}


def _calls(rng: Random) -> Reply:
    start: list[Any] = [Say("so ", delay=0.002)] if rng.random() < 0.5 else []
    uses = [_use(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
    return Reply(*start, *uses, usage=_usage(rng))


def _use(rng: Random) -> Use:
    note = verdict(rng, "pre", "post")
    name = rng.choice("abc")
    return rng.choice(
        [
            lambda: Use("shell", {"command": f"echo {rng.randrange(99)} # {note}"}),
            lambda: Use("shell", {"command": f"sleep {rng.choice([0.05, 0.3, 0.3, 30])} # {note}"}),
            lambda: Use("read_file", {"path": f"{name}.txt"}),
            lambda: Use("write_file", {"path": f"{name}.txt", "content": f"{rng.randrange(99)} {note}\n"}),
            lambda: Use("edit_file", {"path": f"{name}.txt", "old_text": "1", "new_text": f"2 {note}"}),
            lambda: Use("todo_write", {"items": [{"content": note or "thing", "status": "pending"}]}),
            lambda: Use("no_such_tool", {"x": 1}),
            lambda: Use("shell", raw='{"command": "echo'),
            lambda: Use("shell", {"command": 5}),
        ]
    )()


def _words(rng: Random) -> Reply:
    text = f"said {verdict(rng, 'stop', 'over')} "
    return rng.choice(
        [
            Reply(Say(text * 3, 3), usage=_usage(rng)),
            Reply(Say(text * 40, 40, 0.01), usage=_usage(rng)),
            Reply(Think("hm"), Say(text)),
            Reply(Think("hm, nothing")),
            Reply(),
            Reply(Say("")),
        ]
    )


def _fault(rng: Random) -> Reply:
    start = rng.choice([[], [Say("begun ")], [Say("begun "), Use("read_file", {"path": "a.txt"})]])
    return rng.choice(
        [
            Reply(status=529, error=("overloaded_error", "Overloaded")),
            Reply(status=429, error=("rate_limit_error", "slow down"), headers={"retry-after": "90"}),
            Reply(status=400, error=TOO_LONG),
            Reply(status=400, error=("invalid_request_error", "no")),
            Reply(*start, Drop()),
            Reply(*start, Eof()),
            Reply(*start, ErrorEvent()),
            Reply(*start, ErrorEvent("invalid_request_error", "no")),
            Reply(*start, Open(Use("shell", {"command": "echo half"})), Eof()),
            Reply(*start, message_stop=False),
        ]
    )


def _stopped(rng: Random) -> Reply:
    stop = rng.choice(["max_tokens", "refusal", "pause_turn", "model_context_window_exceeded", "brand_new", "tool_use"])
    what = rng.choice([[], [Say("as far as ")], [Use("shell", {"command": "echo whole"})], [Say("x"), _use(rng)]])
    cut = [Open(Use("shell", {"command": "echo cut"}))] if stop == "max_tokens" and rng.random() < 0.5 else []
    return Reply(*what, *cut, stop=stop)


def _silence(rng: Random) -> Reply:
    return Reply(Say("wait "), Hang()) if rng.random() < 0.5 else Reply(Hang())


# ---------------------------------------------------------------- the editor


def answers(a: Agent, rng: Random) -> None:
    """Questions are answered in all the ways there are, some not at all."""

    async def never(question: Json) -> object:
        return await asyncio.Event().wait()

    async def wrong(question: Json) -> object:
        return rng.choice([{}, {"outcome": {"outcome": "selected", "optionId": "none"}}, {"outcome": 3}])

    async def withdrawn(question: Json) -> object:
        return {"outcome": {"outcome": "cancelled"}}

    policies: list[Callable[[Json], Any]] = [
        *map(choose, ["allow_once", "allow_once", "allow_always", "reject_once"]),
        never,
        wrong,
        withdrawn,
    ]

    async def answer(question: Json) -> object:
        await asyncio.sleep(rng.choice([0.0, 0.05]))
        return await rng.choice(policies)(question)

    a.client.on_request("session/request_permission", answer)
