# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""memcpy on all cores, a ceiling; and memcmp."""

import ctypes
import itertools
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

# Copying fewer bytes in a thread takes less time than waking it.
LEAST_COPY = 4 << 20


class Copier:
    """memcpy by one thread per processor of the process, or fewer for small copies."""

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
