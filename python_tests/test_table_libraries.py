# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Objects that are no arrays but convert to them, as those of pandas, pyarrow and xarray."""

import numpy as np
import pytest

import gpukern


class Column:
    """Converts to an array, as a Series of pandas and a DataArray of xarray do."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


class Nullable(Column):
    """Has DLPack, but not for its values, as an array of pyarrow with nulls."""

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if max_version is None:
            pytest.fail("was asked for a capsule without a version")
        raise TypeError("no DLPack with nulls")


class Traced:
    """Has every attribute, as a proxy of torch.fx."""

    def __getattr__(self, name):
        return self


def test_numeric_columns_are_taken():
    assert gpukern.gather(Column([1.0, 2.0]), Column([1, 0])).tolist() == [2, 1]
    assert gpukern.saxpy(2.0, Column([1.0]), Column([1.0])).tolist() == [3]


def test_columns_of_objects_say_what_is_taken():
    text = "source must be an array, got Column of Python objects .gather takes its numpy.asarray"
    with pytest.raises(TypeError, match=text):
        gpukern.gather(Column(np.array(["a", None], object)), [0])


def test_columns_are_no_output():
    text = "out must be an array, got Column, which does not share its memory"
    with pytest.raises(TypeError, match=text):
        gpukern.gather(np.arange(2.0), [0], out=Column([0.0]))


def test_the_reason_of_a_producer_comes_out():
    text = (
        "could not be imported from Nullable: TypeError: no DLPack with nulls "
        r"\(numpy.asarray\(\) may convert it\)"
    )
    with pytest.raises(BufferError, match=text):
        gpukern.gather(Nullable([1.0]), [0])


def test_proxies_are_no_arrays():
    with pytest.raises(TypeError, match="source must be an array, got Traced"):
        gpukern.gather(Traced(), [0])


def test_a_mask_is_no_index():
    with pytest.raises(TypeError, match=r"got bool \(numpy.flatnonzero\(\) gives the indices\)"):
        gpukern.gather(np.arange(2), np.array([True, False]))


def test_tables_of_pandas():
    pd = pytest.importorskip("pandas")
    numbers = pd.Series([1, None, 3], dtype="Int64")
    np.testing.assert_array_equal(gpukern.gather(numbers, [2, 1]), [3, np.nan])
    for column in (pd.Series(["a", "b"]), pd.Series(["a", "b"], dtype="category")):
        with pytest.raises(TypeError, match="got Series of Python objects"):
            gpukern.gather(column, [1])
        assert gpukern.gather(column.to_numpy(object), [1]).tolist() == ["b"]
    records = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}).to_records()
    assert gpukern.gather(records, [1]).tolist() == [(1, 2, "y")]


def test_arrays_of_pyarrow():
    pa = pytest.importorskip("pyarrow")
    assert gpukern.gather(pa.chunked_array([[1.0, 2.0], [3.0]]), [2]).tolist() == [3]
    with pytest.raises(BufferError, match=r"no nulls\. \(numpy.asarray\(\) may convert it\)"):
        gpukern.gather(pa.array([1.0, None]), [0])


def test_arrays_of_xarray_and_dask():
    xr = pytest.importorskip("xarray")
    array = pytest.importorskip("dask.array")
    labelled = xr.DataArray(np.arange(3.0), dims="x", coords={"x": [10, 20, 30]})
    assert type(gpukern.gather(labelled, [2])) is np.ndarray
    assert gpukern.gather(array.arange(3, chunks=2), [2]).tolist() == [2]
