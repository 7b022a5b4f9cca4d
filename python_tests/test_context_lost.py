# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""A kernel that traps or accesses memory out of bounds: a typed error, silent destructors."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.gpu

CODE = r"""
import numpy as np
import gpukern

SOURCE = '''
extern "C" __global__ void fail(int *out) { %s }
extern "C" __global__ void fine(int *out) { out[0] = 1; }
'''
program = gpukern.Program(SOURCE)
fail, fine = program.kernel("fail"), program.kernel("fine")
out = gpukern.empty(4, np.int32)
others = [gpukern.empty(1000) for _ in range(3)]
fine[1, 1](out)
assert out.numpy()[0] == 1
try:
    fail[1, 1](%s)
    out.numpy()
except gpukern.ContextLostError as error:
    assert "context" in str(error), error
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
del out, others, fail, fine, program
print("lost")
"""


@pytest.mark.parametrize("argument", ["out", "gpukern.InOut(np.zeros(4, np.int32))"])
@pytest.mark.parametrize(
    "body",
    [
        "__trap();",
        "out[1ull << 40] = 1;",
        "*(volatile int *)8 = 1;",
        "((volatile short *)out)[1] = ((volatile int *)((char *)out + 2))[0];",
    ],
)
def test_a_lost_context_is_a_typed_error(body, argument):
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE % (body, argument)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "lost\n"
    assert result.stderr == ""
