# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Many Python threads call everything from the first call on, while limits change and it forks."""

import os
import subprocess
import sys

# Of each thread; a release runs more.
CALLS = os.environ.get("GPUKERN_TEST_CALLS", "300")

CODE = """
import os, random, signal, sys, threading
import numpy as np

CALLS = int(sys.argv[1])
ready = threading.Barrier(17)
errors = []

def calls():
    import gpukern  # by all threads at once
    double = gpukern.elementwise("x * 2 + y")
    n = random.choice([1, 10, 1000, 50_000])
    x, index = np.arange(n, dtype="f4") % 8, np.arange(n)[::-1].copy()
    mask, ends = np.arange(n) % 3 == 0, [0, n // 2, n]

    def equal(result, expected):
        assert np.array_equal(result, expected), (n, result, expected)

    def refused():
        try:
            gpukern.gather(x, [n])
        except IndexError as error:
            assert f"index {n} is" in str(error)
        else:
            raise AssertionError("no error")

    return [
        lambda: equal(gpukern.gather(x, index), x[::-1]),
        lambda: equal(gpukern.take_along_axis(x, index, axis=0), x[::-1]),
        lambda: equal(gpukern.scatter(np.zeros(n, "f4"), index, x), x[::-1]),
        lambda: equal(gpukern.put_along_axis(np.zeros(n, "f4"), index, x, axis=0), x[::-1]),
        lambda: equal(gpukern.bincount(index), np.ones(n)),
        lambda: equal(gpukern.gather_reduce(x, index, ends).sum(), x.sum()),
        lambda: equal(gpukern.segment_reduce(x, ends).sum(), x.sum()),
        lambda: equal(gpukern.nonzero(mask)[0], np.flatnonzero(mask)),
        lambda: equal(gpukern.count_nonzero(mask), np.count_nonzero(mask)),
        lambda: equal(gpukern.compress(mask, x), x[mask]),
        lambda: equal(gpukern.saxpy(2.0, x, x), 3 * x),
        lambda: equal(double(x, x), 3 * x),
        lambda: equal(gpukern.to_device(x, device="cpu").numpy(), x),
        lambda: equal(np.from_dlpack(gpukern.to_device(x, device="cpu")), x),
        lambda: gpukern.explain(gpukern.saxpy, 2.0, x, x),
        lambda: gpukern.set_num_threads(random.choice([None, 1, 2, 5])),
        refused,
    ]

def work():
    ready.wait()
    try:
        every = calls()
        for call in range(CALLS):
            if call % 100 == 99:
                every = calls()
            random.choice(every)()
    except BaseException as error:
        errors.append(error)
        raise

threads = [threading.Thread(target=work) for _ in range(16)]
for thread in threads:
    thread.start()
ready.wait()
import gpukern  # a child that is forked meanwhile would wait for it for ever
forks = 0
while any(thread.is_alive() for thread in threads):
    if forks < 20:
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            x = np.arange(100_000, dtype="f4")
            os._exit(0 if np.array_equal(gpukern.saxpy(2.0, x, x), 3 * x) else 1)
        assert os.waitpid(child, 0)[1] == 0
        forks += 1
    threads[0].join(0.05)
assert not errors

# And the interpreter ends while threads go on.
def go_on():
    every = calls()
    while True:
        random.choice(every)()
for _ in range(4):
    threading.Thread(target=go_on, daemon=True).start()
"""


def test_everything_on_all_threads():
    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-W", "ignore", "-c", CODE, CALLS],
        capture_output=True,
        text=True,
        timeout=600 + int(CALLS) // 10,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
