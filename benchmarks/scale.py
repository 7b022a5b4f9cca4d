# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Measures gathers from a table over several GPUs of a host: ``make bench-scale GPUS=2``.

One process for each GPU; all gather at once, by random indices into the whole table. Beside it: the
same by torch and NCCL's all-to-all, gpukern over NCCL, one GPU alone, and a copy from the next GPU.
Gigabytes of rows per second and GPU: the median of the slowest GPU. Needs torch. Writes scale.json
and scale.md.
"""

import argparse
import json
import os
import socket
import statistics
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import gpukern
from benchmarks.machine import describe_machine
from gpukern import distributed

ROW_BYTES = (4, 16, 64, 128, 256, 1024)
WORD = 4
MOST_INDICES = 64 << 20
HOST_ROW_BYTES, HOST_TABLE = 256, "gpukern, host table"


class Case:
    """A table, an index and an output on each GPU, for one length of row."""

    def __init__(self, group, device, row_bytes, table_bytes, out_bytes):
        words = row_bytes // WORD
        self.group, self.device, self.row_bytes = group, device, row_bytes
        self.rows = table_bytes // row_bytes
        count = min(out_bytes // row_bytes, MOST_INDICES)
        generator = torch.Generator(device).manual_seed(group.rank)
        total = self.rows * group.size
        self.index = torch.randint(total, (count,), device=device, generator=generator)
        self.out = torch.empty((count, words), dtype=torch.float32, device=device)
        shape = (total, words)
        self.table = distributed.empty(shape, np.float32, group, devices=device.index)
        self.local = torch.from_dlpack(self.table.local)
        first = group.rank * self.rows
        self.local[:] = (torch.arange(self.rows, device=device) + first)[:, None] % (1 << 20)
        torch.cuda.synchronize()
        self.table.synchronize()

    def measure(self, call, repeats):
        """Return gigabytes of rows per second of the slowest GPU, after a check of the result."""
        self.out.fill_(-1)
        call()
        torch.cuda.synchronize()
        assert torch.equal(self.out[:, -1], (self.index % (1 << 20)).float())
        seconds = []
        for _ in range(repeats):
            dist.barrier()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            call()
            end.record()
            torch.cuda.synchronize()
            mine = torch.tensor(begin.elapsed_time(end) / 1e3)
            dist.all_reduce(mine, dist.ReduceOp.MAX)
            seconds.append(mine.item())
        return self.out.nbytes / statistics.median(seconds[1:]) / 1e9


def by_all_to_all(case, nccl):
    """Gather by torch: sort by GPU, ask, answer, and undo the sort; for equal parts, unchecked."""
    size = case.group.size
    owners = torch.div(case.index, case.rows, rounding_mode="floor").to(torch.uint8)
    order = torch.sort(owners, stable=True).indices
    asked = case.index[order] % case.rows
    counts = torch.bincount(owners, minlength=size)
    served = torch.empty_like(counts)
    dist.all_to_all_single(served, counts, group=nccl)
    sent, received = counts.tolist(), served.tolist()
    questions = torch.empty(sum(received), dtype=torch.int64, device=case.device)
    dist.all_to_all_single(questions, asked, received, sent, group=nccl)
    answers = case.local[questions]
    found = torch.empty_like(case.out)
    dist.all_to_all_single(found, answers, sent, received, group=nccl)
    case.out[order] = found


def measure_rows(case, nccl):
    """Return the rates of each way to gather."""
    parts = distributed.from_local(case.local, case.group)
    calls = {
        "gpukern": (lambda: gpukern.gather(case.table, case.index, mode="clip", out=case.out), 12),
        "gpukern, raise": (lambda: gpukern.gather(case.table, case.index, out=case.out), 12),
        "gpukern over NCCL": (lambda: gpukern.gather(parts, case.index, out=case.out), 4),
        "torch, NCCL all-to-all": (lambda: by_all_to_all(case, nccl), 12),
    }
    rates = {name: case.measure(*how) for name, how in calls.items()}
    alone = case.index % case.rows
    case.index.copy_(alone + case.group.rank * case.rows)
    rates["gpukern, one GPU alone"] = case.measure(
        lambda: gpukern.gather(case.local, alone, mode="clip", out=case.out), 12
    )
    return rates


def measure_host_table(group, device, table_bytes, out_bytes):
    """Return the rate of a gather from a page-locked table of the host, by all GPUs at once."""
    words = HOST_ROW_BYTES // WORD
    rows = table_bytes // HOST_ROW_BYTES
    table = distributed.host_table((rows, words), np.float32, group, pinned=True)
    if group.rank == 0:
        table[:] = (np.arange(rows) % (1 << 20))[:, np.newaxis]
    group.all_gather(b"")
    case = SimpleNamespace(group=group, device=device)
    generator = torch.Generator(device).manual_seed(group.rank)
    count = out_bytes // HOST_ROW_BYTES
    case.index = torch.randint(rows, (count,), device=device, generator=generator)
    case.out = torch.empty((count, words), dtype=torch.float32, device=device)
    rate = Case.measure(case, lambda: gpukern.gather(table, case.index, out=case.out), 6)
    group.all_gather(b"")
    return rate


def on_rank(rank, size, port, arguments):
    """Measure on one GPU, while the others do the same."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    nccl = dist.new_group(backend="nccl")
    group = distributed.from_torch()
    rates = {}
    for row_bytes in ROW_BYTES:
        case = Case(group, device, row_bytes, arguments.table_bytes, arguments.out_bytes)
        rates[row_bytes] = measure_rows(case, nccl)
        if rank == 0:
            for name, rate in rates[row_bytes].items():
                print(f"{name:<24} {row_bytes:>5} B {rate:8.1f} GB/s", flush=True)
        del case
        torch.cuda.empty_cache()
    host = measure_host_table(group, device, arguments.table_bytes // 4, arguments.out_bytes // 2)
    if rank == 0:
        print(f"{HOST_TABLE:<24} {HOST_ROW_BYTES:>5} B {host:8.1f} GB/s", flush=True)
        rates[HOST_ROW_BYTES][HOST_TABLE] = host
        write(arguments.out, rates, size)
    dist.destroy_process_group()


def peer_copy():
    """Return the gigabytes per second of a copy from the next GPU, by one process."""
    source = torch.zeros(1 << 30, dtype=torch.uint8, device="cuda:1")
    target = torch.empty_like(source, device="cuda:0")
    seconds = []
    for _ in range(10):
        torch.cuda.synchronize(0)
        torch.cuda.synchronize(1)
        with torch.cuda.device(0):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            target.copy_(source)
            end.record()
            torch.cuda.synchronize(0)
        seconds.append(begin.elapsed_time(end) / 1e3)
    return source.nbytes / statistics.median(seconds[1:]) / 1e9


def write(folder, rates, size):
    """Write the rates, the machine and the versions."""
    machine = describe_machine({"torch": SimpleNamespace(version=torch.__version__)})
    Path(folder).mkdir(parents=True, exist_ok=True)
    result = {"machine": machine, "gpus": size, "GB/s by bytes of a row": rates}
    Path(folder, "scale.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    names = list(dict.fromkeys(name for each in rates.values() for name in each))
    lines = [
        f"# Tables over {size} x {machine['gpu']['name']}, commit {machine['commit']}",
        "",
        f"`make bench-scale GPUS={size}`, {machine['date'][:10]}. GB/s of rows that each GPU gets,",
        "all at once, by random indices into the whole table, by the bytes of a row:",
        "",
        "| | " + " | ".join(map(str, rates)) + " |",
        "|---|" + "---:|" * len(rates),
    ]
    for name in names:
        cells = [f"{each[name]:.1f}" if name in each else "" for each in rates.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    Path(folder, "scale.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpus", type=int, default=torch.cuda.device_count())
    parser.add_argument("--table-bytes", type=int, default=8 << 30, help="on each GPU")
    parser.add_argument("--out-bytes", type=int, default=1 << 30, help="of each GPU")
    parser.add_argument("--out", default="build/bench")
    arguments = parser.parse_args()
    if arguments.gpus > 1:
        print(f"copy from the next GPU           {peer_copy():8.1f} GB/s", flush=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(on_rank, (arguments.gpus, port, arguments), arguments.gpus)


if __name__ == "__main__":
    main()
