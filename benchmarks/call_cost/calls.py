# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""A call and its cost; the loop in which calls and their peers alternate."""

import statistics
import timeit
from dataclasses import dataclass

BATCH = 400  # calls; the launch queue of the driver holds 1024
SAMPLE_SECONDS = 1e-3  # a batch of slow calls is smaller
WORDS = 200  # of an error


@dataclass
class Call:
    """One line of a table: ``cost(batch)`` gives the seconds of one call of a batch."""

    group: str
    name: str
    cost: object
    peer: str = ""
    peer_cost: object = None


def python_call(statement, names):
    """Return the cost of a Python statement, timed by a bare loop as in timeit."""
    timer = timeit.Timer(statement, globals=names)
    return lambda batch: timer.timeit(batch) / batch


def warm_up(cost, batch, synchronize):
    """Warm up and return the number of calls in a batch."""
    cost(1)
    synchronize()
    seconds = cost(max(batch // 20, 1))
    synchronize()
    return max(1, min(batch, int(SAMPLE_SECONDS / seconds)))


def measure(calls, repeats, batch, synchronize):
    """Return the points: batches of each call and of its peer, alternating. Records errors."""
    points, timed = [], []
    for call in calls:
        point = {"group": call.group, "name": call.name}
        points.append(point)
        add(timed, point, call.cost, batch, synchronize)
        if call.peer:
            point["peer"] = {"name": call.peer}
            add(timed, point["peer"], call.peer_cost, batch, synchronize)
    for _ in range(repeats):
        for into, cost, count in timed:
            into["samples"].append(cost(count))
            synchronize()
        timed.reverse()
    for into, _, _ in timed:
        into["seconds"] = statistics.median(into["samples"])
        into["least"] = min(into["samples"])
    return points


def add(timed, into, cost, batch, synchronize):
    """Add what can be timed."""
    try:
        timed.append((into, cost, warm_up(cost, batch, synchronize)))
        into["samples"] = []
    except Exception as error:
        into["error"] = f"{type(error).__name__}: {error}"[:WORDS]
