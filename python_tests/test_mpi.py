# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Distributed arrays on MPI: this file starts itself on 2 and 4 ranks by mpirun."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import gpukern

CASES = max(int(os.environ.get("GPUKERN_TEST_CASES", "1000")) // 20, 10)
needs_mpi = pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun")


def run(program, ranks, *options):
    """Run a function of this file on ranks; return the process and its seconds."""
    pytest.importorskip("mpi4py")
    began = time.monotonic()
    environment = {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    done = subprocess.run(
        [
            "mpirun",
            "--oversubscribe",
            "-n",
            str(ranks),
            *options,
            sys.executable,
            __file__,
            program,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    return done, time.monotonic() - began


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("program", ["check_gather", "check_scatter", "check_host_table"])
def test_on_ranks(program, ranks):
    done, _ = run(program, ranks)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok\n") == ranks


@needs_mpi
@pytest.mark.parametrize("program", ["check_a_rank_that_is_done_first", "check_close"])
def test_on_three_ranks(program):
    test_on_ranks(program, 3)


@needs_mpi
@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("lose_a_rank", "has ended"),
        ("lose_a_parent", "has ended"),
        ("leave_early", "has ended"),
        ("interrupt_a_rank", "stopped in a call: KeyboardInterrupt"),
        ("raise_in_a_with", "stopped: ZeroDivisionError"),
    ],
)
def test_a_lost_rank_is_named(program, text):
    done, seconds = run(program, 3, "--enable-recovery")
    assert done.stdout.count(f"rank 1 of 3 {text}") == 2, done.stdout + done.stderr
    assert seconds < 30
    for line in done.stdout.splitlines():
        assert float(line.split()[0]) < 10


@needs_mpi
def test_mpirun_ends_all_where_a_rank_is_killed():
    done, seconds = run("lose_a_rank", 3)
    assert done.returncode != 0
    assert seconds < 20


def check_gather(group):
    from gpukern import distributed

    rng = np.random.default_rng(5)
    for case in range(CASES):
        rows = int(rng.integers(1, 500))
        cuts = [0, *np.sort(rng.integers(0, rows + 1, group.size - 1)), rows]
        whole = rng.standard_normal((rows, int(rng.integers(1, 5))))
        mode = ["raise", "wrap", "clip", "fill"][case % 4]
        low, high = (-rows, rows) if mode == "raise" else (-3 * rows, 3 * rows)
        indices = [rng.integers(low, high, int(rng.integers(0, 300))) for _ in range(group.size)]
        local = whole[cuts[group.rank] : cuts[group.rank + 1]]
        table = distributed.from_local(local, group, staging_memory=[1000, 1 << 20][case % 2])
        index = indices[group.rank]
        expected = gpukern.gather(whole, index, mode=mode)
        np.testing.assert_array_equal(gpukern.gather(table, index, mode=mode), expected)
        with pytest.raises(IndexError, match=rf"index {rows} .*\(rank 1, index 0 in C order\)"):
            gpukern.gather(table, [rows] if group.rank == 1 else [0])


def check_scatter(group):
    from gpukern import distributed

    rng = np.random.default_rng(6)
    for reduce in (None, "add"):
        whole = rng.standard_normal((40 * group.size, 3))
        values = [rng.standard_normal((500, 3)) for _ in range(group.size)]
        indices = [rng.integers(-10, len(whole), 500) for _ in range(group.size)]
        table = distributed.from_local(whole.reshape(group.size, 40, 3)[group.rank].copy(), group)
        gpukern.scatter(table, indices[group.rank], values[group.rank], reduce=reduce)
        gpukern.scatter(whole, np.concatenate(indices), np.concatenate(values), reduce=reduce)
        rows = table.row_range
        assert table.local.tobytes() == whole[rows.start : rows.stop].tobytes()


def check_host_table(group):
    from gpukern import distributed

    table = distributed.host_table((1000, 8), np.int64, group)
    table[group.rank :: group.size] = group.rank
    group.all_gather(b"")
    index = np.arange(1000)[::-1]
    assert (gpukern.gather(table, index)[:, 3] == index % group.size).all()
    group.all_gather(b"")


def check_a_rank_that_is_done_first(group):
    """Rank 1 takes part without rows, and ends while the others are in the call."""
    size = group.size
    rows, received = np.full((3 << 20, 10), group.rank, np.uint8), np.empty((3 << 20, 10), "u1")
    counts = np.zeros(size, np.int64)
    if group.rank != 1:
        counts[2 - group.rank] = len(rows)
    if group.rank == 2:
        time.sleep(1)
    zeros = np.zeros(size, np.int64)
    group.exchange_rows(rows, zeros, counts, received, zeros, counts)
    assert group.rank == 1 or (received == 2 - group.rank).all()


def check_close(group):
    from mpi4py import MPI

    from gpukern.distributed import from_local, from_mpi

    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        with from_mpi(MPI.COMM_WORLD) as made:
            table = from_local(np.arange(3) + 3 * group.rank, made)
            assert gpukern.gather(table, [4, -1]).tolist() == [4, 3 * group.size - 1]
        assert len(os.listdir("/proc/self/fd")) == before
    made.close()
    with pytest.raises(gpukern.errors.PeerLostError, match=f"rank {group.rank} of 3 has closed"):
        gpukern.gather(table, [0])


def report(call, began):
    try:
        call()
    except gpukern.errors.PeerLostError as error:
        print(f"{time.monotonic() - began:.1f} {error}\n", end="", flush=True)


def lose_a_rank(group, leave=False):
    from gpukern import distributed

    table = distributed.from_local(np.zeros((1000, 8)), group)
    began = time.monotonic() + 0.3

    def call():
        while True:
            if group.rank == 1 and time.monotonic() > began:
                if leave:
                    return
                os.kill(os.getpid(), signal.SIGKILL)
            gpukern.gather(table, np.arange(3000))

    report(call, began)


def leave_early(group):
    lose_a_rank(group, leave=True)


def lose_a_parent(group):
    if group.rank == 1 and os.fork() == 0:
        with pytest.raises(gpukern.errors.PeerLostError, match="in a forked process"):
            group.all_gather(b"")
        os.closerange(0, 3)  # mpirun waits for their end
        time.sleep(15)
        os._exit(0)
    lose_a_rank(group)


def interrupt_a_rank(group):
    from gpukern import distributed

    table = distributed.from_local(np.zeros((1000, 8)), group)
    began = time.monotonic()
    if group.rank != 1:
        time.sleep(1)
        report(lambda: gpukern.gather(table, [0]), began)
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        gpukern.gather(table, [0])  # waits for the others
    with pytest.raises(gpukern.errors.PeerLostError, match="rank 1 of 3 stopped in a call: Keyb"):
        gpukern.gather(table, [0])
    time.sleep(4)  # longer than the others


def raise_in_a_with(group):
    began = time.monotonic()
    with contextlib.suppress(ZeroDivisionError), group:
        report(lambda: 1 / 0 if group.rank == 1 else group.all_gather(b""), began)


if __name__ == "__main__":
    from mpi4py import MPI

    from gpukern.distributed import from_mpi

    program = sys.argv[1]
    globals()[program](from_mpi(MPI.COMM_WORLD))
    if program.startswith("check"):
        print("ok\n", end="", flush=True)
