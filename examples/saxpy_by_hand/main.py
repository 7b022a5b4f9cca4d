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
STREAM = 1  # CUDA's handle of the default stream; any other stream works as well
LAUNCHES = 20


class Laps:
    """The steps of a program and their times."""

    def __init__(self):
        self.last = time.perf_counter()
        self.steps = {}

    def end(self, step):
        """End a step and begin the next."""
        now = time.perf_counter()
        self.steps[step] = now - self.last
        self.last = now

    def __str__(self):
        return ", ".join(f"{step} {1e3 * seconds:.2f}" for step, seconds in self.steps.items())


def main():
    """Compile, copy, launch, copy back and check."""
    a = np.float32(2)
    x = np.arange(SIZE, dtype=np.float32)
    y = np.ones(SIZE, np.float32)
    out = np.full(SIZE, np.nan, np.float32)  # np.zeros would defer the page faults to the copy back

    laps = Laps()
    if gpukern.device_count() == 0:
        print("skipped: a kernel that runs needs a GPU")
        return
    laps.end("start")
    program = gpukern.Program(SAXPY, options=["--fmad=false"], name="saxpy.cu")
    laps.end("compile")
    kernel = program.kernel("saxpy")
    laps.end("load")
    d_x = gpukern.empty(SIZE, np.float32, stream=STREAM)
    d_y = gpukern.empty(SIZE, np.float32, stream=STREAM)
    d_out = gpukern.empty(SIZE, np.float32, stream=STREAM)
    laps.end("allocate")
    gpukern.copyto(d_x, x, stream=STREAM, blocking=False)
    gpukern.copyto(d_y, y, stream=STREAM, blocking=False)
    laps.end("copy")
    kernel[BLOCKS, THREADS, 0, STREAM](a, d_x, d_y, d_out, SIZE)
    laps.end("launch")
    gpukern.copyto(out, d_out, stream=STREAM, blocking=False)
    gpukern.synchronize(stream=STREAM)
    laps.end("copy back")

    # Once more, for the time of the kernel alone.
    launcher = kernel[BLOCKS, THREADS, 0, STREAM]
    started = time.perf_counter()
    for _ in range(LAUNCHES):
        launcher(a, d_x, d_y, d_out, SIZE)
    gpukern.synchronize(stream=STREAM)
    launch = (time.perf_counter() - started) / LAUNCHES
    del d_x, d_y, d_out, launcher, kernel, program

    assert np.allclose(out, a * x + y)
    print("GPU 0, Python:")
    application = 1e3 * sum(laps.steps.values())
    print(f"  application {application:.2f} ms, kernel {1e6 * launch:.1f} us: right")
    print(f"  ms: {laps}")


if __name__ == "__main__":
    main()
