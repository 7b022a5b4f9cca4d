# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""One case: its data, the reference result, every implementation checked and then timed."""

import statistics
from dataclasses import dataclass
from types import SimpleNamespace

from benchmarks.cases import Saxpy, point
from benchmarks.implementations import NotApplicable, implementations_of
from benchmarks.native import DTYPES, ITEMSIZE, BenchError, scalar_two
from benchmarks.timing import make_timer

ALIGNMENT = 4096
MOST_SETS = 64  # of operands that take turns
L2_MULTIPLE = 3  # what they hold together, in sizes of the L2 cache
SCRATCH = 4096  # bytes at the start of the memory


class TooLargeError(BenchError):
    """The case does not fit into the benchmark's memory."""


def aligned(size):
    """Round up, with room for an offset of a few elements."""
    return (size + 256 + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


@dataclass
class Bench:
    """What the measurements share: libraries and one piece of device memory."""

    native: object
    address: int
    size: int
    l2_bytes: int
    libraries: dict
    missing: dict
    rounds: int = 9
    filled: int = 0  # bytes at the memory's end, the sources of gather, that hold random bits

    def measure(self, table, case):
        """Return the point that JSON gets for a case."""
        return measure(self, table, case)

    def settings(self):
        """Return what JSON has of the memory."""
        return {"memory": self.size - SCRATCH, "l2_bytes": self.l2_bytes}


def set_count(bench, size):
    """How many sets of operands make up several times the L2 cache."""
    return max(1, min(MOST_SETS, -(-L2_MULTIPLE * bench.l2_bytes // size)))


class Layout:
    """Hands out pieces of the memory, one behind the other, up to what is kept at the end."""

    def __init__(self, bench, kept=0):
        self.at = bench.address + SCRATCH
        self.end = bench.address + bench.size - kept

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


def keep_source(bench, layout):
    """Note how much of the source at the memory's end a layout has left alone."""
    bench.filled = min(bench.filled, bench.address + bench.size - layout.at)


def saxpy_operands(bench, case):
    """Fill x and y, compute the reference, and return it and the sets of operands."""
    native = bench.native
    layout = Layout(bench)
    reference = layout.take(case.size)
    shift = [count * ITEMSIZE[case.dtype] for count in case.shift]
    one = 3 * aligned(case.size)
    sets = []
    for k in range(max(1, min(set_count(bench, case.traffic), layout.room() // one))):
        x, y, out = (layout.take(case.size) + by for by in shift)
        for seed, start in ((2 * k, x), (2 * k + 1, y)):
            native.fill(start // 256 * 256, case.size // 8 * 8 + 128, seed, case.dtype)
        sets.append(SimpleNamespace(x=x, y=y, out=out))
    keep_source(bench, layout)
    first = sets[0]
    arguments = (DTYPES.index(case.dtype), scalar_two(case.dtype), first.x, first.y, reference)
    native.enqueue("saxpy_plain", *arguments, case.n)
    return reference, sets


def gather_operands(bench, case):
    """Fill source and indices, compute the reference, and return it and the sets of operands."""
    native = bench.native
    size = aligned(case.m * case.width)
    layout = Layout(bench, kept=size)
    source = layout.end
    if bench.filled < size <= layout.room() + size:
        native.fill(source, size, 1)
        bench.filled = size
    reference = layout.take(case.n * case.width)
    index_size, out_size = case.n * case.index_itemsize, case.n * case.width
    one = aligned(index_size) + aligned(out_size)
    sets = []
    for k in range(max(1, min(set_count(bench, one), layout.room() // one))):
        index, out = layout.take(index_size), layout.take(out_size)
        native.fill_index(index, case.index_itemsize, case.n, case.distribution, case.m, 100 + k)
        sets.append(SimpleNamespace(source=source, index=index, out=out))
    keep_source(bench, layout)
    first = sets[0]
    name = "gather_rows" if case.rows else "gather_unchecked"
    native.enqueue(name, case.width, case.index_itemsize, source, first.index, reference, case.n)
    return reference, sets


def is_right(bench, implementation, case, at, call, reference):
    """Call once on a poisoned result and compare it with the reference."""
    native = bench.native
    size = case.n * (ITEMSIZE[case.dtype] if isinstance(case, Saxpy) else case.width)
    in_place = implementation.in_place or getattr(case, "in_place", False)
    if in_place:
        native.enqueue("copy", at.out, at.y, size)
    else:
        native.poison(at.out, size)
    native.synchronize()
    result = call()
    native.synchronize()
    address = at.out
    if implementation.wall:
        address = result.block_until_ready().unsafe_buffer_pointer()
    elif hasattr(call, "result_address"):
        address = call.result_address(result)
    return native.differing(address, reference, size, bench.address) == 0


def prepare(bench, implementation, case, sets, reference):
    """Return the calls of an implementation, one a set, and whether its result is right."""
    operands = sets
    if getattr(case, "in_place", False):
        operands = [SimpleNamespace(x=s.x, y=s.out, out=s.out) for s in sets]
    calls = [implementation.make(bench, case, each) for each in operands]
    if not implementation.checked:
        calls[0]()
        return calls, None
    return calls, is_right(bench, implementation, case, sets[0], calls[0], reference)


def summary(implementation, case, unit, timer, samples, right):
    """What JSON gets of one implementation."""
    median = statistics.median(samples)
    work = implementation.work(case, unit) if implementation.work else case.work(unit)
    return {
        "role": implementation.role,
        "method": timer.method,
        "right": right,
        "rate": work / median,
        "seconds": median,
        "spread": (max(samples) - min(samples)) / median,
        "samples": samples,
    }


def failure(implementation, error):
    """What JSON gets of an implementation that has no result."""
    key = "absent" if isinstance(error, NotApplicable) else "error"
    words = str(error) if key == "absent" else f"{type(error).__name__}: {error}"
    return {"role": implementation.role, key: words[:300]}


def measure(bench, table, case):
    """Return the point that JSON gets for a case.

    All results are checked before the first is timed, since the copies overwrite operands. Then
    the implementations take turns, a sample each, so that a drift of the clocks meets them all.
    """
    make = saxpy_operands if isinstance(case, Saxpy) else gather_operands
    reference, sets = make(bench, case)
    bench.native.synchronize()
    results, ready, timers = {}, [], []
    for implementation in implementations_of(table, case):
        results[implementation.name] = None
        try:
            ready.append((implementation, *prepare(bench, implementation, case, sets, reference)))
        except Exception as error:
            results[implementation.name] = failure(implementation, error)
            bench.native.synchronize()  # raises where the GPU is lost
    for implementation, calls, right in ready:
        try:
            timer = make_timer(bench.native, implementation, calls, case.traffic)
            timers.append((implementation, timer, right, []))
        except Exception as error:
            results[implementation.name] = failure(implementation, error)
            bench.native.synchronize()
    for _ in range(bench.rounds):
        for _, timer, _, samples in timers:
            samples.append(timer.sample())
    for implementation, timer, right, samples in timers:
        timer.close()
        results[implementation.name] = summary(
            implementation, case, table.unit, timer, samples, right
        )
    return point(table, case, sets, results)
