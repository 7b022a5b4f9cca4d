# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""A table over GPUs, what each of them gathers from it, and the time that this takes."""

import statistics
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from gpukern import distributed

WORD = 4  # bytes of an element
MOST_INDICES = 64 << 20
# The elements of a row hold its number, modulo this: so rows of different GPUs differ.
PERIOD = 1_000_003
SKEW = 4  # the power of a uniform number


@dataclass
class OnGpu:
    """The data of one GPU: its part of the table and of the outputs, and its index."""

    number: int  # of its part
    device: torch.device
    table: Any  # the whole table, as this GPU accesses it
    local: Any
    outs: Any  # the outputs of all GPUs
    out: Any
    index: Any


class Case:
    """A table of rows of some length, and an index of each GPU of this process into all of it."""

    def __init__(self, group, numbers, gpus, row_bytes, table_bytes, out_bytes):
        words = row_bytes // WORD
        self.group, self.row_bytes, self.gpus = group, row_bytes, gpus
        self.rows = table_bytes // row_bytes  # of each GPU
        self.count = min(out_bytes // row_bytes, MOST_INDICES)
        self.total = self.rows * gpus
        self.table = distributed.empty((self.total, words), np.float32, group, devices=numbers)
        self.outs = distributed.empty(
            (gpus * self.count, words), np.float32, group, devices=numbers
        )
        first = group.rank if group is not None else 0
        parts = zip(self.table.parts, self.outs.parts, numbers, strict=True)
        self.data = []
        for number, (local, out, device) in enumerate(parts, first):
            made = OnGpu(
                number, torch.device("cuda", device), self.on(self.table, device),
                torch.from_dlpack(local), self.on(self.outs, device), torch.from_dlpack(out), None,
            )  # fmt: skip
            rows = torch.arange(self.rows, device=made.device) + number * self.rows
            made.local[:] = (rows % PERIOD)[:, None]
            self.data.append(made)
        self.wait()

    @staticmethod
    def on(table, device):
        """Return a whole table as a tensor of a GPU."""
        return torch.from_dlpack(table.on(device))

    def draw(self, distribution):
        """Make new indices."""
        for of in self.data:
            generator = torch.Generator(of.device).manual_seed(of.number)
            options = {"device": of.device, "generator": generator}
            if distribution == "uniform":
                of.index = torch.randint(self.total, (self.count,), **options)
            elif distribution == "skewed":
                uniform = torch.rand(self.count, dtype=torch.float64, **options)
                of.index = (uniform**SKEW * self.total).long().clamp_(max=self.total - 1)
            else:
                raise ValueError(f"unknown distribution {distribution!r}")
        self.wait()

    def wait(self):
        """Wait for the work of all GPUs."""
        for of in self.data:
            torch.cuda.synchronize(of.device)
        if self.group is not None:
            dist.barrier()

    def require_right(self):
        """Raise an error unless each GPU has the rows of its index."""
        for of in self.data:
            expected = (of.index % PERIOD).float()[:, None]
            if not (of.out == expected).all():
                raise AssertionError(f"wrong rows on {of.device}")

    def measure(self, call, repeats):
        """Return the gigabytes per second that the slowest GPU gets by call(data of a GPU).

        The result of the first call is checked.
        """
        for of in self.data:
            of.out.fill_(-1)
        self.wait()
        seconds = []
        for turn in range(repeats):
            events = []
            for of in self.data:
                with torch.cuda.device(of.device):
                    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                    begin.record()
                    call(of)
                    end.record()
                events.append((begin, end))
            self.wait()
            if turn == 0:
                self.require_right()
                self.wait()
                continue
            slowest = torch.tensor(max(begin.elapsed_time(end) for begin, end in events) / 1e3)
            if self.group is not None:
                dist.all_reduce(slowest, dist.ReduceOp.MAX)
            seconds.append(slowest.item())
        return self.count * self.row_bytes / statistics.median(seconds) / 1e9
