# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Ways to gather from a table over several GPUs."""

import statistics
from functools import cache
from pathlib import Path

import torch
import torch.distributed as dist

import gpukern
from gpukern import distributed

FAST, SLOW = 12, 4  # calls, those that wait for the CPU
HERE = Path(__file__).parent
BULK_COPY = HERE.parents[1] / "cuda" / "common" / "bulk_copy.cuh"
CSTDINT = "namespace std { using uint64_t = unsigned long long; }"
BATCH_BYTES, SHARED_BYTES, MOST_BLOCKS = 16 << 10, 200 << 10, 32
PUSHES = {4: "push_rows<float>", 16: "push_rows<uint4>"}


@cache
def kernel(name, device):
    """Return a kernel of moves.cu."""
    program = gpukern.Program(
        (HERE / "moves.cu").read_text(encoding="utf-8"),
        headers={"bulk_copy.cuh": BULK_COPY.read_text(encoding="utf-8"), "cstdint": CSTDINT},
        name_expressions=list(PUSHES.values()),
        device=device,
    )
    return program.kernel(name)


def multiprocessors(device):
    """Return the number of multiprocessors of a GPU."""
    return torch.cuda.get_device_properties(device).multi_processor_count


def by_bulk_copies(case):
    """Return a call that copies each row to shared memory, and from there to the output."""
    batch = min(BATCH_BYTES // case.row_bytes, 32)
    shared = batch * case.row_bytes
    blocks = min(SHARED_BYTES // shared, MOST_BLOCKS)

    def call(of):
        run = kernel("bulk_rows", of.device.index)[multiprocessors(of.device) * blocks, 32, shared]
        run(of.out, of.table, of.index, case.count, case.row_bytes, batch)

    return call


def by_pushes(case):
    """Return a call that writes the rows of a GPU to the outputs of all.

    Each GPU knows beforehand which rows the others want, in random order, so that it writes to all
    at once: what remains is the time of the transfers.
    """
    width = min(case.row_bytes, 16)
    asked = indices_of_all(case)
    jobs = {}  # by part: the rows to write, and their places in the outputs of all GPUs
    for of in case.data:
        everywhere = asked if len(case.data) == 1 else [each.to(of.device) for each in asked]
        mine = [torch.nonzero(each // case.rows == of.number)[:, 0] for each in everywhere]
        rows = torch.cat([all_[at] % case.rows for all_, at in zip(everywhere, mine, strict=True)])
        places = torch.cat([at + i * case.count for i, at in enumerate(mine)])
        order = torch.randperm(len(rows), device=of.device)
        jobs[of.number] = rows[order], places[order]
    torch.cuda.empty_cache()

    def call(of):
        rows, places = jobs[of.number]
        run = kernel(PUSHES[width], of.device.index)[multiprocessors(of.device) * 8, 256]
        run(of.outs, of.local, rows, places, len(rows), case.row_bytes // width)

    return call


def indices_of_all(case):
    """Return the indices of all GPUs, on the GPU of this process or on those that have them."""
    if case.group is None:
        return [of.index for of in case.data]
    (of,) = case.data
    found = [torch.empty_like(of.index) for _ in range(case.gpus)]
    dist.all_gather(found, of.index, group=nccl_group())
    return found


@cache
def nccl_group():
    """Return the process group of all ranks that NCCL serves."""
    return dist.new_group(backend="nccl")


def by_all_to_all(case):
    """Return a call that sorts by GPU, asks, answers, and undoes the sort; nothing is checked."""
    nccl = nccl_group()

    def call(of):
        owners = torch.div(of.index, case.rows, rounding_mode="floor").to(torch.uint8)
        order = torch.sort(owners, stable=True).indices
        asked = of.index[order] % case.rows
        counts = torch.bincount(owners, minlength=case.gpus)
        served = torch.empty_like(counts)
        dist.all_to_all_single(served, counts, group=nccl)
        sent, received = counts.tolist(), served.tolist()
        questions = torch.empty(sum(received), dtype=torch.int64, device=of.device)
        dist.all_to_all_single(questions, asked, received, sent, group=nccl)
        answers = of.local[questions]
        found = torch.empty_like(of.out)
        dist.all_to_all_single(found, answers, sent, received, group=nccl)
        of.out[order] = found

    return call


def over_nccl(case):
    """Return a call of gpukern on the same parts, as it runs between hosts."""
    (of,) = case.data
    parts = distributed.from_local(of.local, case.group)
    return lambda of: gpukern.gather(parts, of.index, out=of.out)


def from_one_range(case):
    """Return a call of gpukern on one range of addresses."""
    return lambda of: gpukern.gather(case.table, of.index, mode="clip", out=of.out)


def with_checks(case):
    """Return the same in mode raise."""
    return lambda of: gpukern.gather(case.table, of.index, out=of.out)


def measure_all(case, only=""):
    """Return the rate of each way whose name has `only`, in gigabytes per second."""
    made = {"gpukern": from_one_range}
    if case.group is not None:
        made["gpukern, raise"] = with_checks
    if case.row_bytes >= 16:
        made["bulk copies"] = by_bulk_copies
    made["pushes, indices known"] = by_pushes
    if case.group is not None:
        made["gpukern over NCCL"] = over_nccl
        made["torch, NCCL all-to-all"] = by_all_to_all
    return {name: case.measure(make(case), FAST) for name, make in made.items() if only in name}


def measure_alone(case):
    """Return the rate of gathers from the part of the same GPU."""
    own = {of.number: of.index % case.rows for of in case.data}
    for of in case.data:
        of.index.copy_(own[of.number] + of.number * case.rows)
    return case.measure(
        lambda of: gpukern.gather(of.local, own[of.number], mode="clip", out=of.out), FAST
    )


def peer_copies(gpus):
    """Return the gigabytes per second of a copy from the next GPU, alone and by all at once."""
    arrays = [
        [torch.zeros(1 << 30, dtype=torch.uint8, device=f"cuda:{i}") for _ in range(2)]
        for i in range(gpus)
    ]

    # torch copies on a stream of the source, and lets one of the target wait.
    streams = [[torch.cuda.Stream(i) for _ in range(2)] for i in range(gpus)]

    def rate(targets):
        seconds = []
        for _ in range(FAST):
            events = []
            for to in targets:
                source = (to + 1) % gpus
                receiving, sending = streams[to][0], streams[source][1]
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                with torch.cuda.stream(sending), torch.cuda.stream(receiving):
                    begin.record()
                    arrays[to][1].copy_(arrays[source][0])
                    end.record()
                events.append((begin, end))
            for device in range(gpus):
                torch.cuda.synchronize(device)
            seconds.append(max(begin.elapsed_time(end) for begin, end in events) / 1e3)
        return arrays[0][0].nbytes / statistics.median(seconds[1:]) / 1e9

    return {"one at a time": rate([0]), "all at once": rate(range(gpus))}
