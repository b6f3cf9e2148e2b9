"""The pipes: lines in both directions, in whatever pieces they come."""

import asyncio
import json

from quillback.conformance.judge import refused
from quillback.conformance.lab import Lab
from quillback.conformance.rule import ADVISORY, MANDATORY, Passed, Verdict, rule, verdict, watch
from quillback.conformance.session import PING
from quillback.conformance.text import of_line, short
from quillback.conformance.trace import Trace
from quillback_protocol.framing import FramingError

PAGE = "Transports"
MEBIBYTE = 1024 * 1024


def _line(request_id: object, text: str = "") -> bytes:
    message = {"jsonrpc": "2.0", "id": request_id, "method": PING, "params": {"text": text}}
    return json.dumps(message, ensure_ascii=False).encode()


async def _sent(lab: Lab, data: bytes, *request_ids: object) -> Verdict:
    run = await lab.shared()
    run.wire.send_bytes(data)
    for request_id in request_ids:
        await run.wire.answer(request_id, run.timeout)
    return Passed()


@rule("ACP-WIRE-001", MANDATORY, PAGE, "a message may come in pieces, cut anywhere")
async def pieces(lab: Lab) -> Verdict:
    run = await lab.shared()
    line = _line("quillback-check-pieces", "ü😀") + b"\n"
    cut = line.index("😀".encode()) + 2
    parts = (line[:10], line[10:cut], line[cut:-1], line[-1:])
    run.wire.send_pieces(parts)
    for part in parts:
        run.wire.piece(part)
        await asyncio.sleep(min(run.quiet, 0.1))
    await run.wire.answer("quillback-check-pieces", run.timeout)
    return Passed()


@rule("ACP-WIRE-002", MANDATORY, PAGE, "several messages may come in one piece")
async def together(lab: Lab) -> Verdict:
    ids = [f"quillback-check-{n}" for n in range(5)]
    return await _sent(lab, b"".join(_line(one) + b"\n" for one in ids), *ids)


@rule("ACP-WIRE-003", ADVISORY, PAGE, r"a line may end with \r\n")
async def carriage_return(lab: Lab) -> Verdict:
    return await _sent(lab, _line("quillback-check-crlf") + b"\r\n", "quillback-check-crlf")


@rule("ACP-WIRE-004", ADVISORY, PAGE, "empty lines mean nothing")
async def empty_lines(lab: Lab) -> Verdict:
    return await _sent(lab, b"\n\n" + _line("quillback-check-empty") + b"\n", "quillback-check-empty")


@rule("ACP-WIRE-005", MANDATORY, PAGE, "a message of 1 MiB is read")
async def big(lab: Lab) -> Verdict:
    return await _sent(lab, _line("quillback-check-big", "x" * MEBIBYTE) + b"\n", "quillback-check-big")


@rule("ACP-WIRE-006", ADVISORY, PAGE, "a message of 16 MiB, such as a prompt with pictures, is read")
async def very_big(lab: Lab) -> Verdict:
    return await _sent(lab, _line("quillback-check-huge", "x" * 16 * MEBIBYTE) + b"\n", "quillback-check-huge")


@rule("ACP-WIRE-007", MANDATORY, PAGE, r"characters may come as \u escapes, in pairs too")
async def escapes(lab: Lab) -> Verdict:
    run = await lab.shared()
    run.wire.send_bytes(b'{"jsonrpc":"2.0","id":"\\ud83d\\ude00 \\u00fc","method":"_quillback.dev/ping","params":{}}\n')
    return refused(await run.wire.answer("😀 ü", run.timeout)) and Passed()


@watch("ACP-WIRE-008", MANDATORY, PAGE, "standard output has nothing but JSON, a message a line")
def only_json(trace: Trace) -> Verdict:
    lines = list(trace.lines())
    wrong = [
        f"the line {of_line(entry.raw)}"
        for entry in lines
        if entry.raw.strip() and (isinstance(entry.message, FramingError) or not isinstance(entry.message, dict))
    ]
    return verdict(wrong, lines, "lines")


@watch("ACP-WIRE-009", ADVISORY, PAGE, "standard output has no empty lines")
def no_empty_lines(trace: Trace) -> Verdict:
    lines = list(trace.lines())
    return verdict(("an empty line" for entry in lines if not entry.raw.strip()), lines, "lines")


@watch("ACP-WIRE-010", MANDATORY, "Overview", 'every message has `jsonrpc` "2.0", and a method or an id')
def messages(trace: Trace) -> Verdict:
    found = list(trace.messages())
    wrong = [short(m) for m in found if m.get("jsonrpc") != "2.0" or not _is_message(m)]
    return verdict(wrong, found, "messages")


def _is_message(message: dict[str, object]) -> bool:
    return isinstance(message["method"], str) if "method" in message else "id" in message


@watch("ACP-WIRE-011", ADVISORY, PAGE, r"lines end with \n alone")
def plain_ends(trace: Trace) -> Verdict:
    lines = list(trace.lines())
    return verdict((of_line(entry.raw) for entry in lines if entry.raw.endswith(b"\r")), lines, "lines")
