# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""1 Mi random items of 128 Mi floats, by gpukern.gather and by a compiled kernel."""

import time

import numpy as np

import gpukern

SOURCE = """
__global__ void gather(const float *source, const int *index, float *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = source[index[i]];
}
"""


def expect(values, expected, started, what):
    """Stop the program unless the arrays are equal, bit for bit."""
    taken = time.perf_counter() - started
    np.testing.assert_array_equal(values, expected, err_msg=what, strict=True)
    print(f"  {what}: right, {1e3 * taken:.1f} ms")


def main():
    """Compare each way with NumPy's source[index]."""
    devices = gpukern.info()["devices"]
    shrink = 1 if devices else 16
    rng = np.random.default_rng()
    source = rng.random((128 << 20) // shrink, dtype=np.float32)
    index = rng.integers(0, len(source), (1 << 20) // shrink, dtype=np.int32)
    started = time.perf_counter()
    expected = source[index]
    print(f"NumPy: source[index] takes {1e3 * (time.perf_counter() - started):.1f} ms")

    print("CPU:")
    started = time.perf_counter()
    expect(gpukern.gather(source, index), expected, started, "gather of host arrays")
    if not devices:
        return
    print(f"GPU 0, {devices[0]['name']}:")
    on_gpu, index_on_gpu = gpukern.to_device(source), gpukern.to_device(index)
    for _ in range(2):  # the first call loads the kernels
        started = time.perf_counter()
        picked = gpukern.gather(on_gpu, index_on_gpu)
        picked = picked.numpy()
    expect(picked, expected, started, "gather of device arrays, and the result to the host")

    kernel = gpukern.Program(SOURCE).kernel("gather")
    out = gpukern.empty(index.shape, np.float32)
    started = time.perf_counter()
    kernel.for_size(index.size)(on_gpu, index_on_gpu, out, index.size)
    expect(out.numpy(), expected, started, "a compiled kernel, and the result to the host")


if __name__ == "__main__":
    main()
