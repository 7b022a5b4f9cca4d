# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Host arrays for the cases: one pool of each operand, divided into sets that rotate."""

import contextlib
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import gpukern
from benchmarks.measure.loop import TooLargeError
from benchmarks.suites.cases import Gather, Saxpy
from benchmarks.suites.scatter_cases import Scatter

MOST_SETS = 64
CACHE_MULTIPLE = 3  # the total size of the sets, in sizes of the largest cache
CACHE_BYTES = 32 << 20  # if the machine does not report it
LINE = 16  # float32 in a cache line: sets begin with one
POISON = 0xA5
ZIPF = 1.05
RUN = 64


def cache_bytes():
    """Return the size of the largest cache of the first processor."""
    sizes = [CACHE_BYTES]
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        if match := re.fullmatch(r"(\d+)K", path.read_text(encoding="utf-8").strip()):
            sizes.append(int(match[1]) << 10)
    return max(sizes)


def available_memory():
    """Return the bytes that this process can allocate: limited by machine and cgroup."""
    meminfo = Path("/proc/meminfo").read_text(encoding="utf-8")
    room = int(re.search(r"MemAvailable:\s*(\d+)", meminfo)[1]) << 10
    group = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):  # no cgroup v2, or "max"
        limit, used = (
            int((group / name).read_text(encoding="utf-8"))
            for name in ("memory.max", "memory.current")
        )
        room = min(room, limit - used)
    return room


def uniform(rng, m, n, dtype):
    """Any index as likely as any other."""
    return rng.integers(0, m, n, dtype)


def ascending(rng, m, n, dtype):
    """One draw from each of n equal slices."""
    return np.minimum((np.arange(n) + rng.random(n)) * (m / n), m - 1).astype(dtype)


def blocked(rng, m, n, dtype):
    """Runs of 64 neighbours with random starts."""
    starts = rng.integers(0, max(m - RUN, 1), -(-n // RUN), dtype)
    return ((starts[:, None] + np.arange(RUN, dtype=dtype)).reshape(-1)[:n] % m).astype(dtype)


def zipf(rng, m, n, dtype):
    """Index k with a weight of about (k + 1)^-1.05, by the inverse of the continuous law."""
    power = 1 - ZIPF
    drawn = (1 + rng.random(n) * ((m + 1.0) ** power - 1)) ** (1 / power) - 1
    return np.minimum(drawn, m - 1).astype(dtype)


def equal(rng, m, n, dtype):
    """One index."""
    return np.full(n, rng.integers(0, m), dtype)


DISTRIBUTIONS = {
    "uniform": uniform,
    "sorted": ascending,
    "blocked": blocked,
    "zipf": zipf,
    "equal": equal,
}


def floats_of(case, with_source=True):
    """The maximum number of float32 in an operand of a case."""
    if isinstance(case, Saxpy):
        return case.n
    if isinstance(case, Scatter):
        return max(case.m, case.n)
    if isinstance(case, Gather):
        return max(case.m if with_source else 0, case.n) * case.width // 4
    return 0  # its arrays are not slices of the pools


class HostData:
    """The operands of the cases. Pools are filled once, which takes seconds."""

    def __init__(self, most_floats):
        self.rng = np.random.default_rng()
        self.size = most_floats
        self.x, self.y = (self.rng.random(most_floats, np.float32) for _ in range(2))
        # Ones, since the first implementation would pay for the page faults of zeros.
        self.out, self.reference = (np.ones(most_floats, np.float32) for _ in range(2))
        self.cache_bytes = cache_bytes()
        self.locked = {}

    def set_count(self, traffic, floats):
        """The number of sets that exceeds the cache several times, if the pools suffice."""
        wanted = -(-CACHE_MULTIPLE * self.cache_bytes // max(traffic, 1))
        return max(1, min(MOST_SETS, wanted, self.size // max(floats, 1)))

    def cut(self, pool, count, sets, shape=None):
        """Slice contiguous arrays from a pool, aligned to cache lines if possible."""
        step = -(-count // LINE) * LINE
        step = step if step * (sets - 1) + count <= pool.size else count
        parts = [pool[k * step : k * step + count] for k in range(sets)]
        return [part.reshape(shape or (count,)) for part in parts]

    def saxpy(self, case, turns):
        """Return the reference and the sets of operands."""
        sets = self.set_count(case.traffic, case.n) if turns else 1
        arrays = (self.cut(pool, case.n, sets) for pool in (self.x, self.y, self.out))
        made = [
            SimpleNamespace(x=x, y=y, out=None if case.new_result else out)
            for x, y, out in zip(*arrays, strict=True)
        ]
        reference = self.reference[: case.n]
        np.multiply(made[0].x, np.float32(2), out=reference)  # exact: one rounding in all
        np.add(reference, made[0].y, out=reference)
        return reference, made

    def gather(self, case, turns, source_pool=None):
        """Return the reference and the sets of operands, which share the source."""
        row = case.width // 4
        sets = self.set_count(case.traffic, case.n * row) if turns else 1
        pool = self.x if source_pool is None else source_pool
        source = pool[: case.m * row].reshape((case.m, *case.row))
        draw = DISTRIBUTIONS[case.distribution]
        index = draw(self.rng, case.m, case.n * sets, np.dtype(case.index))
        shape = (case.n, *case.row)
        made = [
            SimpleNamespace(source=source, index=part, out=None if case.new_result else out)
            for part, out in zip(
                self.cut(index, case.n, sets),
                self.cut(self.out, case.n * row, sets, shape),
                strict=True,
            )
        ]
        reference = self.reference[: case.n * row].reshape(shape)
        np.take(source, made[0].index, axis=0, out=reference, mode="clip")
        return reference, made

    def scatter(self, case):
        """Return the reference and the sets of operands, which share the target.

        The values are as in benchmarks.measure.device_data.scatter_operands.
        """
        sets = self.set_count(case.traffic, max(case.m, case.n))
        draw, dtype = DISTRIBUTIONS[case.distribution], np.dtype(case.index)
        index = draw(self.rng, case.m, case.n * sets, dtype)
        if case.reduce is None:
            values = self.x[: case.m][index]
        else:
            values = self.rng.integers(-8, 9, case.n * sets).astype(case.dtype)
        initial = np.arange(case.m, dtype=np.float32) % 8
        out = self.out[: case.m]
        made = [
            SimpleNamespace(index=part, values=given, out=out, initial=initial)
            for part, given in zip(
                self.cut(index, case.n, sets), self.cut(values, case.n, sets), strict=True
            )
        ]
        reference = self.reference[: case.m]
        reference[...] = initial
        if case.reduce is None:
            reference[made[0].index] = made[0].values
        else:
            np.add.at(reference, made[0].index, made[0].values)
        return reference, made

    def lock(self, name, size):
        """Return page-locked memory of a size, and whether it is new."""
        new = name not in self.locked or self.locked[name].nbytes < size
        if new:
            self.locked.pop(name, None)  # before the next allocation
            self.locked[name] = gpukern.pinned_empty(size, np.uint8)
        return self.locked[name][:size], new

    def pinned(self, at):
        """Return page-locked copies of operands; that of the result is uninitialized."""
        copies = {}
        for name, array in vars(at).items():
            memory, _ = self.lock(name, array.nbytes)
            copy = memory.view(array.dtype).reshape(array.shape)
            if name == "out":
                copy.view(np.uint8).fill(POISON)
            else:
                copy[...] = array
            copies[name] = copy
        return SimpleNamespace(**copies)

    def pinned_table(self, floats):
        """Return a large page-locked source that repeats the pool."""
        room = available_memory() + self.locked.get("table", np.empty(0)).nbytes
        if 4 * floats > room // 2:
            raise TooLargeError(
                f"a page-locked table of {4 * floats} bytes is more than half of the {room} bytes "
                "of memory that are free"
            )
        memory, new = self.lock("table", 4 * floats)
        table = memory.view(np.float32)
        for start in range(0, floats if new else 0, self.size):
            part = table[start : start + self.size]
            part[:] = self.x[: part.size]
        return table
