# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The sum of two vectors of 320,000,000 floats, as an element-wise function."""

import time

import numpy as np

import gpukern

SIZE = 320_000_000


def main():
    """Add on the GPU and compare with NumPy."""
    devices = gpukern.info()["devices"]
    if not devices:
        print("skipped: element-wise functions in C need a GPU")
        return
    print(f"GPU 0, {devices[0]['name']}:")
    add = gpukern.elementwise("x + y")
    rng = np.random.default_rng()
    x = rng.random(SIZE, dtype=np.float32)
    y = rng.random(SIZE, dtype=np.float32)
    x_on_gpu, y_on_gpu = gpukern.to_device(x), gpukern.to_device(y)
    for _ in range(2):  # the first call compiles
        started = time.perf_counter()
        total = add(x_on_gpu, y_on_gpu)
        gpukern.gather(total, [0])  # waits, since it has to know that 0 is a good index
        taken = time.perf_counter() - started
    rate = 3 * x.nbytes / taken / 1e9
    print(f"  x + y takes {1e3 * taken:.2f} ms, {rate:.0f} GB/s")
    np.testing.assert_array_equal(total.numpy(), x + y, strict=True)
    print(f"  {SIZE} sums: right")


if __name__ == "__main__":
    main()
