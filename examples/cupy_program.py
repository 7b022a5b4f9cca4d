# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""A CuPy program: train the rows of an embedding table on a stream, as one captured CUDA graph.

Each step looks up the rows of a batch, moves them towards their targets by gradient descent and
writes them back. gather and saxpy run on CuPy's current stream, between CuPy's own kernels. The
buffers are allocated once; each replay of the graph reads the batch that they hold.
"""

import sys

import numpy as np

import gpukern

try:
    import cupy
except ImportError:
    print("skipped: cupy is not installed")
    sys.exit(0)

RATE = 0.5
ROWS, WIDTH, BATCH, STEPS = 10_000, 64, 256, 20

# Captured kernels must not allocate, which rules out `table[ids] = rows`.
write_rows = cupy.ElementwiseKernel(
    "raw int64 ids, float32 item, int64 width",
    "raw float32 table",
    "table[ids[i / width] * width + i % width] = item",
    "write_rows",
)


class Trainer:
    """A table on the GPU, the buffers of one batch, and the graph of one step."""

    def __init__(self, table):
        self.stream = cupy.cuda.Stream(non_blocking=True)
        with self.stream:
            self.table = cupy.asarray(table)
            self.ids = cupy.zeros(BATCH, np.int64)
            self.targets = cupy.zeros((BATCH, WIDTH), np.float32)
            self.rows = cupy.empty((BATCH, WIDTH), np.float32)
            self.gradient = cupy.empty((BATCH, WIDTH), np.float32)
            # A capture cannot compile or load kernels, so a step runs before it; the table is
            # restored afterwards.
            self.enqueue_step()
            self.table.set(table, stream=self.stream)
            self.stream.synchronize()
            self.stream.begin_capture()
            self.enqueue_step()
            self.graph = self.stream.end_capture()

    def enqueue_step(self):
        """Enqueue one step on the current stream: look up, compute, write back."""
        # mode="raise", the default, waits for the stream, which is not possible during a capture.
        gpukern.gather(self.table, self.ids, mode="clip", out=self.rows)
        cupy.subtract(self.rows, self.targets, out=self.gradient)
        gpukern.saxpy(-RATE, self.gradient, self.rows, out=self.rows)
        write_rows(self.ids, self.rows, WIDTH, self.table)

    def step(self, ids, targets):
        """Train on one batch; enqueues only, but for the copies of the batch."""
        self.ids.set(ids, stream=self.stream)
        self.targets.set(targets, stream=self.stream)
        self.graph.launch(stream=self.stream)


def main():
    """Train on random batches and compare the table with one that NumPy has trained."""
    print(f"gpukern {gpukern.__version__} with cupy {cupy.__version__}")
    if not gpukern.info()["devices"]:
        print("skipped: CuPy needs a GPU")
        return
    print(f"GPU 0, {gpukern.info()['devices'][0]['name']}:")
    rng = np.random.default_rng()
    # Integers, halved a few times: float32 represents every step exactly.
    expected = rng.integers(-100, 100, (ROWS, WIDTH)).astype(np.float32)
    trainer = Trainer(expected)
    for _ in range(STEPS):
        ids = rng.permutation(ROWS)[:BATCH]
        targets = rng.integers(-100, 100, (BATCH, WIDTH)).astype(np.float32)
        trainer.step(ids, targets)
        expected[ids] -= RATE * (expected[ids] - targets)
    np.testing.assert_array_equal(trainer.table.get(stream=trainer.stream), expected, strict=True)
    print(f"  {STEPS} steps of a captured graph: right")

    picked = gpukern.gather(trainer.table, cupy.asarray(ids))
    assert isinstance(picked, cupy.ndarray)
    np.testing.assert_array_equal(picked.get(), expected[ids], strict=True)
    print("  CuPy in, CuPy out: right")


if __name__ == "__main__":
    main()
