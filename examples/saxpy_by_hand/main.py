# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""saxpy by hand: a source string, a program, a kernel, device buffers, copies on a stream.

main.cpp is the same program in C++; compare.py runs both side by side.
"""

import time

import numpy as np

import gpukern

SAXPY = """
extern "C" __global__ void saxpy(float a, float *x, float *y, float *out, size_t n) {
  size_t tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid < n) out[tid] = a * x[tid] + y[tid];
}
"""
BLOCKS, THREADS = 32768, 512
SIZE = BLOCKS * THREADS
STREAM = 2  # CUDA's handle of the thread's own stream
LAUNCHES = 20


def main():
    """Compile, copy, launch, copy back and check."""
    a = np.float32(2)
    x = np.arange(SIZE, dtype=np.float32)
    y = np.ones(SIZE, np.float32)
    out = np.zeros(SIZE, np.float32)

    started = time.perf_counter()
    if not gpukern.info()["devices"]:
        print("skipped: a kernel that runs needs a GPU")
        return
    program = gpukern.Program(SAXPY, options=["--fmad=false"], name="saxpy.cu")
    kernel = program.kernel("saxpy")
    d_x = gpukern.to_device(x, stream=STREAM)
    d_y = gpukern.to_device(y, stream=STREAM)
    d_out = gpukern.to_device(out, stream=STREAM)
    kernel[BLOCKS, THREADS, 0, STREAM](a, d_x, d_y, d_out, SIZE)
    d_out.numpy(out=out, stream=STREAM)  # waits
    application = time.perf_counter() - started

    # Once more, for the time of the kernel alone.
    launcher = kernel[BLOCKS, THREADS, 0, STREAM]
    started = time.perf_counter()
    for _ in range(LAUNCHES):
        launcher(a, d_x, d_y, d_out, SIZE)
    d_out.numpy(out=out, stream=STREAM)
    looped = time.perf_counter() - started
    started = time.perf_counter()
    d_out.numpy(out=out, stream=STREAM)
    launch = (looped - (time.perf_counter() - started)) / LAUNCHES
    del d_x, d_y, d_out, kernel, program

    assert np.allclose(out, a * x + y)
    print("GPU 0, Python:")
    print(f"  application {1e3 * application:.2f} ms, kernel {1e6 * launch:.1f} us: right")


if __name__ == "__main__":
    main()
