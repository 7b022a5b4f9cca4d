# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Calls on groups of threads and of processes."""

import multiprocessing
import os
import threading
import traceback

from gpukern import distributed
from gpukern.errors import PeerLostError


def on_ranks(function, size, wrap=lambda group: group):
    """Call a function with the group of each rank; return the results or exceptions, by rank."""
    results = [None] * size

    def run(group):
        try:
            results[group.rank] = function(wrap(group))
        except Exception as error:
            results[group.rank] = error

    threads = [
        threading.Thread(target=run, args=(group,), daemon=True)
        for group in distributed.threads(size)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return results


def without_errors(results):
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


class PipeGroup:
    """A rank that exchanges through a pipe to the process that started it."""

    def __init__(self, rank, size, pipe):
        self.rank, self.size, self.pipe = rank, size, pipe

    def all_gather(self, data):
        self.pipe.send(data)
        reply = self.pipe.recv()
        if isinstance(reply, int):
            raise PeerLostError(f"rank {reply} of {self.size} has ended", reply)
        return reply


def _run(function, rank, size, pipe):
    try:
        function(PipeGroup(rank, size, pipe))
        pipe.send(("done", ""))
    except Exception:
        pipe.send(("failed", traceback.format_exc()))


def on_processes(function, size):
    """Call a function of a module in new processes; return 'done' or how each has failed."""
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for rank in range(size):
        ours, theirs = context.Pipe()
        processes.append(
            context.Process(target=_run, args=(function, rank, size, theirs), daemon=True)
        )
        processes[-1].start()
        theirs.close()
        pipes.append(ours)
    results = {}
    while len(results) < size:
        messages = {}
        for rank in set(range(size)) - set(results):
            try:
                assert pipes[rank].poll(100), f"rank {rank} does not answer"
                messages[rank] = pipes[rank].recv()
            except EOFError:
                results[rank] = "lost"
        for rank, message in list(messages.items()):
            if isinstance(message, tuple):
                results[rank] = message[1] or message[0]
                del messages[rank]
        gone = min(results, default=None)
        reply = [messages[rank] for rank in range(size)] if gone is None else gone
        for rank in messages:
            pipes[rank].send(reply)
    for process in processes:
        process.join(60)
        assert not process.is_alive()
    return [results[rank] for rank in range(size)]


def die():
    """End this process without a word."""
    os._exit(1)
