# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Measures gathers from tables over several processes, on the CPU.

``python -m benchmarks.distributed mpi`` starts itself on 4 ranks by mpirun: 2 Mi rows of 64 bytes
of a table of 2 Mi rows, a quarter on each rank, against a loop of MPI's calls that has no checks.
``dask``: 4 Mi of 4 Mi int64 on 2 worker processes; the index is on the workers. Prints medians.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np

import gpukern

ROWS = 2 << 20
ITEMS = 4 << 20


def median_seconds(call, before, repeats=15):
    """Return the median time of a call; `before` runs ahead of each."""
    times = []
    for _ in range(repeats):
        before()
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times[2:])


def by_hand(comm, local, index, out):
    """Gather by blocking calls of MPI, in NumPy, for equal parts."""
    order = np.argsort((index // len(local)).astype(np.uint8), kind="stable")
    asked = index[order] % len(local)
    counts = np.bincount(index // len(local), minlength=comm.size)
    served = np.empty(comm.size, np.int64)
    comm.Alltoall(counts, served)
    questions = np.empty(served.sum(), np.int64)
    comm.Alltoallv([asked, counts], [questions, served])
    answers = np.take(local, questions, axis=0)
    found = np.empty((len(index), local.shape[1]), local.dtype)
    width = local.shape[1]
    comm.Alltoallv([answers, served * width], [found, counts * width])
    out[order] = found


def on_rank():
    """Measure on this rank."""
    from mpi4py import MPI

    from gpukern import distributed

    comm = MPI.COMM_WORLD
    gpukern.set_num_threads(1)
    group = distributed.from_mpi(comm)
    table = distributed.empty((ROWS, 16), np.float32, group)
    table.local[...] = np.array(table.row_range)[:, np.newaxis]
    index = np.random.default_rng(group.rank).integers(0, ROWS, ROWS // group.size)
    out = np.empty((len(index), 16), np.float32)
    calls = {
        "gpukern": lambda: gpukern.gather(table, index, out=out),
        "by hand": lambda: by_hand(comm, table.local, index, out),
    }
    for name, call in calls.items():
        out[...] = -1
        seconds = comm.allreduce(median_seconds(call, comm.Barrier), MPI.MAX)
        assert (out == index[:, np.newaxis]).all()
        if group.rank == 0:
            print(f"{name:<8} {group.size} ranks, 2 Mi rows of 64 bytes: {seconds:.3f} s")


def on_workers():
    """Measure Dask."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    import gpukern.dask

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        table = da.arange(ITEMS, chunks=ITEMS // 2).persist()
        index = da.random.default_rng(0).integers(0, ITEMS, ITEMS, chunks=ITEMS // 2).persist()
        wait([table, index])

        def call():
            wait(gpukern.dask.gather(table, index).persist())

        seconds = median_seconds(call, lambda: time.sleep(0.1))
        print(f"gpukern.dask, 2 workers, 4 Mi of 4 Mi int64: {seconds:.3f} s")


def main():
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["mpi", "dask", "rank"], help="rank: as mpirun starts it")
    parser.add_argument("--ranks", type=int, default=4)
    arguments = parser.parse_args()
    if arguments.what == "rank":
        on_rank()
    elif arguments.what == "dask":
        on_workers()
    else:
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        command = [shutil.which("mpirun"), "--oversubscribe", "-n", str(arguments.ranks)]
        command += [sys.executable, "-m", "benchmarks.distributed", "rank"]
        subprocess.run(command, env={**os.environ, **root}, check=True)


if __name__ == "__main__":
    main()
