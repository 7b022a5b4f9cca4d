# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""fork() after all cores were used: the child computes on, or says why not; it never hangs."""

import os
import subprocess
import sys

import pytest
from commands import compiler
from nvrtc import needs_nvrtc

import gpukern

# The parent's call is large enough to use all cores, and so is the child's.
COMMON = """
import os, signal, sys, threading
import numpy as np
import gpukern

x = np.arange(4_000_000, dtype=np.float32)
index = np.arange(x.size)[::-1].copy()

def compute():
    assert (gpukern.gather(x, index) == x[::-1]).all()
    assert (gpukern.saxpy(2.0, x, x) == 3 * x).all()
    assert (double(x) == 2 * x).all()

double = gpukern.elementwise("x + x")

def in_child(work):
    child = os.fork()
    if child == 0:
        signal.alarm(50)  # a child that hangs must not outlive the test
        try:
            work()
        except BaseException as error:
            print(type(error).__name__, error, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def run(code):
    """Runs code in a separate process, so that pytest's own threads are not forked."""
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


def test_children_while_other_threads_compute():
    run("""
stop = threading.Event()

def compute_on():
    while not stop.is_set():
        compute()

threads = [threading.Thread(target=compute_on) for _ in range(3)]
for thread in threads:
    thread.start()
codes = [in_child(compute) for _ in range(10)]
stop.set()
for thread in threads:
    thread.join()
assert codes == [0] * 10
""")


PROGRAMS = """
def compiled(source):
    return gpukern.Program(source, architecture="sm_90").kernel_names

KERNEL = 'extern "C" __global__ void k%d(float *x) { x[threadIdx.x] *= sinf(x[%d]); }'
SMALL = KERNEL % (0, 0)
LONG = "\\n".join(KERNEL % (i, i) for i in range(60))  # takes about a second
assert compiled(SMALL) == ("k0",)
"""


@needs_nvrtc
def test_child_compiles_where_the_parent_did(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUKERN_CACHE_DIR", str(tmp_path))
    run(
        PROGRAMS
        + """
def work():
    assert compiled(SMALL) == ("k0",)
    assert compiled(KERNEL % (1, 1)) == ("k1",)

assert in_child(work) == 0
"""
    )


@needs_nvrtc
def test_child_of_a_fork_during_a_compilation(tmp_path, monkeypatch):
    """The child finds what is kept; what would be compiled it refuses, as NVRTC would hang."""
    monkeypatch.setenv("GPUKERN_CACHE_DIR", str(tmp_path))
    printed = run(
        PROGRAMS
        + """
import time

def work():
    assert compiled(SMALL) == ("k0",)
    compiled(LONG)

results = []
thread = threading.Thread(target=lambda: results.append(compiled(LONG)))
thread.start()
clock = time.pthread_getcpuclockid(thread.ident)
while time.clock_gettime(clock) < 0.05:  # seconds: it is in the compiler by then
    time.sleep(0.001)
code = in_child(work)
assert thread.is_alive() and code == 1, code
thread.join()
assert len(results[0]) == 60
"""
    )
    assert printed.startswith("GpukernDeviceError"), printed
    assert "forked while another thread compiled" in printed


@pytest.mark.gpu
def test_child_is_told_that_cuda_does_not_fork():
    printed = run("""
gpukern.gather(x, index, device="cuda")
assert in_child(lambda: gpukern.gather(x, index, device="cuda")) == 1
assert in_child(compute) == 0
gpukern.gather(x, index, device="cuda")
there = gpukern.to_device(x)
assert in_child(there.numpy) == 1
assert in_child(lambda: there.__cuda_array_interface__) == 1
gpukern.saxpy(1, there, there)
""")
    assert printed.count("fork") == 3


def test_child_of_another_users_threads(tmp_path):
    """The pool of OpenMP may be gone although gpukern never used it in the parent."""
    library = os.path.join(gpukern.get_library_dir(), "libgpukern.so")
    program = tmp_path / "pool.c"
    program.write_text(POOL_PROGRAM)
    subprocess.run(
        [
            *compiler("CC"),
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


FORK_IN_A_HANDLER = """
import os, signal
import numpy as np
import gpukern

gpukern.set_num_threads(2)
x = np.ones((1 << 20, 16), "f4")
offsets = np.arange(0, len(x) + 1, 1 << 14)
child = None

def fork(*_):
    global child
    child = os.fork()

signal.signal(signal.SIGALRM, fork)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    while child is None:
        gpukern.segment_reduce(x, offsets)
        gpukern.saxpy(1, x, x, out=x)
except gpukern.GpukernError as error:
    assert child == 0 and "child" in str(error), (child, error)
assert gpukern.gather(x, [3])[0, 3] >= 1
if child == 0:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""


def test_a_signal_handler_may_fork_during_a_call():
    for _ in range(5):
        subprocess.run([sys.executable, "-c", FORK_IN_A_HANDLER], check=True, timeout=60)
