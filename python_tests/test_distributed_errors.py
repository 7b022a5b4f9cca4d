# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Errors of one rank, which are errors of all; ranks that end."""

import ast
import ctypes
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import CASES_PER_TEST
from ranks import on_ranks, without_errors

import gpukern
from gpukern import distributed
from gpukern.distributed import indexing, liveness, nccl, routed_scatter, storage
from gpukern.errors import PeerLostError


def test_a_bad_index_raises_on_all_ranks_and_the_next_call_works():
    times = max(CASES_PER_TEST, 10)

    def call(group):
        table = distributed.from_local(np.arange(5) + 5 * group.rank, group)
        for _ in range(times):
            index = [0, 15, 3] if group.rank == 1 else [1, 2]
            message = r"^index 15 is out of bounds for axis 0 with size 15 \(rank 1, index 1 in C"
            with pytest.raises(IndexError, match=message):
                gpukern.gather(table, index)
            assert gpukern.gather(table, [-1, 7]).tolist() == [14, 7]
        return True

    assert on_ranks(call, 3) == [True] * 3


def test_arguments_are_checked_on_all_ranks():
    def call(group):
        table = distributed.from_local(np.zeros((3, 2)), group)
        with pytest.raises(TypeError, match="index must be of an integer dtype, got float64"):
            gpukern.gather(table, [0.5] if group.rank == 2 else [0])
        with pytest.raises(ValueError, match=r"out must have shape \(1, 2\), got \(1, 3\)"):
            gpukern.gather(table, [0], out=np.zeros((1, 3 if group.rank == 0 else 2)))
        with pytest.raises(ValueError, match="axis of a DistributedArray must be 0"):
            gpukern.gather(table, [0], axis=1)
        with pytest.raises(ValueError, match=r"differ in row_shape: \(2,\), but \(3,\) on rank 2"):
            distributed.from_local(np.zeros((1, 2 + (group.rank == 2))), group)
        with pytest.raises(ValueError, match=r"differ in dtype: .*float32.* on rank 0"):
            distributed.from_local(np.zeros(1, "f4" if group.rank == 0 else "f8"), group)
        with pytest.raises(TypeError, match="fixed-width"):
            distributed.from_local(np.array([None]), group)
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(table)
        with pytest.raises(TypeError, match=r"pass its \.local"):
            np.asarray(table)
        with pytest.raises(TypeError, match="take_along_axis: a DistributedArray is not supported"):
            gpukern.take_along_axis(table, [[0]])
        for function, args in [
            (gpukern.gather, (table, [0])),
            (gpukern.scatter, (table, [0], 1.0)),
            (gpukern.saxpy, (2, table, table)),
        ]:
            with pytest.raises(TypeError, match="of a DistributedArray is several calls"):
                gpukern.explain(function, *args)
        return gpukern.gather(table, [4], out=np.ones((1, 2))).tolist()

    assert on_ranks(call, 3) == [[[0, 0]]] * 3


class Counted:
    """A group that counts its exchanges."""

    def __init__(self, group):
        self.group, self.rank, self.size, self.count = group, group.rank, group.size, 0

    def all_gather(self, data):
        self.count += 1
        return self.group.all_gather(data)


@pytest.mark.parametrize(
    ("name", "values", "call"),
    [
        ("mode", ["'clip'", "'raise'"], lambda t, v: gpukern.gather(t, [0], mode=v)),
        ("mode", ["'clip'", "'fill'"], lambda t, v: gpukern.scatter(t, [0], 1.0, mode=v)),
        ("reduce", ["None", "'add'"], lambda t, v: gpukern.scatter(t, [0], 1.0, reduce=v)),
        ("order", ["'fixed'", "'any'"], lambda t, v: gpukern.scatter(t, [0], 1.0, order=v)),
        ("unique", ["False", "True"], lambda t, v: gpukern.scatter(t, [0], 1.0, unique=v)),
        ("shape", ["(3,)", "(4, 2)"], lambda t, v: distributed.empty(v, "f4", t.group)),
        ("shape", ["(3,)", "(4, 2)"], lambda t, v: distributed.host_table(v, "f4", t.group)),
        (
            "staging_memory",
            ["100", "200"],
            lambda t, v: distributed.from_local([1.0], t.group, staging_memory=v),
        ),
    ],
)
def test_an_argument_that_differs_is_named_at_once(name, values, call):
    def on_rank(group):
        table = distributed.from_local(np.zeros(3), group)
        group.count = 0
        with pytest.raises(ValueError, match="calls of the ranks differ") as caught:
            call(table, ast.literal_eval(values[group.rank == 1]))
        assert group.count == 1
        assert gpukern.gather(table, [5]).tolist() == [0]
        return str(caught.value).partition(": ")[2]

    text = f"the calls of the ranks differ in {name}: {values[0]}, but {values[1]} on rank 1"
    assert on_ranks(on_rank, 3, Counted) == [text] * 3


def test_rows_without_devices_on_one_rank():
    def call(group):
        options = {"rows": [3]} if group.rank == 1 else {}
        with pytest.raises(ValueError, match=r"rows needs devices, got \[3\] without"):
            distributed.empty(3, "f4", group, **options)

    assert on_ranks(call, 2) == [None] * 2


@pytest.mark.parametrize("module", [storage, indexing])
def test_memory_that_runs_out_on_one_rank(module, monkeypatch):
    class Numpy:
        """NumPy, in which one call of empty() fails on one rank."""

        fails, calls = -1, 0

        def __getattr__(self, name):
            return getattr(np, name)

        def empty(self, shape, dtype=float):
            if shape != 0 and getattr(rank, "number", 0) == 1:
                self.calls += 1
                if self.calls == self.fails:
                    raise MemoryError("no more memory")
            return np.empty(shape, dtype)

    rank, numpy = threading.local(), Numpy()
    monkeypatch.setattr(module, "np", numpy)

    def call(group):
        rank.number = group.rank
        table = distributed.from_local(np.arange(8) + 8 * group.rank, group, staging_memory=200)
        numpy.calls = 0
        try:
            gpukern.gather(table, np.arange(16))
            gpukern.scatter(table, [1, 9], [1, 9])
        except MemoryError as error:
            text = "no more memory" if group.rank == 1 else "rank 1: no more memory"
            assert str(error) == text  # noqa: PT017
            numpy.fails = -1
            group.all_gather(b"")
            assert gpukern.gather(table, np.arange(16)).tolist() == list(range(16))
            return True
        return False

    for count in range(1, 100):
        numpy.fails = count
        results = without_errors(on_ranks(call, 3))
        assert len(set(results)) == 1
        if not results[0]:
            break
    assert 1 < count < 99


def test_an_interrupted_rank_leaves_the_group():
    class Interrupted:
        """A group in which the calls of rank 1 fail."""

        def __init__(self, group):
            self.group, self.rank, self.size = group, group.rank, group.size
            self.leave, self.fails = group.leave, False

        def all_gather(self, data):
            if self.rank == 1 and self.fails:
                raise KeyboardInterrupt
            return self.group.all_gather(data)

    def call(group):
        table = distributed.from_local(np.zeros(3), group)
        group.fails = True
        if group.rank == 1:
            with pytest.raises(KeyboardInterrupt):
                gpukern.gather(table, [0])
            group.fails = False
        for _ in range(2):
            with pytest.raises(PeerLostError, match="rank 1 of 3 stopped in gather: Keyboard"):
                gpukern.gather(table, [0])
        return True

    assert on_ranks(call, 3, Interrupted) == [True] * 3


def test_the_tables_of_a_call_are_one():
    def call(group):
        tables = [distributed.from_local(np.zeros(n), group) for n in (4, 1 + 6 * group.rank)]
        with pytest.raises(ValueError, match="calls of the ranks differ"):
            gpukern.gather(tables[group.rank], [0, 7, 5])

    assert on_ranks(call, 2) == [None] * 2


def test_a_group_is_required():
    with pytest.raises(TypeError, match="from_local: group must have rank, size and all_gather"):
        distributed.from_local(np.ones(3), 5)


def test_scatter_of_scalars_and_errors():
    def call(group):
        table = distributed.from_local(np.zeros(3), group)
        gpukern.scatter(table, [0, 5], 1, reduce="add")
        with pytest.raises(IndexError, match=r"index 6 .*\(rank 1"):
            gpukern.scatter(table, [6 * group.rank], 1)
        with pytest.raises(TypeError, match="values must"):
            gpukern.scatter(table, [0], np.zeros(1, "f4"))
        with pytest.raises(ValueError, match="progress is not supported for a DistributedArray"):
            gpukern.scatter(table, [0], 1, progress=print)
        return table.local.tolist()

    assert on_ranks(call, 2) == [[2, 0, 0], [0, 0, 2]]


def test_a_thread_that_ends_is_named():
    def call(group):
        table = distributed.from_local(np.zeros(3), group)
        return None if group.rank == 1 else gpukern.gather(table, [0])

    results = on_ranks(call, 3)
    for rank in (0, 2):
        assert isinstance(results[rank], PeerLostError)
        assert results[rank].rank == 1
        assert "rank 1 of 3 has ended" in str(results[rank])


def test_calls_after_one_that_failed():
    def call(group):
        table = distributed.from_local(np.zeros(3), group)
        if group.rank == 1:
            return True
        for _ in range(2):
            with pytest.raises(PeerLostError, match="rank 1 of 2 has ended"):
                gpukern.gather(table, [0])
        return True

    assert on_ranks(call, 2) == [True] * 2


def test_more_rows_than_a_scatter_sends_are_refused_on_all_ranks(monkeypatch):
    monkeypatch.setattr(routed_scatter, "MAX_ROWS", 4)

    def call(group):
        table = distributed.from_local(np.zeros(3), group)
        index = [0] * (5 * group.rank)
        with pytest.raises(ValueError, match="scatter: a rank has 5 rows, more than 4"):
            gpukern.scatter(table, index, 1.0)
        gpukern.scatter(table, index[:4], 1.0)
        return gpukern.gather(table, [0]).tolist()

    assert on_ranks(call, 2) == [[1.0]] * 2


FORKED = """
import os, sys, time
from ranks import on_ranks
from gpukern.distributed.liveness import Liveness

first, second = on_ranks(lambda group: Liveness(group, "the test"), 2)
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
for peer in second.peers.values():
    peer.socket.close()  # as the kernel does
end = time.monotonic() + 10
while first.lost(1, time.monotonic()) is None and time.monotonic() < end:
    time.sleep(0.01)
os.kill(child, 9)
print(first.lost(1, time.monotonic()))
"""


def test_a_forked_child_does_not_keep_the_connections():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "rank 1 of 2 has ended\n", done.stderr


class Library:
    """NCCL whose calls never complete, and that counts the communicators that it has aborted."""

    def __init__(self):
        self.aborted = 0

    def ncclCommGetAsyncError(self, *_):  # noqa: N802
        return nccl.SUCCESS

    def ncclCommAbort(self, _):  # noqa: N802
        self.aborted += 1


def communicator_of(library):
    comm = nccl.Nccl.__new__(nccl.Nccl)
    comm._library, comm._comm, comm._process = library, ctypes.c_void_p(1), os.getpid()
    return comm


def test_a_forked_child_does_not_end_a_communicator():
    library = Library()
    comm = communicator_of(library)
    child = os.fork()
    if child == 0:
        del comm
        os._exit(library.aborted)
    assert os.waitpid(child, 0)[1] == 0
    del comm
    assert library.aborted == 1


def test_a_communicator_that_does_not_connect_in_time():
    def call(group):
        library = Library()
        comm = communicator_of(library)
        comm.rank, comm.size = group.rank, group.size
        comm._liveness = liveness.Liveness(group, "NCCL")
        for _ in range(2):
            with (
                pytest.raises(PeerLostError, match=r"Nccl: a call is not complete after 0\.3 s"),
                comm._call(),
            ):
                comm._finish(nccl.IN_PROGRESS, "ncclCommInitRank", 0.3)
        group.all_gather(b"")  # the connections last until here
        return library.aborted

    assert on_ranks(call, 2) == [1] * 2


def test_the_shutdown_message_of_a_process(monkeypatch):
    def call(group):
        connections = liveness.Liveness(group, "the test")
        group.all_gather(b"")
        if group.rank == 1:
            connections.send_shutdown(7, PeerLostError("rank 1 of 2 has left", 1))
        group.all_gather(b"")
        found = [connections.lost(number, time.monotonic()) for number in (7, 8)]
        group.all_gather(b"")
        if group.rank == 1:
            connections.close()
        group.all_gather(b"")
        began = time.monotonic()
        found.append(connections.lost(7, began))
        time.sleep(0.6)
        found.append(connections.lost(7, began))  # it was killed thereafter
        connections.close()
        return [str(each) for each in found]

    monkeypatch.setattr(liveness, "GRACE_PERIOD", 0.5)
    left = "rank 1 of 2 has left"
    assert on_ranks(call, 2)[0] == ["None", left, "None", left]
