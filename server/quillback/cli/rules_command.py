"""`quillback rules`: the stored answers to permission questions, to be looked at and taken back."""

import asyncio
import json
import sys
from argparse import Namespace

from quillback.cli.by_agent import refuse_to_agents
from quillback.cli.clean import one_line
from quillback.cli.exits import CANCELLED, DONE, USAGE, CliError, complain
from quillback.cli.surroundings import directory, load, opened
from quillback.config import Settings
from quillback.core.ports import Rule, RuleEffect

EFFECTS = {RuleEffect.ALLOW: "allow", RuleEffect.REJECT: "deny"}


def list_rules(options: Namespace) -> int:
    cwd = _directory(options)
    found = asyncio.run(_stored(load(), cwd))
    if options.json:
        rows = [{"number": n, "root": r.root, "pattern": r.pattern, "effect": EFFECTS[r.effect]} for n, r in found]
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return DONE
    for number, rule in found:
        place = "" if cwd else f"  {one_line(rule.root)}"
        print(f"{number:>4}  {EFFECTS[rule.effect]:5}  {one_line(rule.pattern)}{place}")
    if not found:
        print(f"no stored answers{f' for {one_line(cwd)}; --all shows those of all directories' if cwd else ''}")
    return DONE


def delete(options: Namespace) -> int:
    """Take one answer back, or all of them; the question will be asked again. Raises CliError."""
    if options.all == (options.number is not None):
        raise CliError("give the number of one answer, or --all; `quillback rules list --all` shows them", USAGE)
    if options.cwd and not options.all:
        raise CliError("--cwd goes with --all only; a number is that of one answer wherever it holds", USAGE)
    refuse_to_agents("taking back an answer")
    settings, cwd = load(), directory(options.cwd) if options.cwd else ""
    if options.all and not options.yes:
        count = len(asyncio.run(_stored(settings, cwd)))
        if count and not _confirmed(count, cwd):
            complain("nothing was deleted")
            return CANCELLED
    gone = asyncio.run(_delete(settings, cwd, options.number))
    if options.number is not None and not gone:
        raise CliError(f"no stored answer has the number {options.number}; see `quillback rules list --all`", USAGE)
    if not gone:
        print(f"there are no stored answers{f' for {one_line(cwd)}' if cwd else ''}", file=sys.stderr)
        return DONE
    print(f"{gone} stored answer{' is' if gone == 1 else 's are'} gone", file=sys.stderr)
    return DONE


def _confirmed(count: int, cwd: str) -> bool:
    """Raises CliError where nobody can be asked."""
    if not (sys.stdin and sys.stdin.isatty()):
        raise CliError("there is no terminal to ask; add --yes to delete without a question", USAGE)
    what = "the one stored answer" if count == 1 else f"all {count} stored answers"
    print(f"Take back {what} of {one_line(cwd) if cwd else 'all directories'}? y or n: ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _directory(options: Namespace) -> str:
    """Empty for all directories."""
    if options.all and options.cwd:
        raise CliError("--all and --cwd exclude each other", USAGE)
    return "" if options.all else directory(options.cwd)


async def _stored(settings: Settings, cwd: str) -> list[tuple[int, Rule]]:
    if not settings.database.exists():
        return []
    async with opened(settings) as app:
        return [(number, rule) for number, rule in await app.store.all_rules() if cwd in ("", rule.root)]


async def _delete(settings: Settings, cwd: str, number: int | None) -> int:
    """How many there were."""
    if not settings.database.exists():
        return 0
    async with opened(settings) as app:
        wanted = [n for n, rule in await app.store.all_rules() if cwd in ("", rule.root) and number in (None, n)]
        return sum([await app.store.delete_rule(n) for n in wanted])
