# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""A kernel that traps or accesses memory out of bounds: a typed error, silent destructors."""

import subprocess
import sys

import pytest

# Alone: an error may take longer on a GPU that others use.
pytestmark = [pytest.mark.gpu, pytest.mark.alone]

CODE = r"""
import time
import numpy as np
import gpukern

SOURCE = '''
extern "C" __device__ void __assertfail(const char *, const char *, unsigned, const char *, size_t);
extern "C" __global__ void fail(int *out) { %s }
extern "C" __global__ void fine(int *out) { out[0] = 1; }
'''
program = gpukern.Program(SOURCE)
fail, fine = program.kernel("fail"), program.kernel("fine")
out = gpukern.empty(4, np.int32)
others = [gpukern.empty(1000) for _ in range(3)]
fine[1, 1](out)
assert out.numpy()[0] == 1
began = time.monotonic()
try:
    fail[1, 1](%s)
    out.numpy()
except gpukern.ContextLostError as error:
    assert time.monotonic() - began < 1, "late"
    assert "context" in str(error), error
    assert %r in str(error).upper().replace("_", ""), error
    assert isinstance(error, gpukern.errors.GpukernCudaError)
else:
    raise SystemExit("no error")
for call in (lambda: fine[1, 1](out), out.numpy, lambda: gpukern.to_device(np.zeros(3)),
             lambda: fine[1, 1](gpukern.Out(np.zeros(4, np.int32)))):
    try:
        call()
        raise SystemExit("no error later on")
    except gpukern.ContextLostError:
        pass
# The CPU remains usable.
assert gpukern.gather(np.arange(3), [2])[0] == 2
%s
print("lost")
"""


# The errors 719, 700, 700, 716 and 710.
BODIES = {
    "__trap();": "LAUNCHFAILURE",
    "out[1ull << 40] = 1;": "ILLEGALADDRESS",
    "*(volatile int *)8 = 1;": "ILLEGALADDRESS",
    "((volatile short *)out)[1] = ((volatile int *)((char *)out + 2))[0];": "MISALIGNEDADDRESS",
    '__assertfail("false", "source", 1, "fail", 1);': "ASSERT",
}


@pytest.mark.parametrize("end", ["del out, others, fail, fine, program", "pass"])
@pytest.mark.parametrize("argument", ["out", "gpukern.InOut(np.zeros(4, np.int32))"])
@pytest.mark.parametrize("body", BODIES)
def test_a_lost_context_is_a_typed_error(body, argument, end):
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE % (body, argument, BODIES[body], end)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "lost\n"
    told = [line for line in result.stderr.splitlines() if "Assertion `false` failed" not in line]
    assert told == []
