# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Groups of torch.distributed in processes, by its backend for the CPU."""

import multiprocessing
import os
import signal
import time
import traceback

import numpy as np
import pytest

import gpukern
from gpukern import distributed
from gpukern.errors import PeerLostError

pytest.importorskip("torch.distributed")
pytestmark = pytest.mark.thread_unsafe(reason="starts processes")

SIZE = 3
LONG = 10_000  # bytes that go through torch


def on_rank(function, rank, store, results):
    """Call a function with a group of torch; send its result, or the error."""
    import torch.distributed as dist

    try:
        dist.init_process_group("gloo", f"file://{store}", rank=rank, world_size=SIZE)
        results.put((rank, function(distributed.from_torch())))
    except BaseException:
        results.put((rank, traceback.format_exc()))
    results.close()
    results.join_thread()
    os._exit(0)  # gloo may wait for a rank that has ended


def on_processes(function, folder, survivors=SIZE):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [
        context.Process(
            target=on_rank, args=(function, rank, folder / "store", results), daemon=True
        )
        for rank in range(SIZE)
    ]
    for process in processes:
        process.start()
    found = dict(results.get(timeout=60) for _ in range(survivors))
    for process in processes:
        process.join(60)
        assert not process.is_alive()
    return [found[rank] for rank in sorted(found)]


def table_of(group):
    return distributed.from_local(np.arange(4.0) + 4 * group.rank, group)


def gathers(group):
    with group:
        found = gpukern.gather(table_of(group), [11, -12, 4]).tolist()
        lengths = [len(data) for data in group.all_gather(bytes(LONG * group.rank))]
        assert lengths == [0, LONG, 2 * LONG]
    with pytest.raises(PeerLostError, match="has closed the group"):
        group.all_gather(b"")
    return found


def gather_until_lost(table):
    """The first calls may be complete before a rank has ended."""
    while True:
        gpukern.gather(table, [0])


def loses_a_rank(group):
    table = table_of(group)
    if group.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.monotonic()
    with pytest.raises(PeerLostError) as caught:
        gather_until_lost(table)
    assert time.monotonic() - began < 10
    with pytest.raises(PeerLostError):
        gpukern.gather(table, [0])
    return str(caught.value)


def loses_a_rank_in_a_call_of_torch(group):
    if group.rank == 1:
        group._distributed.all_gather = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
    with pytest.raises(PeerLostError) as caught:
        group.all_gather(bytes(LONG))
    return str(caught.value)


def has_an_error_that_is_no_loss(group):
    def fails(*_, **__):
        raise RuntimeError("no more memory")

    if group.rank == 1:
        group._distributed.all_gather = fails
    kind = RuntimeError if group.rank == 1 else PeerLostError
    with pytest.raises(kind) as caught:
        group.all_gather(bytes(LONG))
    return str(caught.value)


def makes_groups_after_a_loss(group):
    """Torch fails to send, since the group has no connections yet."""
    table_of(group)
    if group.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(PeerLostError, match="a rank of 3 has ended, or") as caught:
            distributed.from_torch()
        assert caught.value.rank == -1
        assert type(caught.value.__cause__) is RuntimeError
    with pytest.raises(PeerLostError, match="rank 1 of 3 has ended"):
        table_of(group)


def waits_for_a_rank(group):
    group._timeout = 1.0
    if group.rank == 1:
        time.sleep(4)
    with pytest.raises(PeerLostError) as caught:
        gpukern.gather(table_of(group), [0])
    return str(caught.value)


def comes_late_to_a_long_message(group):
    """A rank that comes when the others have given up starts no call of torch."""
    import torch
    import torch.distributed as dist

    group._timeout = 1.0
    if group.rank == 1:
        time.sleep(4)
    with pytest.raises(PeerLostError):
        group.all_gather(bytes(LONG))
    total = torch.tensor(group.rank)
    dist.all_reduce(total)
    return total.item()


def is_closed_by_a_rank(group):
    table = table_of(group)
    if group.rank == 0:
        group.close()
        return "closed"
    texts = []
    for _ in range(2):
        with pytest.raises(PeerLostError) as caught:
            gpukern.gather(table, [0])
        texts.append(str(caught.value))
    return texts


def is_left_by_a_rank(group):
    table = table_of(group)
    if group.rank == 2:
        group.leave("has other plans")
        time.sleep(3)
        return "left"
    with pytest.raises(PeerLostError) as caught:
        gpukern.gather(table, [0])
    return str(caught.value)


def test_gather(tmp_path):
    assert on_processes(gathers, tmp_path) == [[11, 0, 4]] * SIZE


def test_a_rank_that_is_killed(tmp_path):
    found = on_processes(loses_a_rank, tmp_path, survivors=SIZE - 1)
    assert found == ["rank 1 of 3 has ended"] * (SIZE - 1)


def test_a_rank_that_is_killed_in_a_call_of_torch(tmp_path):
    found = on_processes(loses_a_rank_in_a_call_of_torch, tmp_path, survivors=SIZE - 1)
    assert found == ["rank 1 of 3 has ended"] * (SIZE - 1)


def test_an_error_of_torch_that_is_no_loss(tmp_path):
    """The rank that has it gets it, and the others an error that names that rank."""
    text = "rank 1 of 3 stopped in a call: RuntimeError"
    found = on_processes(has_an_error_that_is_no_loss, tmp_path)
    assert found == [text, "no more memory", text]


def test_groups_after_a_rank_was_killed(tmp_path):
    assert on_processes(makes_groups_after_a_loss, tmp_path, survivors=SIZE - 1) == [None] * 2


def test_a_rank_that_does_not_come(tmp_path):
    found = on_processes(waits_for_a_rank, tmp_path)
    late = "rank 1 of 3 has not made the call in 1 s"
    assert found[::2] == [late] * 2
    assert found[1].startswith("rank ")


def test_a_rank_that_comes_late_to_a_long_message(tmp_path):
    assert on_processes(comes_late_to_a_long_message, tmp_path) == [3] * SIZE


def test_a_rank_that_closes(tmp_path):
    closed = ["rank 0 of 3 has closed the group"] * 2
    assert on_processes(is_closed_by_a_rank, tmp_path) == ["closed", closed, closed]


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "2", None])
def test_wrong_timeouts(timeout, tmp_path):
    import torch.distributed as dist

    dist.init_process_group("gloo", f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        with pytest.raises((ValueError, TypeError), match="timeout must be"):
            distributed.from_torch(timeout=timeout)
        with distributed.from_torch() as group, pytest.raises(TypeError, match="bytes-like"):
            group.all_gather("text")
    finally:
        dist.destroy_process_group()


def test_a_rank_that_leaves(tmp_path):
    assert on_processes(is_left_by_a_rank, tmp_path) == [
        *["rank 2 of 3 has other plans"] * (SIZE - 1),
        "left",
    ]
