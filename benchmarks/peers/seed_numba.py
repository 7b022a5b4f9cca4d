# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of ``examples/`` by Numba: ``seed_numba.py hello|gather|saxpy|vector_add|polynomial``.

Each computes what the example of that name computes, at the same size, and compares with NumPy.
"""

import sys
import time

import numpy as np
from numba import cuda, float32, vectorize

TEN, TWO, FIVE = np.float32(10), np.float32(2), np.float32(5)


@cuda.jit
def hello_kernel(answers):
    """Greet and count."""
    print("  hello from thread", cuda.threadIdx.x, "of block", cuda.blockIdx.x)
    cuda.atomic.add(answers, 0, 1)


@cuda.jit
def gather_kernel(source, index, out):
    """Gather one item per thread."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = source[index[i]]


@cuda.jit(fastmath=False)
def saxpy_kernel(a, x, y, out):
    """Compute one element per thread."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@cuda.jit
def polynomial_kernel(a, b):
    """Compute one element per thread, in place."""
    i = cuda.grid(1)
    if i < a.size:
        a[i] = (a[i] * TEN + TWO) * ((b[i] + TWO) * TEN - FIVE) * FIVE


def report(what, started):
    """Print the time of a step."""
    print(f"  {what}: right, {1e3 * (time.perf_counter() - started):.2f} ms")


def hello():
    """Greet from 2 blocks of 4 threads."""
    answers = np.zeros(1, np.int32)
    hello_kernel[2, 4](answers)
    assert answers[0] == 8
    print("  8 threads: right")


def gather():
    """Gather 1 Mi of 128 Mi floats."""
    rng = np.random.default_rng()
    source = rng.random(128 << 20, dtype=np.float32)
    index = rng.integers(0, len(source), 1 << 20, dtype=np.int32)
    on_gpu, index_on_gpu = cuda.to_device(source), cuda.to_device(index)
    out = cuda.device_array(index.size, np.float32)
    for _ in range(2):  # the first call compiles
        cuda.synchronize()
        started = time.perf_counter()
        gather_kernel[(index.size + 255) // 256, 256](on_gpu, index_on_gpu, out)
        picked = out.copy_to_host()
    report("a kernel, and the result to the host", started)
    np.testing.assert_array_equal(picked, source[index])


def saxpy():
    """Do saxpy by hand, 32768 blocks of 512 threads."""
    blocks, threads = 32768, 512
    size = blocks * threads
    a = np.float32(2)
    x, y = np.arange(size, dtype=np.float32), np.ones(size, np.float32)
    out = np.full(size, np.nan, np.float32)
    started = time.perf_counter()
    stream = cuda.stream()
    d_x, d_y = (cuda.to_device(each, stream=stream) for each in (x, y))
    d_out = cuda.device_array(size, np.float32, stream=stream)
    saxpy_kernel[blocks, threads, stream](a, d_x, d_y, d_out)
    d_out.copy_to_host(out, stream=stream)
    stream.synchronize()
    report("application", started)
    assert np.allclose(out, a * x + y)


def vector_add():
    """Add 320,000,000 floats."""
    size = 320_000_000

    @vectorize([float32(float32, float32)], target="cuda")
    def add(x, y):
        return x + y

    rng = np.random.default_rng()
    x, y = (rng.random(size, dtype=np.float32) for _ in range(2))
    on_gpu = cuda.to_device(x), cuda.to_device(y)
    total = cuda.device_array(size, np.float32)
    for _ in range(3):
        cuda.synchronize()
        started = time.perf_counter()
        add(*on_gpu, out=total)
        cuda.synchronize()
    report("x + y", started)
    np.testing.assert_array_equal(total.copy_to_host(), x + y)


def polynomial():
    """Compute the polynomial of 10 to 90 Mi elements in place, with the copies."""
    rng = np.random.default_rng()
    for size in (step << 20 for step in range(10, 91, 20)):
        a, b = (rng.random(size, dtype=np.float32) for _ in range(2))
        expected = (a * 10 + 2) * ((b + 2) * 10 - 5) * 5
        started = time.perf_counter()
        on_gpu = cuda.to_device(a)
        polynomial_kernel[(size + 255) // 256, 256](on_gpu, cuda.to_device(b))
        on_gpu.copy_to_host(a)
        report(f"{size >> 20} Mi elements with copies both ways", started)
        np.testing.assert_allclose(a, expected, rtol=1e-5)  # Numba fuses multiply-adds


if __name__ == "__main__":
    {f.__name__: f for f in (hello, gather, saxpy, vector_add, polynomial)}[sys.argv[1]]()
