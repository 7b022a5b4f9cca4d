# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Measures tables over 2, 4 and more GPUs of this machine: ``make bench-scale``."""

import argparse
import json
import os
import signal
import socket
import tempfile
import traceback
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import gpukern
from benchmarks.scale import faults, report, ways
from benchmarks.scale.case import PERIOD, WORD, Case
from gpukern import distributed

ROW_BYTES = (4, 16, 64, 128, 256, 1024, 4096)
DISTRIBUTIONS = ("uniform", "skewed")
HOST_ROW_BYTES, HOST_TABLE = 256, "gpukern, host table"


def measure(group, numbers, gpus, options):
    """Return the rates by distribution, row length and way."""
    found = {name: {} for name in DISTRIBUTIONS}
    for row_bytes in ROW_BYTES:
        case = Case(group, numbers, gpus, row_bytes, options.table_bytes, options.out_bytes)
        for distribution in DISTRIBUTIONS:
            case.draw(distribution)
            rates = ways.measure_all(case, options.only)
            if distribution == "uniform" and not options.only:
                rates["gpukern, one GPU alone"] = ways.measure_alone(case)
            found[distribution][row_bytes] = rates
            if group is None or group.rank == 0:
                for name, rate in rates.items():
                    print(f"{gpus} {distribution:<8} {row_bytes:>5} B {name:<24} {rate:8.1f} GB/s",
                          flush=True)  # fmt: skip
        del case
        torch.cuda.empty_cache()
    return found


def measure_host_table(group, device, options):
    """Return the rate of gathers from a page-locked table of the host, by all GPUs at once.

    The CPU gathers a part; each process has its share of the cores.
    """
    gpukern.set_num_threads(max(len(os.sched_getaffinity(0)) // group.size, 1))
    words = HOST_ROW_BYTES // WORD
    rows = options.table_bytes // 4 // HOST_ROW_BYTES
    table = distributed.host_table((rows, words), np.float32, group, pinned=True)
    if group.rank == 0:
        table[:] = (np.arange(rows) % PERIOD)[:, np.newaxis]
    case = Case(group, [device], group.size, HOST_ROW_BYTES, HOST_ROW_BYTES * rows // group.size,
                options.out_bytes // 2)  # fmt: skip
    case.draw("uniform")
    for of in case.data:
        of.out = torch.empty_like(of.out)
    rate = case.measure(
        lambda of: gpukern.gather(table, of.index, mode="clip", out=of.out), ways.SLOW
    )
    case.wait()
    return rate


def on_rank(rank, *arguments):
    """Measure on one GPU, while the other ranks do the same, and end this process."""
    try:
        run_rank(rank, *arguments)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)  # NCCL would wait for a rank that has ended


def run_rank(rank, size, port, folder, options):
    """Write what was found to files."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.cuda.set_device(rank)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    group = distributed.from_torch()
    found = measure(group, [rank], size, options)
    if options.only:
        return
    found["uniform"][HOST_ROW_BYTES][HOST_TABLE] = measure_host_table(group, rank, options)
    save(folder, f"rates {rank}", found)
    case = Case(group, [rank], size, faults.ROW_BYTES, options.table_bytes, options.out_bytes)
    case.draw("uniform")
    save(folder, f"index errors {rank}", faults.index_errors(case))
    save(folder, f"death {rank}", faults.rank_that_dies(case))


def save(folder, name, result):
    """Write a result to a file."""
    Path(folder, name).write_text(json.dumps(result), encoding="utf-8")


def load(folder, name):
    """Read a result from a file."""
    return json.loads(Path(folder, name).read_text(encoding="utf-8"))


def on_processes(size, options):
    """Measure with one process for each GPU; return the rates, and what faults did."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        context = mp.spawn(on_rank, (size, port, folder, options), size, join=False)
        for process in context.processes:
            process.join()
        ended = [process.exitcode for process in context.processes]
        last = 0 if options.only else -signal.SIGKILL  # faults.rank_that_dies() is its end
        if ended != [0] * (size - 1) + [last]:
            raise SystemExit(f"the ranks ended with {ended}")
        if options.only:
            return None
        errors = [load(folder, f"index errors {rank}") for rank in range(size)]
        found = {
            "index errors": max(errors),
            "death": [load(folder, f"death {rank}") for rank in range(size - 1)],
        }
        return load(folder, "rates 0"), found


def main():
    """Run what the command line names."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.scale", description=__doc__.splitlines()[0]
    )
    available = torch.cuda.device_count()
    parser.add_argument("--gpus", type=int, nargs="+",
                        default=[size for size in (2, 4, 8, 16) if size <= available])  # fmt: skip
    parser.add_argument("--table-bytes", type=int, default=8 << 30, help="on each GPU")
    parser.add_argument("--out-bytes", type=int, default=1 << 30, help="of each GPU")
    parser.add_argument(
        "--only", default="",
        help="print the rates of the ways whose name has this text, of one process for each GPU",
    )  # fmt: skip
    parser.add_argument("--out", default="build/bench")
    options = parser.parse_args()
    if min(options.gpus, default=2) < 2:
        parser.error(f"--gpus must be 2 or more, got {min(options.gpus)}")
    if not options.gpus or max(options.gpus) > available:
        parser.error(f"needs {max(options.gpus, default=2)} GPUs, this machine has {available}")
    runs, fault_runs, copies = [], {}, {}
    for gpus in options.gpus:
        copies[gpus] = ways.peer_copies(gpus)
        print(f"{gpus} GPUs: copies from the next GPU, GB/s: {copies[gpus]}", flush=True)
        torch.cuda.empty_cache()
        measured = on_processes(gpus, options)
        if measured is None:
            continue
        rates, fault_runs[gpus] = measured
        together = measure(None, list(range(gpus)), gpus, options)
        for processes, found in (("each", rates), ("one", together)):
            runs += [
                {"gpus": gpus, "processes": processes, "distribution": name, "rates": found[name]}
                for name in DISTRIBUTIONS
            ]
        libraries = {"torch": SimpleNamespace(version=torch.__version__)}
        report.write(options.out, libraries, runs, fault_runs, copies)
        torch.cuda.empty_cache()
