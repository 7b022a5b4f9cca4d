# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Rows that NCCL exchanges, and the errors of one rank in an exchange.

test_gpus_in_software.py runs this file where there is no GPU.
"""

import contextlib
import ctypes
import os
import threading

import nccl_in_software
import numpy as np
import pytest
from conftest import CASES_PER_TEST
from gpu_tables import MODES, gpu_parts, random_index, random_rows, random_table, require_equal
from ranks import on_ranks, without_errors

import gpukern
from gpukern.distributed import storage
from gpukern.distributed.liveness import Liveness
from gpukern.distributed.nccl import Nccl, NcclSteps
from gpukern.errors import GpukernCudaError, PeerLostError

pytestmark = pytest.mark.gpu
software = pytest.mark.skipif("GPUKERN_FAKE_GPUS" not in os.environ, reason="not in software")


@software
def test_parts_on_gpus_exchange_rows_by_nccl(rng, cases, monkeypatch):
    for turn in range(max(CASES_PER_TEST // 20, 10)):
        size, rows = int(rng.integers(2, 5)), int(rng.integers(1, 700))
        table, mode = random_table(rng, rows), MODES[rng.integers(4)]
        cuts = np.cumsum([0, *random_rows(rng, rows, size)])
        indices = [random_index(rng, rows, mode) for _ in range(size)]
        if turn % 3 == 0:  # rows are received where they belong
            indices = [np.sort(index.astype(np.int64) % rows, axis=None) for index in indices]
        nccl_in_software.use(monkeypatch, storage, size)

        def call(group, table=table, mode=mode, cuts=cuts, indices=indices):
            array, device = gpu_parts(table, group, cuts, 0)
            array.staging_memory = int(2 ** np.random.default_rng(cuts).integers(8, 24))
            there = gpukern.to_device(indices[group.rank], device)
            got = gpukern.gather(array, there, mode=mode)
            out = gpukern.empty(got.shape, got.dtype, device)
            assert gpukern.gather(array, there, mode=mode, out=out) is out
            return got.numpy(), out.numpy()

        for index, found in zip(indices, without_errors(on_ranks(call, size)), strict=True):
            for got in found:
                np.testing.assert_array_equal(got, gpukern.gather(table, index, mode=mode))
        cases["distributed gather", "cuda"] += 2 * size


@software
def test_rounds_go_without_a_wait_for_the_ranks(monkeypatch):
    """The ranks agree on the arguments, on the counts, on the memory, and at the end."""
    table = np.random.default_rng(5).random((4000, 16))
    libraries = nccl_in_software.use(monkeypatch, storage, 2)

    def call(group):
        array, device = gpu_parts(table, group, [0, 1500, 4000], 0)
        index = np.random.default_rng(group.rank).integers(-4000, 4000, 3000)
        there, before = gpukern.to_device(index, device), libraries[0].exchanges
        made = []
        all_gather = group.all_gather
        group.all_gather = lambda data: made.append(data) or all_gather(data)
        found = gpukern.gather(array, there)
        assert len(made) == 4
        np.testing.assert_array_equal(found.numpy(), table[index])
        assert libraries[0].exchanges - before > 5
        with pytest.raises(IndexError, match=r"index 4000 is out of bounds .*rank 1"):
            gpukern.gather(
                array, gpukern.to_device(index[:9] if group.rank == 0 else [4000], device)
            )
        require_equal(gpukern.gather(array, [3999, 0]), table[[3999, 0]])
        gpukern.scatter(array, index, 1.0)
        changed = gpukern.gather(array, index).numpy()
        assert (changed == 1).all()
        return True

    assert without_errors(on_ranks(call, 2)) == [True] * 2


@software
@pytest.mark.parametrize("step", [0, 3])
def test_an_interrupt_between_two_exchanges_ends_those_of_the_other_ranks(monkeypatch, step):
    table = np.random.default_rng(5).random((4000, 16))
    nccl_in_software.use(monkeypatch, storage, 2)

    def call(group):
        array, device = gpu_parts(table, group, [0, 1500, 4000], 0)
        there = gpukern.to_device(np.arange(4000)[::-1].copy(), device)
        group.all_gather(b"")
        with pytest.raises(KeyboardInterrupt if group.rank == 1 else PeerLostError) as caught:
            gpukern.gather(array, there)
        if group.rank == 0:
            ended.set()
        ended.wait(20)  # a thread that ends would end the exchange of the other, too
        return str(caught.value)

    ended, computed = threading.Event(), NcclSteps.computed

    def interrupted(steps, number):
        if steps._nccl.rank == 1 and number == step:
            raise KeyboardInterrupt
        computed(steps, number)

    monkeypatch.setattr(NcclSteps, "computed", interrupted)
    assert without_errors(on_ranks(call, 2))[0].startswith("rank 1 of 2 has aborted")


class Library:
    """NCCL whose calls succeed; the address of a communicator that it has aborted is in `ended`."""

    def __init__(self):
        self.ended = []

    def __getattr__(self, name):
        return lambda *_: 0

    def ncclCommAbort(self, comm):  # noqa: N802
        self.ended.append(comm.value)


class Interrupted:
    """A driver whose events complete on no rank, and are left by an error on rank 0."""

    def __init__(self, rank, error):
        self.rank, self.error = rank, error

    @contextlib.contextmanager
    def current(self):
        yield

    def call(self, *_):
        pass

    def is_done(self, _):
        if self.rank == 0:
            raise self.error
        return False


def exchange(nccl, rows, none):
    steps = nccl.steps([rows])
    steps.exchange(0, [(rows, none, none, rows, none, none)])
    steps.finish()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GpukernCudaError("none")])
def test_an_error_in_an_exchange_ends_those_of_the_other_ranks(error):
    libraries = [Library(), Library(), Library()]

    def call(group):
        nccl = Nccl.__new__(Nccl)
        nccl.rank, nccl.size, nccl._calls = group.rank, group.size, 0
        nccl._process = os.getpid()
        nccl._library, nccl._driver = libraries[group.rank], Interrupted(group.rank, error)
        nccl._comm, nccl._liveness = ctypes.c_void_p(group.rank + 1), Liveness(group, "NCCL")
        nccl._stream, nccl._exchanged = ctypes.c_void_p(1), ctypes.c_void_p()
        rows, none = gpukern.empty((2,), "f4", 0), np.zeros(3, np.int64)
        with pytest.raises(type(error) if group.rank == 0 else PeerLostError) as caught:
            exchange(nccl, rows, none)
        with pytest.raises(PeerLostError, match="rank 0 of 3 stopped"):
            exchange(nccl, rows, none)
        group.all_gather(b"")  # the connections last until here
        return str(caught.value)

    text = f"rank 0 of 3 stopped in a call: {type(error).__name__}"
    assert without_errors(on_ranks(call, 3))[1:] == [text] * 2
    assert [library.ended for library in libraries] == [[1], [2], [3]]
