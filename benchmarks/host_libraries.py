# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of host arrays stand beside: torch, Numba and CuPy, and two ceilings."""

import ctypes
import itertools
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks.libraries import open_each

NAMES = ("torch", "numba", "cupy")

# A copy of fewer bytes a thread is done sooner than a thread wakes.
LEAST_COPY = 4 << 20


class Torch:
    """PyTorch, its tensors on the memory of NumPy's arrays."""

    def __init__(self, gpu):
        import torch

        self.module = torch
        self.version = f"{torch.__version__} ({torch.get_num_threads()} threads)"


class Numba:
    """Loops over all cores, compiled by Numba; they check no bounds."""

    def __init__(self, gpu):
        import numba

        self.version = f"{numba.__version__} ({numba.get_num_threads()} threads)"

        @numba.njit(parallel=True)
        def saxpy(a, x, y, out):
            for i in numba.prange(x.size):
                out[i] = a * x[i] + y[i]

        @numba.njit(parallel=True)
        def gather(source, index, out):
            for i in numba.prange(index.size):
                out[i] = source[index[i]]

        @numba.njit(parallel=True)
        def gather_rows(source, index, out):
            for i in numba.prange(index.size):
                for j in range(source.shape[1]):
                    out[i, j] = source[index[i], j]

        self.saxpy = saxpy
        self.gather = gather
        self.gather_rows = gather_rows


class Cupy:
    """CuPy, and what its runtime calls tell of the link to the GPU."""

    def __init__(self, gpu):
        import cupy

        if not gpu:
            raise RuntimeError("there is no GPU")
        self.module = cupy
        self.version = cupy.__version__
        self.saxpy = cupy.ElementwiseKernel("T a, T x, T y", "T z", "z = a * x + y", "host_saxpy")
        self.streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]

    def transfer(self, to_gpu=(), to_host=()):
        """Copy pairs (to, from) of a device and a page-locked array both ways at once, and wait."""
        runtime = self.module.cuda.runtime
        into, out = self.streams
        for device, host in to_gpu:
            runtime.memcpyAsync(device.data.ptr, host.ctypes.data, host.nbytes,
                                runtime.memcpyHostToDevice, into.ptr)  # fmt: skip
        for host, device in to_host:
            runtime.memcpyAsync(host.ctypes.data, device.data.ptr, host.nbytes,
                                runtime.memcpyDeviceToHost, out.ptr)  # fmt: skip
        into.synchronize()
        out.synchronize()


LIBRARIES = {"torch": Torch, "numba": Numba, "cupy": Cupy}


def open_libraries(gpu, names=NAMES, classes=None):
    """Open the libraries; see :func:`benchmarks.libraries.open_each`."""
    return open_each(NAMES, names, lambda name, _: (classes or LIBRARIES)[name](gpu))


class Copier:
    """memcpy by as many threads as the process has processors, or fewer for little."""

    def __init__(self):
        self.threads = len(os.sched_getaffinity(0))
        self.pool = ThreadPoolExecutor(self.threads)

    def copy(self, to, origin):
        """Copy an array's bytes to another one."""
        size, start, target = origin.nbytes, origin.ctypes.data, to.ctypes.data
        threads = max(1, min(self.threads, size // LEAST_COPY))
        if threads == 1:
            ctypes.memmove(target, start, size)
            return
        cuts = [size * k // threads // 64 * 64 for k in range(threads)] + [size]
        jobs = [
            self.pool.submit(ctypes.memmove, target + low, start + low, high - low)
            for low, high in itertools.pairwise(cuts[1:])
        ]
        ctypes.memmove(target, start, cuts[1])
        for job in jobs:
            job.result()


def same_bytes(left, right):
    """Whether two contiguous arrays hold the same bytes."""
    memcmp = ctypes.CDLL(None).memcmp
    memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    return left.nbytes == right.nbytes and memcmp(
        left.ctypes.data, right.ctypes.data, left.nbytes
    ) == 0  # fmt: skip
