# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Ctrl-C during the first compilation of a process does not end it."""

import subprocess
import sys

from nvrtc import needs_nvrtc

# Each process compiles once: NVRTC installs its own handlers during its first compilation only.
COMPILE = """
import os, signal, threading
os.environ["GPUKERN_CACHE_DIR"] = "off"
import gpukern

signal.signal(signal.SIGINT, lambda *_: None)
done = threading.Event()

def interrupt():
    while not done.wait(0.001):
        os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
gpukern.Program('extern "C" __global__ void k(float *x) { x[0] = 1; }', architecture="sm_90")
done.set()
received = threading.Event()
signal.signal(signal.SIGINT, lambda *_: received.set())
os.kill(os.getpid(), signal.SIGINT)
assert received.wait(10)
print("finished")
"""


@needs_nvrtc
def test_sigint_during_the_first_compilation_reaches_the_program():
    result = subprocess.run(
        [sys.executable, "-c", COMPILE], capture_output=True, text=True, timeout=120, check=False
    )
    assert (result.returncode, result.stdout) == (0, "finished\n"), result.stderr
