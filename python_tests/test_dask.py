# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gpukern.dask: equal to NumPy, lazy, and on worker processes."""

import numpy as np
import pytest

import gpukern

da = pytest.importorskip("dask.array")
gd = pytest.importorskip("gpukern.dask")


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill"])
def test_gather_is_that_of_the_whole_table(rng, mode):
    for chunks in [(7,), (3, 0, 4), (1, 6)]:
        table = rng.standard_normal((7, 4))
        low, high = (-7, 7) if mode == "raise" else (-30, 30)
        for shape in [(0,), (), (11,), (4, 5)]:
            index = rng.integers(low, high, shape)
            lazy = da.from_array(index, chunks=3)
            expected = gpukern.gather(table, index, mode=mode, fill_value=2.5)
            for given in (lazy, index):
                got = gd.gather(da.from_array(table, (chunks, 2)), given, mode=mode, fill_value=2.5)
                assert got.shape == expected.shape
                assert got.dtype == expected.dtype
                np.testing.assert_array_equal(got.compute(scheduler="sync"), expected)


def test_an_item_of_a_table_of_items():
    assert gd.gather(da.arange(20, chunks=7), 13).compute(scheduler="sync") == 13


def test_errors():
    table = da.arange(10, chunks=5)
    lazy = gd.gather(table, [3, 12])
    with pytest.raises(IndexError, match=r"index 12 .* size 10 \(chunk \(1,\) of the index"):
        lazy.compute(scheduler="sync")
    with pytest.raises(TypeError, match="integer dtype"):
        gd.gather(table, [0.5])
    with pytest.raises(TypeError, match=r"must be a dask\.array"):
        gd.gather(np.arange(3), [0])
    with pytest.raises(ValueError, match="axis"):
        gd.gather(table, [0], axis=1)
    with pytest.raises(ValueError, match="mode"):
        gd.gather(table, [0], mode="wraps")
    with pytest.raises(ValueError, match="known lengths"):
        gd.gather(table[table > 3], [0])
    with pytest.raises(ValueError, match="one shape"):
        gd.saxpy(2, table, table[:3])


def test_saxpy(rng):
    x, y = rng.standard_normal((2, 20))
    got = gd.saxpy(1.5, da.from_array(x, 7), da.from_array(y, 5)).compute(scheduler="sync")
    np.testing.assert_array_equal(got, gpukern.saxpy(1.5, x, y))


@pytest.mark.filterwarnings("default")
def test_two_worker_processes(rng):
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster):
        table = da.arange(100_000, chunks=50_000).persist()
        index = rng.integers(0, 100_000, 100_000)
        lazy = gd.gather(table, index)
        values = list(dict(lazy.__dask_graph__()).values())
        assert not any(isinstance(value, np.ndarray) and value.size > 10 for value in values)
        np.testing.assert_array_equal(lazy.compute(), index)
        with pytest.raises(IndexError, match="index 100000 is out of bounds"):
            gd.gather(table, [100_000]).compute()
