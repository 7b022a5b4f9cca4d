# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""One case on host arrays: every implementation checked and then timed, by the host's clock."""

import itertools
import time

import numpy as np

from benchmarks.cases import HostSaxpy, point
from benchmarks.host_data import POISON, HostData, floats_of
from benchmarks.host_implementations import host_implementations_of
from benchmarks.host_libraries import Copier, same_bytes
from benchmarks.implementations import OURS, VARIANT
from benchmarks.measure import failure

SAMPLE_SECONDS = 4e-3  # a sample lasts at least this long, where a call is shorter
MOST_CALLS = 4096
LONG_SECONDS = 60e-3  # a call that lasts longer needs no other one to warm up
# Threads of OpenMP look for work for a few milliseconds after a call, on cores that the next
# implementation wants to have.
SETTLE_SECONDS = 15e-3
POINT_SECONDS = 4.0  # fewer rounds where they would take longer
LEAST_ROUNDS = 3
SHORT_SECONDS = 1.0  # more rounds where they are over sooner: what disturbs often lasts longer
MIXED = "host mixed rows"
CUDA_TABLES = ("host saxpy cuda", "host saxpy pinned", "host gather cuda", "host gather pinned",
               MIXED, "host link")  # fmt: skip


def batch_of(seconds):
    """Return how many calls of so many seconds make a sample."""
    return max(1, min(int(SAMPLE_SECONDS / seconds), MOST_CALLS))


class HostTimer:
    """Calls that take turns on the sets of operands."""

    method = "host"

    def __init__(self, calls):
        """Learn how long a call takes; one was made before."""
        self.calls = itertools.cycle(calls)
        self.count = 1
        self.warm = False
        seconds = self.sample()
        if seconds < LONG_SECONDS:
            self.warm = True
            self.sample()

    def sample(self):
        """Return the seconds of one call, of a batch of them."""
        time.sleep(SETTLE_SECONDS)
        if self.warm:
            next(self.calls)()
        batch = itertools.islice(self.calls, self.count)
        start = time.perf_counter()
        for call in batch:
            call()
        seconds = (time.perf_counter() - start) / self.count
        # The first calls find no operand in a cache: what one of them takes would leave who comes
        # first with batches of a few cold calls.
        self.count = max(self.count, batch_of(seconds))
        return seconds


class HostBench:
    """What the measurements share: libraries and arrays."""

    def __init__(self, tables, libraries, missing, rounds):
        self.libraries, self.missing, self.rounds = libraries, missing, rounds
        # The large source of rows for the GPU lies in memory of its own.
        sizes = [
            floats_of(case, with_source=table.name != MIXED)
            for table in tables
            for case in table.cases
        ]
        self.data = HostData(max(sizes))
        self.copier = Copier()
        self.pinned = self.data.pinned

    def settings(self):
        """Return what JSON has of the host."""
        return {"cache_bytes": self.data.cache_bytes, "memcpy_threads": self.copier.threads}

    def operands(self, table, case):
        """Return the reference and the sets of operands of a case."""
        turns = table.name not in CUDA_TABLES  # their arrays are larger than caches
        if isinstance(case, HostSaxpy):
            return self.data.saxpy(case, turns)
        if table.name != MIXED:
            return self.data.gather(case, turns)
        return self.data.gather(case, turns, self.data.pinned_table(case.m * case.width // 4))

    def measure(self, table, case):
        """Return the point that JSON gets for a case; see measure.measure()."""
        reference, sets = self.operands(table, case)
        results, timers = {}, []
        for implementation in host_implementations_of(table, case):
            results[implementation.name] = None
            try:
                ready = prepare(self, implementation, case, sets, reference)
                timers.append((implementation, *ready, []))
            except Exception as error:
                results[implementation.name] = failure(implementation, error)
        take_turns([(timer, samples) for _, timer, _, _, samples in timers], self.rounds)
        for implementation, timer, right, plan, samples in timers:
            found = summary(implementation, case, table.unit, timer, samples, right)
            results[implementation.name] = {**found, **plan}
        return point(table, case, sets, results)


def prepare(bench, implementation, case, sets, reference):
    """Return an implementation's timer, whether its result is right, and where gpukern runs."""
    calls = [implementation.make(bench, case, at) for at in sets]
    right = is_right(implementation, calls[0], sets[0], reference)
    plan = {}
    if implementation.role in (OURS, VARIANT):
        plan["plan"] = str(calls[0].explain())
    return HostTimer(calls), right, plan


def is_right(implementation, call, at, reference):
    """Call once on a poisoned result and compare it with the reference."""
    if at.out is not None:
        at.out.view(np.uint8).fill(POISON)
    result = call()
    if not implementation.checked:
        return None
    if not isinstance(result, np.ndarray):
        result = result.numpy()  # a tensor of torch, a DeviceArray
    return same_bytes(result, reference)


def take_turns(timers, rounds):
    """Take a sample of each in turn, so many times, or as the time for a point asks and allows.

    Each round begins with another one, so that nobody always comes behind the same.
    """
    start = time.perf_counter()
    for done in itertools.count(1):
        first = done % len(timers) if timers else 0
        for timer, samples in timers[first:] + timers[:first]:
            samples.append(timer.sample())
        spent = time.perf_counter() - start
        if done >= LEAST_ROUNDS and spent * (done + 1) / done > POINT_SECONDS:
            return
        if done >= rounds and spent > SHORT_SECONDS:
            return


def summary(implementation, case, unit, timer, samples, right):
    """What JSON gets of one implementation: the best sample, since others only ever disturb."""
    best = min(samples)
    work = implementation.work(case, unit) if implementation.work else case.work(unit)
    return {
        "role": implementation.role,
        "method": timer.method,
        "right": right,
        "rate": work / best,
        "seconds": best,
        "spread": (max(samples) - best) / best,
        "samples": samples,
    }
