# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""fork() after all cores were used: the child computes on, or says why not; it never hangs."""

import subprocess
import sys

import pytest

# The parent's call is large enough to use all cores, and so is the child's.
COMMON = """
import os, sys
import numpy as np
import gpukern

x = np.arange(4_000_000, dtype=np.float32)
index = np.arange(x.size)[::-1].copy()

def compute():
    assert (gpukern.gather(x, index) == x[::-1]).all()
    assert (gpukern.saxpy(2.0, x, x) == 3 * x).all()

def in_child(work):
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(type(error).__name__, error, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def run(code):
    """Runs code in a process of its own, so that pytest's own threads are not forked."""
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COMMON + code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_child_computes_after_the_parent_did():
    run("compute(); assert in_child(compute) == 0; compute()")


def test_child_computes_where_the_parent_never_did():
    run("assert in_child(compute) == 0; compute()")


def test_grandchild_computes():
    run("""
def descend():
    assert in_child(compute) == 0

compute()
assert in_child(descend) == 0
""")


def test_many_children_at_once():
    run("""
import multiprocessing
compute()
with multiprocessing.get_context("fork").Pool(4) as pool:
    pool.starmap(compute, [()] * 20)
compute()
""")


def test_bad_index_in_a_child():
    printed = run("compute(); in_child(lambda: gpukern.gather(x, [x.size])); compute()")
    assert printed.startswith("GpukernIndexError index 4000000 is out of bounds for axis 0")


@pytest.mark.gpu
def test_child_is_told_that_cuda_does_not_fork():
    printed = run("""
gpukern.gather(x, index, device="cuda")
assert in_child(lambda: gpukern.gather(x, index, device="cuda")) == 1
assert in_child(compute) == 0
gpukern.gather(x, index, device="cuda")
""")
    assert "fork" in printed
