"""`quillback doctor`: what is configured, what is missing, what to do."""

import json
import os
from argparse import Namespace

from attrs import asdict

from quillback import __version__
from quillback.cli.clean import one_line
from quillback.cli.doctor_checks import CHECKS, Check, State, reachable
from quillback.cli.doctor_tools import hooks, mcp_servers, sandbox
from quillback.cli.exits import DONE, FAILED
from quillback.config import load_settings

MARKS = {State.OK: "  ", State.NOTE: "- ", State.BAD: "! "}


def doctor(options: Namespace) -> int:
    """0 if Quillback can be used as it is configured, 1 if something must be done first."""
    settings = load_settings(os.environ)
    checks = [
        check
        for look in (*CHECKS, sandbox, mcp_servers, hooks, *((reachable,) if options.online else ()))
        for check in look(settings)
    ]
    bad = [check for check in checks if check.state is State.BAD]
    if options.json:
        whole = {"version": __version__, "usable": not bad, "checks": [asdict(check) for check in checks]}
        print(json.dumps(whole, ensure_ascii=False, indent=2))
        return FAILED if bad else DONE
    width = max(len(check.name) for check in checks)
    for check in checks:
        print("\n".join(_lines(check, width)))
    if bad:
        print(f"\nTo be mended first: {', '.join(dict.fromkeys(check.name for check in bad))}.")
    else:
        print("\nReady.")
    return FAILED if bad else DONE


def _lines(check: Check, width: int) -> list[str]:
    lines = [f"{MARKS[check.state]}{check.name.ljust(width)}  {one_line(check.found)}"]
    return lines + ([f"  {' ' * width}  {one_line(check.advice)}"] if check.advice else [])
