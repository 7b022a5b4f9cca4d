# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The programs of ``examples/`` by CuPy: ``seed_cupy.py hello|gather|saxpy|vector_add|polynomial``.

Each computes what the example of that name computes, at the same size, and compares with NumPy.
"""

import sys
import time

import cupy
import numpy as np

HELLO = r"""
extern "C" __global__ void hello(int *answers) {
  printf("  hello from thread %d of block %d\n", threadIdx.x, blockIdx.x);
  atomicAdd(answers, 1);
}
"""
GATHER = """
extern "C" __global__ void gather(const float *source, const int *index, float *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = source[index[i]];
}
"""
SAXPY = """
extern "C" __global__ void saxpy(float a, float *x, float *y, float *out, size_t n) {
  size_t tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid < n) out[tid] = a * x[tid] + y[tid];
}
"""
POLYNOMIAL = """
extern "C" __global__ void polynomial(float *a, const float *b, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) a[i] = (a[i] * 10 + 2) * ((b[i] + 2) * 10 - 5) * 5;
}
"""


def report(what, started):
    """Print the time of a step."""
    print(f"  {what}: right, {1e3 * (time.perf_counter() - started):.2f} ms")


def wait():
    """Wait for the GPU."""
    cupy.cuda.Device().synchronize()


def hello():
    """Greet from 2 blocks of 4 threads."""
    answers = cupy.zeros(1, np.int32)
    cupy.RawKernel(HELLO, "hello")((2,), (4,), (answers,))
    assert int(answers[0]) == 8
    print("  8 threads: right")


def gather():
    """Gather 1 Mi of 128 Mi floats."""
    rng = np.random.default_rng()
    source = rng.random(128 << 20, dtype=np.float32)
    index = rng.integers(0, len(source), 1 << 20, dtype=np.int32)
    on_gpu, index_on_gpu = cupy.asarray(source), cupy.asarray(index)
    expected = source[index]
    for _ in range(2):
        wait()
        started = time.perf_counter()
        picked = on_gpu.take(index_on_gpu).get()
    report("take, and the result to the host", started)
    np.testing.assert_array_equal(picked, expected)
    kernel = cupy.RawKernel(GATHER, "gather")
    kernel.compile()  # as gpukern.Program does, before the first launch
    out = cupy.empty(index.size, np.float32)
    started = time.perf_counter()
    blocks = (index.size + 255) // 256
    kernel((blocks,), (256,), (on_gpu, index_on_gpu, out, np.int32(index.size)))
    out = out.get()
    report("a RawKernel, and the result to the host", started)
    np.testing.assert_array_equal(out, expected)


def saxpy():
    """Do saxpy by hand, 32768 blocks of 512 threads."""
    blocks, threads = 32768, 512
    size = blocks * threads
    a = np.float32(2)
    x, y = np.arange(size, dtype=np.float32), np.ones(size, np.float32)
    out = np.full(size, np.nan, np.float32)
    started = time.perf_counter()
    kernel = cupy.RawKernel(SAXPY, "saxpy", options=("--fmad=false",))
    with cupy.cuda.Stream(non_blocking=True) as stream:
        d_x, d_y, d_out = (cupy.empty(size, np.float32) for _ in range(3))
        d_x.set(x, stream=stream)
        d_y.set(y, stream=stream)
        kernel((blocks,), (threads,), (a, d_x, d_y, d_out, np.uint64(size)))
        d_out.get(stream=stream, out=out)
        stream.synchronize()
    report("application", started)
    assert np.allclose(out, a * x + y)


def vector_add():
    """Add 320,000,000 floats."""
    size = 320_000_000
    rng = np.random.default_rng()
    x, y = (rng.random(size, dtype=np.float32) for _ in range(2))
    add = cupy.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x + y", "add")
    on_gpu = cupy.asarray(x), cupy.asarray(y)
    total = cupy.empty(size, np.float32)
    for _ in range(3):
        wait()
        started = time.perf_counter()
        add(*on_gpu, total)
        wait()
    report("x + y", started)
    np.testing.assert_array_equal(total.get(), x + y)


def polynomial():
    """Compute the polynomial of 10 to 90 Mi elements in place, with the copies."""
    kernel = cupy.RawKernel(POLYNOMIAL, "polynomial", options=("--fmad=false",))
    kernel.compile()
    rng = np.random.default_rng()
    for size in (step << 20 for step in range(10, 91, 20)):
        a, b = (rng.random(size, dtype=np.float32) for _ in range(2))
        expected = (a * 10 + 2) * ((b + 2) * 10 - 5) * 5
        started = time.perf_counter()
        on_gpu = cupy.asarray(a)
        blocks = (size + 255) // 256
        kernel((blocks,), (256,), (on_gpu, cupy.asarray(b), np.uint64(size)))
        on_gpu.get(out=a)
        report(f"{size >> 20} Mi elements with copies both ways", started)
        np.testing.assert_array_equal(a, expected)


if __name__ == "__main__":
    {f.__name__: f for f in (hello, gather, saxpy, vector_add, polynomial)}[sys.argv[1]]()
