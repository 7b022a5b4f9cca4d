# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What CUDA waits for the GPU to free is freed without the GIL, which the GPU may wait for."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.gpu

# A stream waits for a Python function while `dropped` is released: a deadlock if the GIL were held.
PROGRAM = """
import ctypes, gc, time
import cuda_driver
import numpy as np
import gpukern

{make}
stream = cuda_driver.Stream()
called = []

@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def host_function(_):
    time.sleep(0.2)
    called.append(True)

cuda_driver.cuda("cuLaunchHostFunc", ctypes.c_void_p(stream.handle), host_function, None)
del dropped
gc.collect()
stream.synchronize()
assert called
"""
SOURCE = "'extern \"C\" __global__ void nothing(float *x) { *x = 0; }'"
MAKES = {
    "pinned": "dropped = gpukern.pinned_empty(1000)",
    "pinned large": "dropped = gpukern.pinned_empty(65 << 20, np.uint8)",
    "program": f"""
dropped = gpukern.Program({SOURCE})
dropped.kernel("nothing")[1, 1](gpukern.empty(1, np.float32))
gpukern.clear_cache()
""",
    "elementwise": """
dropped = gpukern.elementwise("a * 3 + 1", name="dropped")
dropped(gpukern.empty(100, np.float32))
gpukern.clear_cache()
""",
}


@pytest.mark.parametrize("made", MAKES)
def test_a_python_function_in_a_stream_is_no_deadlock(made, tmp_path):
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    program = PROGRAM.format(make=MAKES[made])
    environment = {**os.environ, "PYTHONPATH": path, "GPUKERN_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", program], check=False, env=environment, timeout=60)
    assert run.returncode == 0
