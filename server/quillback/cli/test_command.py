"""`quillback test`: runs transcripts against Quillback or any other agent, and plays exported sessions again."""

import asyncio
import logging
import os
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path

from quillback.cli.clean import clean, one_line
from quillback.cli.exits import DONE, FAILED, USAGE, CliError, complain
from quillback.cli.replay_command import replay_file
from quillback.cli.surroundings import directory
from quillback.transcripts.document import Transcript, read_transcript
from quillback.transcripts.errors import TranscriptError
from quillback.transcripts.running import How, run, update

BLOCK = "\n```acp"


def test(options: Namespace) -> int:
    """0 if all of them went as they say, 1 if one did not, 2 if one cannot be run."""
    if options.timeout <= 0:
        raise CliError("--timeout must be more than 0", USAGE)
    if options.agent and options.in_process:
        raise CliError("--in-process runs Quillback itself; leave it, or the command behind --", USAGE)
    debug = os.environ.get("QUILLBACK_LOG") == "debug"
    logging.basicConfig(level=logging.DEBUG if debug else logging.ERROR, format="quillback: %(message)s")
    cwd = Path(directory(options.cwd)) if options.cwd else None
    how = How(tuple(options.agent), options.in_process, cwd, options.timeout)
    codes = [_one(file, how, rewrite=options.update) for file in _files(options.files)]
    passed = codes.count(DONE)
    print(f"{passed} passed" + (f", {len(codes) - passed} failed" if passed < len(codes) else ""))
    return max(codes)


def _files(named: Iterable[str]) -> list[Path]:
    """Files as they are named; of directories, the Markdown files that have messages, or the sessions. Raises
    CliError."""
    found: list[Path] = []
    for name in named:
        path = Path(name)
        if not path.is_dir():
            found.append(path)
            continue
        inside = [file for file in sorted(path.rglob("*.md")) if BLOCK in f"\n{_text(file)}"]
        inside += sorted(path.rglob("*.json"))
        if not inside:
            what = "there is neither a Markdown file with an `acp` block nor a session in this directory"
            raise CliError(f"{name}: {what}", USAGE)
        found += inside
    return found


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise CliError(f"{file}: {error.strerror or error}", USAGE) from None
    except UnicodeDecodeError:
        raise CliError(f"{file}: it is not UTF-8 text", USAGE) from None


def _one(file: Path, how: How, *, rewrite: bool) -> int:
    text = _text(file)
    if file.suffix == ".json":
        if how.agent or rewrite:
            raise CliError(f"{file}: a session is played against Quillback itself, and nothing is rewritten", USAGE)
        return replay_file(file, text)
    try:
        transcript = read_transcript(text, str(file))
        problem = _rewritten(file, text, transcript, how) if rewrite else asyncio.run(run(transcript, how))
    except TranscriptError as error:
        complain(str(error))
        return USAGE
    except OSError as error:
        raise CliError(f"{how.agent[0] if how.agent else file}: {error.strerror or error}", USAGE) from None
    print(f"{'failed' if problem else 'ok    '}  {one_line(str(file))}", flush=True)
    if problem:
        print(clean(problem), flush=True)
    return FAILED if problem else DONE


def _rewritten(file: Path, text: str, transcript: Transcript, how: How) -> str:
    """Write what came into the file, and run what is there then: it may be different each time."""
    new, problem = asyncio.run(update(transcript, how))
    if new != text:
        file.write_text(new, encoding="utf-8")
        print(f"updated {one_line(str(file))}")
    return problem or asyncio.run(run(read_transcript(new, str(file)), how))
