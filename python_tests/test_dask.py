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


@pytest.mark.parametrize("mode", ["wrap", "clip", "fill"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 2, 0), (3, 0), (0, 2)])
def test_items_without_elements_of_an_empty_table(mode, shape):
    table, index = np.zeros(shape, "f4"), np.array([[0, 7], [-5, 1]])
    for given in (index, da.from_array(index)):
        each = gd.gather(da.from_array(table), given, mode=mode)
        if shape == (0, 2):
            with pytest.raises(IndexError, match="out of bounds for axis 0 with size 0"):
                each.compute()
            continue
        expected = gpukern.gather(table, index, mode=mode)
        assert each.shape == expected.shape
        assert each.compute().shape == expected.shape
        assert each.dtype == expected.dtype


def test_arguments_may_change_before_the_result_is_computed():
    table = da.arange(1.0, 11.0, chunks=5)
    index, item, fill, a = np.arange(3), np.array(1), np.array(4.0), np.array(2.0)
    results = [
        gd.gather(table, index),
        gd.gather(table, item),
        gd.gather(table, [0, 99], mode="fill", fill_value=fill),
        gd.saxpy(a, table, table),
    ]
    for each in (index, item, fill, a):
        each[...] = 9
    got = [each.compute(scheduler="sync").tolist() for each in results]
    assert got == [[1, 2, 3], 2, [1, 4], (3 * np.arange(1, 11)).tolist()]


def test_errors():
    table = da.arange(10, chunks=5)
    lazy = gd.gather(table, [3, 12])
    with pytest.raises(IndexError, match=r"index 12 .* size 10 \(chunk \(0,\) of the index"):
        lazy.compute(scheduler="sync")
    with pytest.raises(TypeError, match="integer dtype"):
        gd.gather(table, [0.5])
    with pytest.raises(TypeError, match=r"must be a dask\.array"):
        gd.gather(np.arange(3), [0])
    with pytest.raises(ValueError, match=r"table must have one dimension or more, got shape \(\)"):
        gd.gather(da.zeros(()), [0])
    with pytest.raises(ValueError, match="axis"):
        gd.gather(table, [0], axis=1)
    with pytest.raises(TypeError, match=r"gather: axis must be an integer, got 0\.0"):
        gd.gather(table, [0], axis=0.0)
    with pytest.raises(ValueError, match="gather: mode must be one of"):
        gd.gather(table, [0], mode=np.array(["clip", "wrap"]))
    with pytest.raises(ValueError, match="mode"):
        gd.gather(table, [0], mode="wraps")
    with pytest.raises(ValueError, match="one shape"):
        gd.saxpy(2, table, table[:3])
    for index in [([0], [1]), np.ma.masked_array([1], [True])]:
        with pytest.raises(TypeError, match="index must"):
            gd.gather(table, index)
    with pytest.raises(TypeError, match="fill_value"):
        gd.gather(table, [0], mode="fill", fill_value="x")
    with pytest.raises(TypeError, match="fixed-width"):
        gd.gather(da.from_array(np.array([None, 1]), 1), [0])
    for args in [(2, np.arange(10), table), (2, table, 3)]:
        with pytest.raises(TypeError, match=r"must be a dask\.array"):
            gd.saxpy(*args)
    with pytest.raises(TypeError, match="y must have the dtype of x"):
        gd.saxpy(2, table, table.astype("f4"))
    with pytest.raises(TypeError, match="saxpy: a"):
        gd.saxpy(2.5, table, table)
    with pytest.raises(TypeError, match=r"a must be a scalar, got an array of shape \(10,\)"):
        gd.saxpy(np.ones(10), table, table)


def test_unknown_sizes():
    table, wide = da.arange(10, chunks=5), da.ones((4, 4), chunks=2)
    unknown = table[table > 3]
    for function, args in [
        (gd.gather, (unknown, [0])),
        (gd.gather, (wide[:, wide[0] > 0], [0])),
        (gd.gather, (table, unknown)),
        (gd.saxpy, (2, unknown, unknown)),
    ]:
        with pytest.raises(ValueError, match=r"known sizes; its compute_chunk_sizes\(\)"):
            function(*args)


def test_masked_chunks_are_refused():
    plain, masked = np.arange(4), np.ma.masked_array(np.arange(4), [0, 1, 0, 0])
    known, hidden = (
        da.from_array(masked, 2),
        da.from_array(plain, 2).map_blocks(
            lambda block: np.ma.masked_array(block, block == 1), meta=plain[:0]
        ),
    )
    for array in (known, hidden):
        for function, args in [
            (gd.gather, (array, [0])),
            (gd.gather, (da.from_array(plain, 2), array)),
            (gd.saxpy, (2, array, array)),
        ]:
            with pytest.raises(TypeError, match="must not be a masked array"):
                function(*args).compute(scheduler="sync")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda block: block[:1], ValueError, r"must have shape \(3,\), as its .* got \(1,\)"),
        (lambda block: np.append(block, block), ValueError, r"must have shape .* got \(6,\)"),
        (lambda block: block + 0.5, TypeError, "must be of an integer dtype, .* got float64"),
    ],
)
def test_chunks_are_what_their_array_says(change, error, message):
    """map_blocks() takes the caller's word for what the function returns."""
    table, index = da.arange(12, chunks=3), da.arange(12, chunks=3)
    changed = index.map_blocks(change, dtype=index.dtype, chunks=index.chunks)
    with pytest.raises(error, match=f"^gather: chunk .* of index {message}"):
        gd.gather(table, changed).compute(scheduler="sync")
    if error is ValueError:
        with pytest.raises(error, match=f"^gather: a chunk of table {message}"):
            gd.gather(changed, index).compute(scheduler="sync")


@pytest.mark.parametrize(
    ("index", "tasks"),
    [
        (np.arange(50) * 7 % 100, 400),
        (np.arange(500_000) // 5000, 900),
        (da.from_array(np.arange(50_000) % 100, 50), 2400),
        (da.from_array(np.arange(200_000) % 100, 200), 2800),
    ],
)
def test_graphs_are_as_large_as_they_need_to_be(index, tasks):
    """Few indices are one chunk or group; sorted indices meet few chunks of the table."""
    table = da.arange(100, chunks=1)
    lazy = gd.gather(table, index)
    assert len(dict(lazy.__dask_graph__())) < tasks
    np.testing.assert_array_equal(lazy.compute(scheduler="sync"), index)
    np.testing.assert_array_equal(lazy[3:49:2].compute(scheduler="sync"), index[3:49:2])


@pytest.mark.parametrize(("columns", "groups"), [(1 << 10, 1), (1 << 23, 2), (1 << 25, 8)])
def test_the_rows_of_a_group_of_chunks_are_bounded(columns, groups):
    table = da.zeros((4, columns), dtype="u1", chunks=(2, -1))
    index = da.zeros((4, 8), dtype="i8", chunks=2)
    keys = dict(gd.gather(table, index).__dask_graph__())
    assert sum("route" in str(key) for key in keys) == groups


def test_a_bad_index_in_a_group_of_chunks():
    index = da.from_array(np.array([[0, 1, 2, 3], [4, 5, 6, 10]]), (1, 2))
    message = r"index 10 .* size 10 \(chunk \(1, 1\) of the index, index 1 in C order"
    with pytest.raises(IndexError, match=message):
        gd.gather(da.arange(10, chunks=5), index).compute(scheduler="sync")


def test_saxpy(rng):
    x, y = rng.standard_normal((2, 20))
    got = gd.saxpy(1.5, da.from_array(x, 7), da.from_array(y, 5)).compute(scheduler="sync")
    np.testing.assert_array_equal(got, gpukern.saxpy(1.5, x, y))


@pytest.mark.parametrize("dtypes", [("f4", "f8"), ("f8", "f4"), ("f2", "f4"), (">f8", ">f8")])
def test_saxpy_of_several_dtypes(dtypes):
    x, y = (da.ones(6, chunks=3, dtype=dtype) for dtype in dtypes)
    lazy = gd.saxpy(2, x, y)
    got = lazy.compute(scheduler="sync")
    assert got.dtype == lazy.dtype == gpukern.saxpy(2, *(np.ones(1, each) for each in dtypes)).dtype
    assert got.tolist() == [3] * 6


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
        persisted = lazy.persist()
        del lazy, values  # and with them what the client holds of the index
        np.testing.assert_array_equal(persisted.compute(), index)
        local = gd.gather(da.arange(100_000, chunks=50_000), index)
        for scheduler in ("sync", "threads"):
            np.testing.assert_array_equal(local.compute(scheduler=scheduler), index)
    with pytest.raises(gpukern.errors.GpukernValueError, match="workers have lost a chunk of ind"):
        local.compute(scheduler="sync")
