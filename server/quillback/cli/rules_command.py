"""`quillback rules`: the permission answers that were given for ever, and a way to take them back."""

import asyncio
import json
import sys
from argparse import Namespace

from quillback.cli.clean import one_line
from quillback.cli.exits import DONE, USAGE, CliError
from quillback.cli.json_view import to_json
from quillback.cli.sessions_command import existing
from quillback.cli.surroundings import directory, load, opened
from quillback.config import Settings
from quillback.core.ports import Rule


def list_rules(options: Namespace) -> int:
    settings = load()
    rules = asyncio.run(_rules(settings)) if settings.database.exists() else []
    if options.json:
        print(json.dumps([to_json(rule) for rule in rules], ensure_ascii=False, indent=2))
        return DONE
    for rule in rules:
        print(f"{rule.effect.value:6}  {one_line(rule.pattern)}  in {one_line(rule.root)}")
    if not rules:
        print("no answers are stored")
    return DONE


def delete(options: Namespace) -> int:
    root = directory(options.cwd)
    if not asyncio.run(_delete(load(), root, options.pattern)):
        raise CliError(f"there is no rule {options.pattern} in {root}; `quillback rules list` shows them", USAGE)
    print(f"{one_line(options.pattern)} is gone", file=sys.stderr)
    return DONE


async def _rules(settings: Settings) -> list[Rule]:
    async with opened(settings) as app:
        return await app.store.all_rules()


async def _delete(settings: Settings, root: str, pattern: str) -> bool:
    async with existing(settings) as app:
        return await app.store.delete_rule(root, pattern)
