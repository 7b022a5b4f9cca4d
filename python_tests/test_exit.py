# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Interpreters that end with live objects of every kind end with their own exit code."""

import os
import signal
import subprocess
import sys

import pytest

# Of each kind; a release runs more.
EXITS = int(os.environ.get("GPUKERN_TEST_EXITS", "2"))

COMMON = """
import sys, threading
import numpy as np
import gpukern

x = np.arange(100_000, dtype=np.float32)
index = np.arange(x.size)[::-1].copy()
DEVICE = {device!r}
"""

# What lives when the interpreter ends.
LIVE = {
    "imported arrays": """
class Owner:
    def __init__(self): self.array = np.arange(5.0)
    def __dlpack__(self, **options): return self.array.__dlpack__(**options)
    def __dlpack_device__(self): return self.array.__dlpack_device__()

kept = [gpukern.gather(Owner(), [1]), Owner().__dlpack__(), Owner().array.__dlpack__()]
here = gpukern.to_device(x, device=DEVICE)
sys.kept = kept, here, here.__dlpack__()
""",
    "a running pool": """
def work():
    while True:
        gpukern.gather(x, index, device=DEVICE)
        gpukern.scatter(np.zeros(10), index % 10, 1.0, reduce="add")

for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
gpukern.saxpy(2.0, x, x, device=DEVICE)
""",
    "long calls": """
started = threading.Event()
def work():
    while True:
        gpukern.saxpy(1.0, x, x, progress=lambda done, total: started.set())

threading.Thread(target=work, daemon=True).start()
started.wait()
""",
    "elementwise functions": """
f = gpukern.elementwise("sin(x) * 2 + y")
g = gpukern.elementwise("a * b + 1")
sys.kept = f, g, f(x, x), g(x, 2.0)
def work():
    while True: f(x, x)
threading.Thread(target=work, daemon=True).start()
""",
    "cycles": """
class Node:
    def __del__(self): self.array
node = Node()
node.self, node.array, node.module = node, gpukern.to_device(x, device=DEVICE), gpukern
del node
""",
    "an exit function": """
import atexit
made = gpukern.to_device(x, device=DEVICE)
atexit.register(lambda: gpukern.gather(made, gpukern.to_device(index, device=DEVICE)))
class Last:
    def __del__(self): gpukern.gather(x, index)
sys.last = Last()
""",
    "an exception": """
def late():
    held = gpukern.to_device(x, device=DEVICE), gpukern.elementwise("x + 1")
    try:
        gpukern.gather(x, [x.size])
    except IndexError as error:
        sys.kept = error, held
late()
""",
    "a child of fork": """
import os
gpukern.gather(x, index)
child = os.fork()
gpukern.gather(x, index)
if child:
    assert os.waitpid(child, 0)[1] == 3 << 8
""",
}

ON_GPU = {
    "pending streams": """
from cuda_driver import Stream
sys.streams = [Stream() for _ in range(3)]
for stream in sys.streams:
    stream.delay(20_000)
arrays = [gpukern.to_device(x, stream=stream) for stream in sys.streams]
sys.kept = [gpukern.gather(each, gpukern.to_device(index, stream=stream), stream=stream)
            for each, stream in zip(arrays, sys.streams)]
pinned = gpukern.pinned_empty(x.shape, x.dtype)
gpukern.copyto(pinned, sys.kept[0], blocking=False)
""",
    "kernels": """
program = gpukern.Program('extern "C" __global__ void k(float *x) { x[0] += 1; }')
kernel = program.kernel("k")
out = gpukern.to_device(x)
kernel[1, 1](out)
sys.kept = program, kernel, out
""",
}

CASES = [pytest.param(live, "cpu", id=f"{name}-cpu") for name, live in LIVE.items()] + [
    pytest.param(live, "cuda", id=f"{name}-cuda", marks=pytest.mark.gpu)
    for name, live in (LIVE | ON_GPU).items()
    if name != "a child of fork"
]


@pytest.mark.parametrize(("live", "device"), CASES)
def test_an_interpreter_ends_with_live_objects(live, device):
    code = COMMON.format(device=device) + live + "\nsys.exit(3)\n"
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    for _ in range(EXITS):
        ended = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-W", "ignore::DeprecationWarning", "-c", code],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert (ended.returncode, ended.stderr) == (3, ""), ended.stderr


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_a_signal_ends_an_interpreter_in_a_call(device):
    code = (
        COMMON.format(device=device)
        + LIVE["a running pool"]
        + """
print("ready", flush=True)
while True:
    gpukern.gather(x, index, device=DEVICE)
"""
    )
    for _ in range(EXITS):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout.readline() == b"ready\n"
                process.send_signal(signal.SIGTERM)
                assert process.wait(60) == -signal.SIGTERM
            finally:
                process.kill()
