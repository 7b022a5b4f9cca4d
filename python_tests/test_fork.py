# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""fork() after all cores were used: the child computes on, or says why not; it never hangs."""

import os
import shutil
import subprocess
import sys

import pytest

import gpukern

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


def test_child_of_another_users_threads(tmp_path):
    """The pool of OpenMP may be gone although gpukern never used it in the parent."""
    library = os.path.join(gpukern.get_library_dir(), "libgpukern.so")
    program = tmp_path / "pool.c"
    program.write_text(POOL_PROGRAM)
    compiler = shutil.which("cc") or shutil.which("gcc")
    subprocess.run(
        [
            compiler,
            "-fopenmp",
            f"-I{gpukern.get_include()}",
            program,
            library,
            f"-Wl,-rpath,{gpukern.get_library_dir()}",
            "-o",
            tmp_path / "pool",
        ],
        check=True,
    )
    subprocess.run(
        [tmp_path / "pool"], check=True, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "4"}
    )


POOL_PROGRAM = """
#include <gpukern/gpukern.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  threads += 1;
  pid_t child = fork();
  if (child == 0) {
    int64_t n = 1 << 22;
    float a = 2, *x = calloc((size_t)n, sizeof *x);
    gpukern_tensor t = {x, {GPUKERN_CPU, 0}, 1, {GPUKERN_FLOAT, 32, 1}, &n, NULL, 0};
    _exit(gpukern_saxpy(&a, &t, &t, &t, NULL) == GPUKERN_SUCCESS ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return threads < 1 || status != 0;
}
"""
