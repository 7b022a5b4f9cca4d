# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Distributed arrays on MPI: this file starts itself on 2 and 4 ranks by mpirun."""

import os
import shutil
import signal
import subprocess
import sys
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
@pytest.mark.parametrize("program", ["lose_a_rank", "leave_early"])
def test_a_lost_rank_is_named(program):
    done, seconds = run(program, 3, "--enable-recovery")
    assert done.stdout.count("rank 1 of 3 has ended") == 2, done.stdout + done.stderr
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


def lose_a_rank(group, leave=False):
    from gpukern import distributed

    table = distributed.from_local(np.zeros((1000, 8)), group)
    began = time.monotonic()
    try:
        while True:
            if group.rank == 1 and time.monotonic() > began + 0.3:
                if leave:
                    return
                os.kill(os.getpid(), signal.SIGKILL)
            gpukern.gather(table, np.arange(3000))
    except gpukern.errors.PeerLostError as error:
        print(f"{time.monotonic() - began - 0.3:.1f} {error}\n", end="", flush=True)


def leave_early(group):
    lose_a_rank(group, leave=True)


if __name__ == "__main__":
    from mpi4py import MPI

    from gpukern.distributed import from_mpi

    program = sys.argv[1]
    globals()[program](from_mpi(MPI.COMM_WORLD))
    if program.startswith("check"):
        print("ok\n", end="", flush=True)
