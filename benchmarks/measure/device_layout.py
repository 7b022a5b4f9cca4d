# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The device memory of a benchmark, shared out to the operands of a case."""

from benchmarks.measure.loop import TooLargeError

ALIGNMENT = 4096
MOST_SETS = 64  # sets of operands that rotate
L2_MULTIPLE = 3  # their total size, in sizes of the L2 cache
SCRATCH = 4096  # bytes at the start of the memory


def aligned(size):
    """Round up, with a margin for an offset of a few elements."""
    return (size + 256 + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


class Layout:
    """Allocates the memory from its start, up to a reserve at its end."""

    def __init__(self, bench, reserve=0):
        self.at = bench.address + SCRATCH
        self.end = bench.address + bench.size - reserve

    def take(self, size):
        """Return the address of a new piece."""
        at = self.at
        self.at += aligned(size)
        if self.at > self.end:
            missing = (self.at - self.end) / 2**30
            raise TooLargeError(f"the benchmark's memory is {missing:.1f} GiB too small")
        return at

    def room(self):
        """Return the bytes that are left."""
        return self.end - self.at

    def set_count(self, bench, size, beside=0):
        """The number of sets of operands of a size that fit and exceed the L2 cache several times.

        Each has more bytes ``beside`` its operands. It is 1 if none fits: take() raises
        TooLargeError then.
        """
        wanted = -(-L2_MULTIPLE * bench.l2_bytes // size)
        return max(1, min(MOST_SETS, wanted, self.room() // (size + beside)))


def note_filled(bench, layout):
    """Record how much of the source at the memory's end a layout has not overwritten."""
    bench.filled = min(bench.filled, bench.address + bench.size - layout.at)
