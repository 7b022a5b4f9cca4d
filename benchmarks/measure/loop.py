# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""One case: its operands, every implementation checked and then timed, alternating."""

import contextlib
import itertools
import time
from dataclasses import asdict

from benchmarks.c_api import BenchError
from benchmarks.implementations.base import NotApplicable

POINT_SECONDS = 4.0  # fewer rounds if they would take longer
LEAST_ROUNDS = 3


class TooLargeError(BenchError):
    """The case does not fit into the benchmark's memory."""


class Bench:
    """Common state of the measurements. See DeviceBench and HostBench for the methods."""

    least_seconds = 0.0  # of all rounds of a point

    def __init__(self, libraries, missing, rounds):
        self.libraries, self.missing, self.rounds = libraries, missing, rounds

    def synchronize(self):
        """Raise BenchError if the device is lost."""


def measure(bench, table, case, implementations):
    """Return the point of a case for JSON.

    All results are checked before the first is timed, since the copies overwrite operands. Then
    the implementations take turns, a sample each, so that clock changes affect all of them.
    """
    reference, sets = bench.operands(table, case)
    results = {each.name: None for each in implementations}
    ready, timed = [], []
    for each in implementations:
        with attempt(bench, each, results):
            ready.append((each, *prepare(bench, each, case, sets, reference)))
    for each, calls, facts in ready:
        with attempt(bench, each, results):
            timed.append((each, bench.timer(each, calls, case), facts, []))
    take_turns([(each, timer, samples) for each, timer, _, samples in timed], bench, results)
    for each, timer, facts, samples in timed:
        timer.close()
        if results[each.name] is not None:
            continue
        rates = summary(each, case, table.unit, bench.typical(samples), samples)
        results[each.name] = {"role": each.role, "method": timer.method, **facts, **rates}
    return {
        "table": table.name,
        "label": case.label,
        "case": {key: value for key, value in asdict(case).items() if key != "priority"},
        "columns": case.columns(),
        "sets": len(sets),
        "results": results,
    }


@contextlib.contextmanager
def attempt(bench, implementation, results):
    """Record an exception as the implementation's result; raise if the device is lost."""
    try:
        yield
    except Exception as error:
        results[implementation.name] = failure(implementation, error)
        bench.synchronize()


def failure(implementation, error):
    """The entry in JSON of an implementation without a result."""
    key = "absent" if isinstance(error, NotApplicable) else "error"
    words = str(error) if key == "absent" else f"{type(error).__name__}: {error}"
    return {"role": implementation.role, key: words[:300]}


def prepare(bench, implementation, case, sets, reference):
    """Return an implementation's calls, one per set, and the facts of its first one."""
    calls = [implementation.make(bench, case, at) for at in sets]
    facts = {"right": None}
    if implementation.checked:
        facts["right"] = bench.is_right(implementation, case, sets[0], calls[0], reference)
    else:
        calls[0]()
    if hasattr(calls[0], "explain"):
        facts["explanation"] = str(calls[0].explain())
    return calls, facts


def take_turns(timers, bench, results):
    """Take a sample of each, alternating, for the bench's rounds or the time of a point.

    Each round begins with a different one, so that their order varies. One that fails is recorded
    in the results, and left out from then on.
    """
    start = time.perf_counter()
    for done in itertools.count(1) if timers else ():
        first = done % len(timers)
        for each, timer, samples in timers[first:] + timers[:first]:
            if results[each.name] is None:
                with attempt(bench, each, results):
                    samples.append(timer.sample())
        spent = time.perf_counter() - start
        if done >= LEAST_ROUNDS and spent * (done + 1) / done > POINT_SECONDS:
            return
        if done >= bench.rounds and spent >= bench.least_seconds:
            return


def summary(implementation, case, unit, seconds, samples):
    """Return the rate and the times of an implementation."""
    work = implementation.work(case, unit) if implementation.work else case.work(unit)
    return {
        "rate": work / seconds,
        "seconds": seconds,
        "spread": (max(samples) - min(samples)) / seconds,
        "samples": samples,
    }
