# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Cases on device arrays: one piece of device memory for all, checks, timers."""

import statistics

from benchmarks.measure import device_data, uploaded_data
from benchmarks.measure.device_layout import SCRATCH
from benchmarks.measure.loop import Bench
from benchmarks.measure.timers import make_timer

OPERANDS = device_data.OPERANDS | uploaded_data.OPERANDS


class DeviceBench(Bench):
    """Libraries and one piece of device memory."""

    typical = staticmethod(statistics.median)

    def __init__(self, native, address, size, l2_bytes, libraries, missing, rounds=9):
        super().__init__(libraries, missing, rounds)
        self.native = native
        self.address, self.size = address, size
        self.l2_bytes = l2_bytes
        # Bytes at the memory's end, the sources of gather, that hold random bits.
        self.filled = 0

    def settings(self):
        """Return the description of the memory for JSON."""
        return {"memory": self.size - SCRATCH, "l2_bytes": self.l2_bytes}

    def operands(self, table, case):
        """Return the reference and the sets of operands of a case."""
        reference, sets = OPERANDS[type(case)](self, case)
        self.native.synchronize()
        return reference, sets

    def is_right(self, implementation, case, at, call, reference):
        """Call once on a poisoned result and compare it with the reference."""
        native = self.native
        if implementation.in_place or getattr(case, "in_place", False):
            native.enqueue("copy", at.out, at.initial, case.result_bytes)
        else:
            native.poison(at.out, case.result_bytes)
        native.synchronize()
        result = call()
        native.synchronize()
        address = at.out
        if implementation.wall:
            address = result.block_until_ready().unsafe_buffer_pointer()
        elif hasattr(call, "result_address"):
            address = call.result_address(result)
        return native.differing(address, reference, case.result_bytes, self.address) == 0

    def timer(self, implementation, calls, case):
        """Return the timer that suits an implementation."""
        return make_timer(self.native, implementation, calls, case.traffic)

    def synchronize(self):
        """Wait for the device; raise BenchError if it is lost."""
        self.native.synchronize()
