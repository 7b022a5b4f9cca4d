# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Two builds of gpukern, measured by two alternating processes.

A worker prints the names of its calls, reads lines ``[NAME, BATCH]`` and answers each with the
seconds of a call; batch 0 is a warm-up, answered by the size of a batch. All lines are JSON.
"""

import json
import subprocess
import sys

from benchmarks.call_cost.calls import warm_up
from benchmarks.machine import ROOT

THRESHOLD = 1.03
AGAIN = 4  # repetitions of flagged calls, in new processes


def work(calls, batch, synchronize):
    """Answer the requests on standard input, as a worker does."""
    known = {key(call): call.cost for call in calls}
    print(json.dumps(list(known)), flush=True)
    for line in sys.stdin:
        name, count = json.loads(line)
        try:
            if count == 0:
                answer = warm_up(known[name], batch, synchronize)
            else:
                answer = known[name](count)
                synchronize()
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


def key(call):
    """The name of a call among all groups."""
    return f"{call.group} | {call.name}"


class Worker:
    """A process with one build of gpukern."""

    def __init__(self, python, batch):
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.call_cost", "--worker", "--batch", str(batch)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        self.names = self.answer()
        self.errors, self.batches = {}, {}

    def warm_up(self, names):
        """Query the batch size of each call, or its error."""
        for name in names:
            found = self.ask(name, 0)
            (self.errors if isinstance(found, str) else self.batches)[name] = found

    def answer(self):
        """Read an answer."""
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args[0]} ended: {self.process.wait()}")
        return json.loads(line)

    def ask(self, name, batch):
        """Send a request and return the answer."""
        self.process.stdin.write(json.dumps([name, batch]) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def sample(self, name):
        """Return the seconds of a call."""
        return self.ask(name, self.batches[name])

    def close(self):
        """End the process."""
        self.process.communicate()


def samples(pythons, rounds, batch, wanted):
    """Return {name: (times of the first build, of the second)}, and {name: errors}.

    ``wanted(name)`` tells which calls are measured.
    """
    workers = [Worker(python, batch) for python in pythons]
    try:
        for worker in workers:
            worker.warm_up(filter(wanted, worker.names))
        both = [name for name in workers[0].batches if name in workers[1].batches]
        found = {name: ([], []) for name in both}
        for turn in range(rounds):
            for name in both:
                for k in ((0, 1), (1, 0))[turn % 2]:
                    found[name][k].append(workers[k].sample(name))
    finally:
        for worker in workers:
            worker.close()
    errors = {}
    for name in filter(wanted, dict.fromkeys(workers[0].names + workers[1].names)):
        if name not in found:
            errors[name] = [
                worker.errors.get(name, "" if name in worker.names else "no such case")
                for worker in workers
            ]
    return found, errors


def ratio(pair):
    """Return the ratio of the minimum times, second build over first."""
    return min(pair[1]) / min(pair[0])


def is_flagged(pair):
    """Whether the second build takes longer by more than the times of equal builds vary."""
    return ratio(pair) > THRESHOLD


def compare(python, rounds, batch, only=""):
    """Measure another interpreter's build and this one's; return the points.

    Two processes of one build differ by some percent, by where their memory is, and scheduling
    makes some batches slow. So flagged calls are measured again by new processes; all times count.
    """
    pythons = (python, sys.executable)
    found, errors = samples(pythons, rounds, batch, lambda name: only in name)
    for _ in range(AGAIN):
        flagged = {name for name, pair in found.items() if is_flagged(pair)}
        if not flagged:
            break
        again, _ = samples(pythons, rounds, batch, flagged.__contains__)
        for name, pair in again.items():
            for k in range(2):
                found[name][k].extend(pair[k])
    points = [{"name": name, "old": old, "new": new} for name, (old, new) in found.items()]
    return points + [{"name": name, "errors": words} for name, words in errors.items()]
