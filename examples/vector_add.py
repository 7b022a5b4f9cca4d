# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The sum of two vectors of 320,000,000 floats, as an element-wise function."""

import time

import numpy as np

import gpukern

SIZE = 320_000_000
SIZE_ON_CPU = 32_000_000


def main():
    """Add on the GPU, or shorter vectors on the CPU, and compare with NumPy."""
    devices = gpukern.info()["devices"]
    add = gpukern.elementwise("x + y")
    rng = np.random.default_rng()
    x, y = rng.random((2, SIZE if devices else SIZE_ON_CPU), dtype=np.float32)
    if devices:
        print(f"GPU 0, {devices[0]['name']}:")
        total = gpukern.empty(x.size, np.float32)
        taken = seconds("cuda", add, gpukern.to_device(x), gpukern.to_device(y), total)
        total = total.numpy()
    else:
        print(f"CPU, {gpukern.get_num_threads()} threads:")
        total = np.empty_like(x)
        taken = seconds("cpu", add, x, y, total)
    print(f"  x + y takes {1e3 * taken:.2f} ms, {3 * x.nbytes / taken / 1e9:.0f} GB/s")
    np.testing.assert_array_equal(total, x + y, strict=True)
    print(f"  {x.size} sums: right")


def seconds(device, add, x, y, total):
    """Return how long the third call takes; on a GPU, the first one compiles."""
    for _ in range(3):
        gpukern.synchronize(device)
        started = time.perf_counter()
        add(x, y, out=total)
        gpukern.synchronize(device)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
