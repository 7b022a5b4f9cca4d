# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""(a * 10 + 2) * ((b + 2) * 10 - 5) * 5 of large host arrays, by a kernel that works in place."""

import time

import numpy as np

import gpukern

SOURCE = """
extern "C" __global__ void polynomial(float *a, const float *b, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) a[i] = (a[i] * 10 + 2) * ((b[i] + 2) * 10 - 5) * 5;
}
"""
STEPS = range(10, 91, 20)  # Mi elements


def main():
    """Compute with NumPy and on the GPU, and compare."""
    devices = gpukern.info()["devices"]
    if not devices:
        print("skipped: a kernel that runs needs a GPU")
        return
    print(f"GPU 0, {devices[0]['name']}:")
    # NumPy rounds after each operation; so does the kernel, without fused multiply-adds.
    kernel = gpukern.Program(SOURCE, options=["--fmad=false"]).kernel("polynomial")
    rng = np.random.default_rng()
    for size in (step << 20 for step in STEPS):
        a = rng.random(size, dtype=np.float32)
        b = rng.random(size, dtype=np.float32)
        started = time.perf_counter()
        expected = (a * 10 + 2) * ((b + 2) * 10 - 5) * 5
        by_numpy = time.perf_counter() - started
        started = time.perf_counter()
        kernel.for_size(size)(gpukern.InOut(a), gpukern.In(b), size)
        by_gpu = time.perf_counter() - started
        np.testing.assert_array_equal(a, expected, strict=True)
        print(
            f"  {size >> 20} Mi elements: right; NumPy {1e3 * by_numpy:.0f} ms, "
            f"with copies both ways {1e3 * by_gpu:.0f} ms"
        )


if __name__ == "__main__":
    main()
