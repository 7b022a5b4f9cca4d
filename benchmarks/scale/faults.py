# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What a bad index, and a rank that ends, do to the other ranks of a table of full size."""

import os
import signal
import statistics
import time

import torch
import torch.distributed as dist

import gpukern

ROW_BYTES = 256
TURNS = 5  # with a bad index of each rank
BUSY = 100  # gathers that are enqueued when a rank ends
BEFORE = 0.05  # seconds in which the GPU of that rank has run some of them
PATIENCE = 10.0  # seconds until a rank that has ended is noticed


def index_errors(case):
    """Gather with a bad index on each rank in turn; return the median seconds until the error.

    Raises an error unless all ranks get the same IndexError, no output has changed, and the next
    call is right.
    """
    (of,) = case.data
    rank, size = case.group.rank, case.group.size
    seconds = []
    for turn in range(TURNS * size):
        culprit = turn % size
        kept = of.index[-1].item()
        if rank == culprit:
            of.index[-1] = case.total
        of.out.fill_(-1)
        case.wait()
        began = time.perf_counter()
        try:
            gpukern.gather(case.table, of.index, out=of.out)
            message = "no error"
        except IndexError as error:
            message = str(error)
        seconds.append(time.perf_counter() - began)
        of.index[-1] = kept
        messages = [None] * size
        dist.all_gather_object(messages, message)
        if set(messages) != {message} or f"(rank {culprit})" not in message:
            raise AssertionError(f"different errors: {messages}")
        if not (of.out == -1).all():
            raise AssertionError("an output has changed")
        gpukern.gather(case.table, of.index, out=of.out)
        case.require_right()
    return statistics.median(seconds), message


def rank_that_dies(case):
    """Let the last rank kill itself while all GPUs gather; the others return what they saw.

    Each returns the seconds that a collective call took to raise an error, and the error. The rows
    of the rank that ended must still be there for calls that are not collective.
    """
    (of,) = case.data
    case.wait()
    for _ in range(BUSY):
        gpukern.gather(case.table, of.index, mode="clip", out=of.out)
    if case.group.rank == case.group.size - 1:
        time.sleep(BEFORE)
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.perf_counter()
    try:
        gpukern.gather(case.table, of.index, out=of.out)
        error = None
    except Exception as raised:
        error = raised
    seconds = time.perf_counter() - began
    if error is None or seconds > PATIENCE:
        raise AssertionError(f"after {seconds:.1f} s: {error!r}")
    of.out.fill_(-1)
    gpukern.gather(case.table, of.index, mode="clip", out=of.out)
    torch.cuda.synchronize(of.device)
    case.require_right()
    return seconds, f"{type(error).__name__}: {str(error).splitlines()[0]}"
