# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""How many threads compute on the CPU: what sets it, and what it is by default."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import gpukern
from gpukern._elementwise import cpu_executor
from gpukern._elementwise.cpu_executor import ThreadShare


def default_in_a_process(first="", **environment):
    """What a fresh process answers, after some code, without the variables that could be set."""
    kept = {name: text for name, text in os.environ.items() if name != "OMP_NUM_THREADS"}
    code = "import gpukern; print(gpukern.get_num_threads(), gpukern.info()['num_threads'])"
    result = subprocess.run(
        [sys.executable, "-c", first + code],
        capture_output=True,
        text=True,
        check=True,
        env={**kept, **environment},
    )
    first, second = map(int, result.stdout.split())
    assert first == second
    return first


@pytest.mark.thread_unsafe(reason="sets a number of the process")
@pytest.mark.usefixtures("restored_threads")
def test_a_number_is_kept():
    default = gpukern.get_num_threads()
    assert default >= 1
    gpukern.set_num_threads(3)
    assert gpukern.get_num_threads() == 3
    assert gpukern.info()["num_threads"] == 3
    gpukern.set_num_threads(None)
    assert gpukern.get_num_threads() == default


@pytest.mark.parametrize("number", [0, -1, 2**31, -(2**70)])
def test_a_number_below_one_is_refused(number):
    with pytest.raises(ValueError, match=rf"at least 1 and below 2\*\*31, got {number}"):
        gpukern.set_num_threads(number)


@pytest.mark.parametrize("number", [1.0, "2", [1]])
def test_what_is_no_number_is_refused(number):
    with pytest.raises(TypeError, match="set_num_threads: threads must be an int or None"):
        gpukern.set_num_threads(number)


def test_the_default_is_bounded_by_the_affinity_mask():
    cores = os.sched_getaffinity(0)
    assert default_in_a_process() <= len(cores)
    one = f"import os; os.sched_setaffinity(0, {{{min(cores)}}}); "
    assert default_in_a_process(one) == 1


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3", 3),
        ("5,2", 5),
        (" 4 , 2", 4),
        ("5000", 4096),
        *[(text, None) for text in ("0", "-2", "x", "3x", "1e3", "2.5", "", "99999999999")],
    ],
)
def test_the_environment_sets_the_default(text, number):
    expected = default_in_a_process() if number is None else number
    assert default_in_a_process(OMP_NUM_THREADS=text) == expected


@pytest.mark.thread_unsafe(reason="sets a number of the process")
@pytest.mark.usefixtures("restored_threads")
def test_shares_of_threads_are_what_is_free():
    gpukern.set_num_threads(4)
    first = ThreadShare(3)
    second = ThreadShare(3)  # its caller's thread is there, whatever is free
    third = ThreadShare(3)
    assert (first.count, second.count, third.count) == (3, 1, 1)
    first.give_back()
    first.give_back()
    assert ThreadShare(8).count == 2
    del second, third
    assert ThreadShare(8).count == 4


def test_shares_of_threads_stay_behind_at_a_fork():
    # In a process without the threads of other libraries, which may not be forked.
    code = """
import os
import gpukern
from gpukern._elementwise.cpu_executor import ThreadShare
gpukern.set_num_threads(4)
share = ThreadShare(4)
child = os.fork()
if child == 0:
    counts = [ThreadShare(4).count]
    share.give_back()
    counts.append(ThreadShare(8).count)
    os._exit(0 if counts == [4, 4] else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.usefixtures("restored_threads")
@pytest.mark.parametrize("callers", [1, 8])
def test_elementwise_calls_share_the_threads(callers, monkeypatch):
    """Each caller computes; all of them together start no more than fill the limit."""
    limit = 4
    gpukern.set_num_threads(limit)
    x = np.arange(1 << 23, dtype=np.float32)
    double = gpukern.elementwise("x + x")
    computing, most = set(), []
    run = cpu_executor.Work.run

    def watched(*arguments):
        computing.add(threading.get_ident())
        most.append(len(computing))
        try:
            run(*arguments)
        finally:
            computing.discard(threading.get_ident())

    monkeypatch.setattr(cpu_executor.Work, "run", watched)
    results = []
    threads = [threading.Thread(target=lambda: results.append(double(x))) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((result == 2 * x).all() for result in results)
    assert len(results) == callers
    assert max(most) < callers + limit
    if callers == 1:
        assert len(most) == limit
