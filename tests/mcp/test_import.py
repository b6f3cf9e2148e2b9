import json
import subprocess
import sys

PROGRAM = """
import asyncio, json, sys, time
from pathlib import Path
from quillback.mcp.manager import McpToolbox
from quillback.core.mcp_server import StdioServer

SCRIPT, HOME = sys.argv[1:]
late = 0.0

async def beat():
    global late
    while True:
        begun = time.monotonic()
        await asyncio.sleep(0.005)
        late = max(late, time.monotonic() - begun - 0.005)

async def main():
    servers = [StdioServer(f"s{i}", sys.executable, ("-I", "-S", SCRIPT, "tools")) for i in range(3)]
    box = McpToolbox(servers, session_id="s", cwd=Path(HOME), outputs=Path(HOME), on_notice=print)
    await box.ready(1)
    early = "mcp" in sys.modules
    beating = asyncio.create_task(beat())
    await asyncio.sleep(0)
    box.start()
    await box.ready(20)
    states = [status.state.value for status in box.status()]
    beating.cancel()
    await box.close()
    print(json.dumps({"early": early, "late": late, "states": states}))

asyncio.run(main())
"""


def test_the_sdk_is_imported_late_and_beside_the_loop(stdio, tmp_path):
    script = stdio("any").args[2]
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, script, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    told = json.loads(run.stdout)
    assert not told["early"]
    assert told["states"] == ["ready"] * 3
    assert told["late"] < 0.4
