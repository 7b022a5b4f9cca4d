# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Cases on host arrays: operands and reference results, timed by the host's clock."""

import numpy as np

from benchmarks.measure.copier import Copier, same_bytes
from benchmarks.measure.host_arrays import OPERANDS
from benchmarks.measure.host_data import POISON, HostData, floats_of
from benchmarks.measure.loop import Bench
from benchmarks.measure.timers import WallTimer
from benchmarks.suites.cases import Saxpy
from benchmarks.suites.scatter_cases import Scatter

SAMPLE_SECONDS = 4e-3  # a sample lasts about this long, where a call is shorter
# OpenMP threads spin for a few milliseconds after a call, on the cores that the next
# implementation needs.
SETTLE_SECONDS = 15e-3
SHORT_SECONDS = 1.0  # at least, by more rounds: disturbances often last longer
HYBRID = "host hybrid rows"
CUDA_TABLES = ("host saxpy cuda", "host saxpy pinned", "host gather cuda", "host gather pinned",
               HYBRID, "host link")  # fmt: skip


class HostBench(Bench):
    """Libraries and host arrays."""

    # The best sample, since disturbances only slow samples down.
    typical = staticmethod(min)

    def __init__(self, tables, libraries, missing, rounds):
        super().__init__(libraries, missing, rounds)
        self.least_seconds = SHORT_SECONDS
        # The large source of rows for the GPU has a separate allocation.
        sizes = [
            floats_of(case, with_source=table.name != HYBRID)
            for table in tables
            for case in table.cases
        ]
        self.data = HostData(max(sizes))
        self.copier = Copier()
        self.pinned = self.data.pinned

    def settings(self):
        """Return the description of the host for JSON."""
        return {"cache_bytes": self.data.cache_bytes, "memcpy_threads": self.copier.threads}

    def operands(self, table, case):
        """Return the reference and the sets of operands of a case."""
        turns = table.name not in CUDA_TABLES  # their arrays are larger than caches
        if isinstance(case, Saxpy):
            return self.data.saxpy(case, turns)
        if isinstance(case, Scatter):
            return self.data.scatter(case)
        if type(case) in OPERANDS:
            return OPERANDS[type(case)](self.data.rng, case)
        if table.name != HYBRID:
            return self.data.gather(case, turns)
        return self.data.gather(case, turns, self.data.pinned_table(case.m * case.width // 4))

    def is_right(self, implementation, case, at, call, reference):
        """Call once on a poisoned result and compare it with the reference."""
        if hasattr(at, "initial"):  # written to in place
            at.out[...] = at.initial
        elif at.out is not None:
            at.out.view(np.uint8).fill(POISON)
        result = call()
        if not isinstance(result, np.ndarray):
            result = result.numpy()  # a tensor of torch, a DeviceArray
        return same_bytes(result, reference)

    def timer(self, implementation, calls, case):
        """Return the timer of an implementation."""
        return WallTimer(calls, "host", SAMPLE_SECONDS, rest=SETTLE_SECONDS)
