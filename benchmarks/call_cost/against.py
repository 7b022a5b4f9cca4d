# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Two builds of gpukern, measured by two processes that take turns.

A worker reads lines ``CASE BATCH`` and answers each with the seconds of a call; batch 0 asks for a
warm-up and answers with the size of a batch.
"""

import json
import subprocess
import sys

from benchmarks.call_cost.calls import warm_up
from benchmarks.machine import ROOT

THRESHOLD = 1.03
AGAIN = 3  # times that flagged calls are measured again, with more rounds


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

    def __init__(self, python):
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.call_cost", "--worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        self.names = self.answer()
        self.errors, self.batches = {}, {}
        for name in self.names:
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


def samples(workers, names, rounds):
    """Return {name: (samples of the first worker, of the second)}."""
    found = {name: ([], []) for name in names}
    turns = [(0, 1), (1, 0)]
    for turn in range(rounds):
        for name in names:
            for k in turns[turn % 2]:
                found[name][k].append(workers[k].sample(name))
    return found


def ratio(pair):
    """Return the ratio of the least times, the second worker's over the first's."""
    return min(pair[1]) / min(pair[0])


def compare(python, rounds, only=""):
    """Measure another interpreter's build and this one's; return the points.

    Scheduling makes some batches slow, so flagged calls are measured again; all samples count.
    """
    workers = [Worker(python), Worker(sys.executable)]
    try:
        common = [
            name for name in workers[0].batches if name in workers[1].batches and only in name
        ]
        found = samples(workers, common, rounds)
        for _ in range(AGAIN):
            flagged = [name for name in common if ratio(found[name]) > THRESHOLD]
            for name, pair in samples(workers, flagged, 2 * rounds).items():
                for k in range(2):
                    found[name][k].extend(pair[k])
    finally:
        for worker in workers:
            worker.close()
    points = [{"name": name, "old": old, "new": new} for name, (old, new) in found.items()]
    for name in dict.fromkeys(workers[0].names + workers[1].names):
        errors = [w.errors.get(name, "" if name in w.names else "no such case") for w in workers]
        if any(errors):
            points.append({"name": name, "errors": errors})
    return points
