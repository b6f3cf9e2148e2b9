"""Another program of the same user cannot read the environment of a process that keeps to itself."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no prctl here")
NOBODY = 65534
SCRIPT = f"""
import ctypes, os, subprocess, sys
from quillback.edge.guard import keep_private
if os.geteuid() == 0:  # root may read everything
    os.setuid({NOBODY})
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # which the change of user had undone
def told():
    argv, env = ["cat", f"/proc/{{os.getpid()}}/environ"], {{"PATH": os.environ["PATH"]}}
    done = subprocess.run(argv, env=env, capture_output=True)
    return "KEY=secret" in done.stdout.decode()
before = told()
keep_private()
print(before, told(), os.readlink("/proc/self/fd/0"), "pid" in os.readlink("/proc/self/ns/pid"))
"""


def test_nobody_else_reads_the_environment():
    env = {**os.environ, "KEY": "secret"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout == "True False /dev/null True\n"
