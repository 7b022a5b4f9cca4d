# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""bincount: the oracle of scatter on generated calls, numpy.bincount by example, errors."""

import cuda_driver
import numpy as np
import pytest
import scatter_oracle
from conftest import CASES_PER_EXAMPLE
from hypothesis import given
from hypothesis import strategies as st
from read_cases import make_valid, random_bytes
from strategies import INDEX_DTYPES, shapes, windows
from write_cases import REDUCED_DTYPES, make_moderate

from gpukern import bincount, explain, to_device


@st.composite
def plans(draw):
    """The windows of the index and, or None, of the weights; the number of bins."""
    shape = draw(st.one_of(shapes(3), st.sampled_from([(700,), (3000,)])))
    index = draw(windows(draw(st.sampled_from(INDEX_DTYPES)), shape))
    weights = draw(windows(draw(st.sampled_from(REDUCED_DTYPES)), shape))
    return index, weights if draw(st.booleans()) else None, draw(st.sampled_from([0, 1, 2, 7, 100]))


def random_case(plan, rng):
    """Random arrays, and their sums or, for a number that is no bin in mode 'raise', None."""
    windows_of, size = plan[:2], plan[2]
    index, weights = (w and w.on(random_bytes(rng, w.extent + 8)) for w in windows_of)
    info = np.iinfo(index.dtype)
    low, end = (0, max(size, 1)) if rng.random() < 0.7 else (max(-1, info.min), size + 1)
    index[...] = rng.integers(low, end, index.shape)
    values = np.ones(index.shape, np.int64)
    if weights is not None:
        make_valid(weights, rng)
        make_moderate(weights, rng)
        values = weights
    mode = str(rng.choice(["raise", "fill"]))
    is_bin = (index >= 0) & (index < size)
    if mode == "raise" and not is_bin.all():
        return index, weights, mode, None
    zeros = np.zeros(size, values.dtype)
    expected = scatter_oracle.scatter(zeros, index[is_bin], values[is_bin], 0, "raise", "add")
    return index, weights, mode, expected


@given(plan=plans(), seed=st.integers(0, 2**32 - 1))
def test_generated_calls(plan, seed, places, cases):
    rng = np.random.default_rng(seed)
    for _ in range(CASES_PER_EXAMPLE):
        index, weights, mode, expected = random_case(plan, rng)
        for place in places:
            if place.on_device and not index.dtype.isnative:
                continue
            if expected is None:
                with pytest.raises(IndexError, match=r"^bincount: index must be in"):
                    count(place, index, weights, size=plan[2], mode=mode)
            else:
                result = count(place, index, weights, size=plan[2], mode=mode)
                assert result.tobytes() == expected.tobytes()
            cases["bincount", str(place)] += 1


def count(place, index, weights=None, **options):
    """Calls bincount on NumPy arrays moved to a place, and brings the result back."""
    if weights is not None:
        weights = place.put(weights)
    return place.take(bincount(place.put(index), weights, **options, **place.options))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_counts_are_numpys(place, rng, dtype):
    for numbers, size in [(0, 5), (1, 1), (1000, 7), (100_000, 100)]:
        index = rng.integers(0, size, numbers).astype(dtype)
        result = count(place, index, size=size)
        assert result.dtype == np.int64
        assert np.array_equal(result, np.bincount(index.astype("i8"), minlength=size))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "i4", "u1"])
def test_weights_are_added_in_the_order_of_scatter(place, rng, dtype):
    index = rng.integers(0, 50, 20_000)
    weights = (rng.standard_normal(20_000) * 9).astype(dtype)
    result = count(place, index, weights, size=60)
    expected = scatter_oracle.scatter(np.zeros(60, dtype), index, weights, 0, "raise", "add")
    assert result.dtype == dtype
    assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("size", [3000, 9000, 20_000])
def test_many_numbers_of_many_bins(place, rng, size):
    """On a GPU with much shared memory, all but the last are counted there, by some blocks."""
    index = (rng.random(size * 500) ** 3 * size).astype("i4")
    assert np.array_equal(count(place, index, size=size), np.bincount(index, minlength=size))


def test_up_to_255_weights_of_a_bin_give_numpys_sum(place, rng):
    index, weights = rng.integers(0, 1000, 5000), rng.standard_normal(5000)
    expected = np.bincount(index, weights, 1000)
    assert count(place, index, weights, size=1000).tobytes() == expected.tobytes()


@pytest.mark.gpu
@pytest.mark.parametrize("weighted", [False, True])
def test_nothing_waits_in_mode_fill(rng, weighted):
    """So that a CUDA graph captures it."""
    index, weights = rng.integers(-5, 60, 5000), rng.standard_normal(5000)
    given = [to_device(index), to_device(weights)][: 1 + weighted]
    stream = cuda_driver.Stream()
    with stream.capture() as graph:
        result = bincount(*given, size=50, mode="fill", stream=stream)
    graph.launch()
    stream.synchronize()
    kept = (index >= 0) & (index < 50)
    expected = bincount(index[kept], weights[kept] if weighted else None, size=50)
    assert result.numpy().tobytes() == expected.tobytes()


def test_the_size_of_host_arrays():
    assert bincount([0, 3, 3, 1]).tolist() == [1, 1, 0, 2]
    assert bincount(np.array([], int)).shape == (0,)
    assert bincount([2], [0.5]).tolist() == [0, 0, 0.5]
    assert bincount(np.array([[1, 2], [2, 2]])).tolist() == [0, 1, 3]


def test_numbers_outside_the_bins(place):
    for bad in (5, -1):
        index = np.array([0, bad, 4])
        got = "" if place.on_device else f", got {bad}"
        words = rf"^bincount: index must be in \[0, 5\){got}$"
        with pytest.raises(IndexError, match=words):
            count(place, index, size=5)
        assert count(place, index, size=5, mode="fill").tolist() == [1, 0, 0, 0, 1]
    with pytest.raises(IndexError, match=r"^bincount: index must not be negative, got -1$"):
        bincount([2, -1])


def test_bad_arguments():
    index = [0, 1]
    for arguments, error, words in [
        ({"index": [0.5]}, TypeError, "index must be of an integer dtype, got float64"),
        ({"index": [True, False]}, TypeError, "index must be of an integer dtype, got bool$"),
        ({"size": 1.5}, TypeError, "size must be an int, got float"),
        ({"size": -1}, ValueError, r"size must be in \[0, 2\*\*60\), got -1"),
        ({"mode": "wrap"}, ValueError, "mode must be 'raise' or 'fill', got 'wrap'"),
        ({"order": "random"}, ValueError, "order must be 'fixed' or 'any', got 'random'"),
        ({"weights": [1.0]}, ValueError, r"weights must have the index's shape \(2,\), got \(1,\)"),
        ({"weights": [True, False]}, TypeError, "weights must be of a dtype that scatter adds, go"),
        ({"weights": ["a", "b"]}, TypeError, "weights must be of a dtype that scatter adds, got"),
        (
            {"weights": np.ones(2, np.longdouble)},
            TypeError,
            "weights must be of a dtype that scatter adds, got",
        ),
        ({"weights": np.ma.zeros(2)}, TypeError, "weights must not be a masked array"),
        ({"index": np.ma.array([0])}, TypeError, "index must not be a masked array"),
    ]:
        with pytest.raises(error, match=f"^bincount: {words}"):
            bincount(**{"index": index, "size": 2, **arguments})


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_size_is_required_where_the_host_does_not_read(device):
    with pytest.raises(ValueError, match="size is required"):
        bincount(to_device(np.array([1]), device))


def test_an_int_is_counted():
    for three in (3, np.int64(3), np.array(3)):
        assert bincount(three).tolist() == [0, 0, 0, 1]
        assert bincount(three, size=5).tolist() == [0, 0, 0, 1, 0]


def test_explain():
    explanation = explain(bincount, np.zeros(1000, int), size=10)
    assert explanation.op == "bincount"
    assert explanation.bytes_read >= 1000 * 8


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "?"])
def test_numbers_on_a_gpu_have_an_integer_dtype(dtype):
    index = to_device(np.zeros(3, dtype), device="cuda")
    for options in ({}, {"size": 2}, {"size": 2, "mode": "fill"}):
        with pytest.raises(TypeError, match=r"^bincount: index must be of an integer dtype, got "):
            bincount(index, **options)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4"])
@pytest.mark.parametrize("size", [129, 1000, 70_000])
def test_negative_numbers_of_narrow_dtypes(dtype, size):
    index = np.array([3, -1, np.iinfo(dtype).min], dtype)
    counts = bincount(index, size=size, mode="fill")
    assert counts[3] == 1
    assert counts.sum() == 1
    with pytest.raises(IndexError, match="index must be in"):
        bincount(index, size=size)


def test_no_bins_anywhere(place):
    index = np.array([-1, -5])
    for weights in (None, np.ones(2, "f4")):
        assert count(place, index, weights, size=0, mode="fill").shape == (0,)
        assert count(place, index[:0], None if weights is None else weights[:0], size=0).size == 0
        with pytest.raises(IndexError):
            count(place, index, weights, size=0)


def test_no_bins():
    for options in ({}, {"size": 0}):
        assert bincount([-1, -5], mode="fill", **options).tolist() == []
    assert bincount([-1], np.ones(1, "f4"), size=0, mode="fill").dtype == np.float32
    assert bincount(np.zeros(0, "i1"), np.zeros(0), size=0, mode="fill").shape == (0,)
    with pytest.raises(IndexError):
        bincount([-1], size=0)
    with pytest.raises(TypeError, match="size must be an int, got bool"):
        bincount([1], size=True)
    with pytest.raises(ValueError, match="index must be less than"):
        bincount(np.array([2**63], "u8"))
