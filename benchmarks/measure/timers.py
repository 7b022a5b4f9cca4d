# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""How a call is timed; see "Method" in README.md.

A timer has the calls of one implementation, one for each set of operands, which rotate.
``sample()`` is one measurement: the seconds of one call.
"""

import contextlib
import itertools
import operator
import time

SAMPLE_SECONDS = 1e-3  # a sample lasts about this long, where a call is shorter
MOST_CALLS = 512  # of one sample in graphs; an eighth of it between events
MOST_WALL_CALLS = 4096  # by the host's clock
LONG_SECONDS = 60e-3  # a longer call is its own warm-up
LEAST_NODES = 16  # calls in a graph, at least
ISSUE_MARGIN = 50e-6  # seconds added to the head start of the host


class GraphTimer:
    """Calls captured into a CUDA graph: their time without the host's share."""

    method = "graph"

    def __init__(self, native, calls):
        self.native = native
        # Whole turns through the sets: one that began again too early would be in the L2 cache.
        turns = -(-LEAST_NODES // len(calls))
        self.nodes = turns * len(calls)

        def work():
            for _ in range(turns):
                for call in calls:
                    call()

        self.graph = native.capture(work)
        self.replays = 1
        self.sample()
        wanted = SAMPLE_SECONDS / (self.sample() * self.nodes)
        self.replays = max(1, min(int(wanted + 1), MOST_CALLS // self.nodes))

    def sample(self):
        """Replay the graph between two events."""
        native = self.native
        native.spin(ISSUE_MARGIN)
        native.record(native.events[0])
        for _ in range(self.replays):
            native.replay(self.graph)
        native.record(native.events[1])
        return native.elapsed(*native.events) / (self.replays * self.nodes)

    def close(self):
        """Release the graph."""
        self.native.release_graph(self.graph)


class EventTimer:
    """Calls between two events, behind a kernel that lets the host get ahead of them."""

    method = "events"

    def __init__(self, native, calls):
        self.native = native
        self.calls = itertools.cycle(calls)
        self.count = 1
        self.ahead = 0.0
        self.sample()
        seconds = self.sample()
        self.count = max(1, min(int(SAMPLE_SECONDS / seconds), MOST_CALLS // 8))
        self.ahead = self.issue_seconds() * 1.5 + ISSUE_MARGIN

    def issue_seconds(self):
        """Return how long the host takes to enqueue one sample."""
        start = time.perf_counter()
        for _ in range(self.count):
            next(self.calls)()
        taken = time.perf_counter() - start
        self.native.synchronize()
        # A call that waits for the GPU gets no longer head start.
        return min(taken, 2e-3)

    def sample(self):
        """Enqueue the calls between two events."""
        native = self.native
        native.spin(self.ahead)
        native.record(native.events[0])
        for _ in range(self.count):
            next(self.calls)()
        native.record(native.events[1])
        return native.elapsed(*native.events) / self.count

    def close(self):
        """Nothing to release."""


class WallTimer:
    """Calls timed on the host, with a wait for the last one if they are asynchronous.

    ``rest`` are seconds before each sample, in which the threads of other libraries go to sleep.
    """

    def __init__(self, calls, method, sample_seconds, rest=0.0, wait=None):
        """Measure how long a call takes; one was made before."""
        self.calls = itertools.cycle(calls)
        self.method, self.sample_seconds, self.rest = method, sample_seconds, rest
        self.wait = wait or (lambda result: None)
        self.count = 1
        self.warm = False
        if self.sample() < LONG_SECONDS:
            self.warm = True
            self.sample()

    def sample(self):
        """Return the seconds of one call, of a batch of them."""
        time.sleep(self.rest)
        if self.warm:
            self.wait(next(self.calls)())
        batch = itertools.islice(self.calls, self.count)
        start = time.perf_counter()
        for call in batch:
            result = call()
        self.wait(result)
        seconds = (time.perf_counter() - start) / self.count
        # The first calls find no operand in a cache, so that their time alone would give small
        # batches.
        longer = max(1, min(int(self.sample_seconds / seconds), MOST_WALL_CALLS))
        self.count = max(self.count, longer)
        return seconds

    def close(self):
        """Nothing to release."""


GRAPH_TRAFFIC = 64 * 2**20


def make_timer(native, implementation, calls, traffic):
    """Return the timer that suits an implementation and the bytes that a call moves."""
    if implementation.wall:
        # Longer samples than with events, since they include the final wait.
        wait = operator.methodcaller("block_until_ready")
        return WallTimer(calls, "wall", 10 * SAMPLE_SECONDS, wait=wait)
    if implementation.capturable and traffic <= GRAPH_TRAFFIC:
        with contextlib.suppress(Exception):  # otherwise timed by events
            return GraphTimer(native, calls)
    return EventTimer(native, calls)
