# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""A kernel that prints from the GPU, compiled at run time and called from Python."""

import sys

import numpy as np

import gpukern

SOURCE = r"""
extern "C" __global__ void hello(int *answers) {
  printf("  hello from thread %d of block %d\n", threadIdx.x, blockIdx.x);
  atomicAdd(answers, 1);
}
"""


def main():
    """Greet from 2 blocks of 4 threads, and count the greetings."""
    devices = gpukern.info()["devices"]
    if not devices:
        print("skipped: a kernel that runs needs a GPU")
        return
    print(f"GPU 0, {devices[0]['name']}:")
    sys.stdout.flush()  # the GPU's output bypasses Python's buffer
    answers = np.zeros(1, np.int32)
    # The call waits for `answers`, which also flushes the kernel's output.
    gpukern.Program(SOURCE).kernel("hello")[2, 4](gpukern.InOut(answers))
    assert answers[0] == 8
    print("  8 threads: right")


if __name__ == "__main__":
    main()
