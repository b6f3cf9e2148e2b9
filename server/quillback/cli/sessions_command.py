"""`quillback sessions`: looks at what is stored. Nothing here takes a session away from the process that has it."""

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from quillback.app import App
from quillback.cli.clean import one_line
from quillback.cli.exits import CANCELLED, DONE, USAGE, CliError, complain
from quillback.cli.export import FORMATS, without_secrets
from quillback.cli.find_session import all_sessions, find, sessions_of
from quillback.cli.json_view import to_json
from quillback.cli.render import Renderer
from quillback.cli.screen import open_screen
from quillback.cli.surroundings import directory, load, opened, refuse_wrong
from quillback.config import Settings
from quillback.core.message import Message, MessageState
from quillback.core.ports import SessionRecord
from quillback.session.fork import ForkError, fork_stored

STDOUT = 1
TITLE = 60


def list_sessions(options: Namespace) -> int:
    return asyncio.run(_list(load(), options))


def show(options: Namespace) -> int:
    return asyncio.run(_show(load(), options.id))


def export(options: Namespace) -> int:
    settings = load()
    refuse_wrong(settings, "exported")  # secret_env may be among what is wrong
    record, messages = asyncio.run(_stored(settings, options.id))
    text = without_secrets(FORMATS[options.format](record, messages), settings)
    data = text.encode("utf-8", "replace")
    if options.output in (None, "-"):
        sys.stdout.buffer.write(data)
        return DONE
    try:
        Path(options.output).write_bytes(data)
    except OSError as error:
        raise CliError(f"{options.output} cannot be written: {error.strerror or error}") from None
    print(f"{record.id} is in {one_line(options.output)}", file=sys.stderr)
    return DONE


# ---------------------------------------------------------------- list


async def _list(settings: Settings, options: Namespace) -> int:
    if options.limit < 1:
        raise CliError("--limit must be 1 or more", USAGE)
    if options.all and options.cwd:
        raise CliError("--all and --cwd exclude each other", USAGE)
    cwd = "" if options.all else directory(options.cwd)
    stored: list[SessionRecord] = []
    if settings.database.exists():
        async with opened(settings) as app:
            of_all = all_sessions(app.store, subagents=options.subagents)
            stored = [r async for r in (sessions_of(app.store, cwd, subagents=options.subagents) if cwd else of_all)]
    found = stored[: options.limit]
    if options.json:
        print(json.dumps([to_json(record) for record in found], ensure_ascii=False, indent=2))
        return DONE
    for record in found:
        print(_line(record, with_cwd=options.all))
    if len(found) < len(stored):
        print(f"{len(found)} of {len(stored)}; --limit N shows more", file=sys.stderr)
    if not found:
        print(f"no sessions{f' of {one_line(cwd)}; --all shows those of all directories' if cwd else ''}")
    return DONE


def _line(record: SessionRecord, *, with_cwd: bool) -> str:
    title = one_line(record.title, TITLE) or "(untitled)"
    place = f"  {one_line(record.cwd)}" if with_cwd else ""
    return f"{record.id}  {_time(record.updated_at)}  {title}{place}"


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000).strftime("%Y-%m-%d %H:%M")


# ---------------------------------------------------------------- show, export


async def _stored(settings: Settings, piece: str) -> tuple[SessionRecord, list[Message]]:
    """What is stored of a session by now, read without becoming its owner. Raises CliError."""
    async with existing(settings) as app:
        record = await find(app.store, piece)
        return record, await app.store.messages(record.id)


@asynccontextmanager
async def existing(settings: Settings) -> AsyncIterator[App]:
    """The parts of the program, where something is stored already. Raises CliError."""
    if not settings.database.exists():
        raise CliError(f"nothing is stored yet: there is no {settings.database}", USAGE)
    async with opened(settings) as app:
        yield app


async def _show(settings: Settings, piece: str) -> int:
    record, messages = await _stored(settings, piece)
    screen = open_screen(STDOUT)
    screen.line(one_line(record.title) or "(untitled)", "bold")
    facts = [record.id, one_line(record.cwd), record.model, record.mode.value, _time(record.created_at)]
    screen.line(" · ".join([*facts, *([f"${record.cost:.4f}"] if record.cost else [])]), "dim")
    renderer = Renderer(screen)
    renderer.opened(record)
    for message in messages:
        renderer.replay(message)
    if messages and messages[-1].state is MessageState.STREAMING:
        renderer.note("It goes on in another process.", "yellow")
    renderer.end()
    await screen.flush()
    return DONE


# ---------------------------------------------------------------- fork


def fork(options: Namespace) -> int:
    """Prints the id of the new session."""
    print(asyncio.run(_fork(load(), options.id, options.at or "")))
    return DONE


async def _fork(settings: Settings, piece: str, through: str) -> str:
    async with existing(settings) as app:
        record = await find(app.store, piece)
        try:
            return (await fork_stored(app.services, record, await app.store.messages(record.id), through)).id
        except ForkError as error:
            raise CliError(f"{error}; `quillback sessions export ID --format json` shows the ids", USAGE) from None


# ---------------------------------------------------------------- delete


def delete(options: Namespace) -> int:
    """Forget a session and the whole outputs that its tools kept, after a question unless `--yes` is there."""
    settings = load()
    record = asyncio.run(_found(settings, options.id))
    if not options.yes and not _confirmed(record):
        complain("nothing was deleted")
        return CANCELLED
    asyncio.run(_forget(settings, record.id))
    print(f"{record.id} is gone", file=sys.stderr)
    return DONE


async def _found(settings: Settings, piece: str) -> SessionRecord:
    async with existing(settings) as app:
        return await find(app.store, piece)


async def _forget(settings: Settings, session_id: str) -> None:
    async with opened(settings) as app:
        await app.store.delete_session(session_id)
        app.services.forgotten(session_id)


def _confirmed(record: SessionRecord) -> bool:
    if not (sys.stdin and sys.stdin.isatty()):
        raise CliError("there is no terminal to ask; add --yes to delete without a question", USAGE)
    print(
        f"Forget {one_line(record.title, TITLE) or 'the untitled session'} ({record.id})? y or n: ", end="", flush=True
    )
    return sys.stdin.readline().strip().lower() in ("y", "yes")
