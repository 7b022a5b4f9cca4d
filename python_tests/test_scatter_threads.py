# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""scatter and put_along_axis on the CPU: the ways in which threads share the work."""

import numpy as np
import pytest
import scatter_oracle

import gpukern
from gpukern import put_along_axis, scatter


@pytest.fixture(params=[1, 2, 3, 8])
def threads(request, restored_threads):
    gpukern.set_num_threads(request.param)


# The CPU's threads have a table of few keys each, if the order of their values does not matter.
@pytest.mark.parametrize("size", [1, 37, 4096, 20_000])
def test_many_updates_of_few_keys(rng, threads, size):
    index, values = rng.integers(0, size, 100_001), rng.integers(-(2**62), 2**62, 100_001)
    target = rng.integers(-(2**62), 2**62, size)
    for reduce, combine in (None, None), ("add", np.add), ("max", np.maximum):
        expected = target.copy()
        if combine is None:
            expected[index] = values
        else:
            combine.at(expected, index, values)
        assert np.array_equal(scatter(target.copy(), index, values, reduce=reduce), expected)


def test_few_keys_in_shared_memory(rng, threads):
    memory = rng.integers(0, 1000, 120_000)
    target, index, values = memory[:1000], memory[5:100_005], memory[900:100_900]
    for reduce in None, "add":
        expected = target.copy()
        if reduce is None:
            expected[index] = values
        else:
            np.add.at(expected, index, values)
        found = memory.copy()
        parts = found[:1000], found[5:100_005], found[900:100_900]
        scatter(*parts, reduce=reduce, out=found[7:1007])
        assert np.array_equal(found[7:1007], expected)
        assert np.array_equal(found[1007:], memory[1007:])


def test_nans_without_updates_keep_their_bits(rng, threads):
    """A minimum of floats does not depend on the order either."""
    target = np.where(rng.random(1000) < 0.5, -0.0, np.nan)
    target.view("u8")[::2] |= 1 << 63
    index, values = rng.integers(0, 500, 50_000), rng.standard_normal(50_000)
    expected = target.copy()
    with np.errstate(invalid="ignore"):
        np.minimum.at(expected, index, values)
    found = scatter(target.copy(), index, values, reduce="min")
    assert np.array_equal(found, expected, equal_nan=True)
    assert found[500:].tobytes() == target[500:].tobytes()


# Sums of few elements: each thread combines the blocks of 256 values that begin in its part.
@pytest.mark.parametrize("threads", [2, 8], indirect=True)
@pytest.mark.parametrize("reduce", ["add", "multiply", "mean"])
@pytest.mark.parametrize("kind", ["uniform", "skewed", "sorted", "alternating", "one in a part"])
def test_many_floats_of_few_keys(rng, threads, kind, reduce):
    m = 140_000
    for keys, dtype in [(1, "f4"), (2, "f8"), (13, "f2"), (40, "c8"), (60, "f4")]:
        index = {
            "uniform": rng.integers(0, keys, m),
            "skewed": (rng.random(m) ** 4 * keys).astype(int),
            "sorted": np.arange(m) * keys // m,
            "alternating": np.arange(m) % 2 * (keys - 1),
            "one in a part": np.where(np.arange(m) % (m // 8) == 5, 0, keys - 1),
        }[kind]
        values = (rng.standard_normal(m) * 0.1 + (reduce == "multiply")).astype(dtype)
        if reduce not in scatter_oracle.reductions_of(values.dtype):
            continue
        target = np.arange(1, keys + 1).astype(dtype)
        expected = scatter_oracle.scatter(target, index, values, 0, "raise", reduce)
        found = scatter(target.copy(), index, values, reduce=reduce)
        assert found.tobytes() == expected.tobytes()


def test_few_keys_that_are_skipped(rng, threads):
    """In mode 'fill', by a strided index, to a strided target; one element has no value."""
    index = rng.integers(-30, 30, 300_000)[::2]
    index[index == 7] = 40
    values, memory = rng.standard_normal(150_000), np.zeros(60)
    memory[14] = -0.0
    target = memory[::2]
    before = target.copy()
    expected = scatter_oracle.scatter(before, index, values, 0, "fill", "add")
    scatter(target, index, values, reduce="add", mode="fill")
    assert target.tobytes() == expected.tobytes()
    assert (memory[1::2] == 0).all()


# A large target needs no count for each element if no element has more than a block of values.
@pytest.mark.parametrize("threads", [1, 3], indirect=True)
@pytest.mark.parametrize("dtype", ["f4", "c16", "f2"])
@pytest.mark.parametrize("most", [1, 254, 255, 256, 511, 1000])
def test_one_element_with_many_values(rng, threads, dtype, most):
    n = 100_000
    for m in (most + 3, 120_000):
        index = rng.permutation(n)[:m] if m < n else rng.integers(0, n, m)
        index[rng.permutation(m)[:most]] = 77
        values, target = rng.standard_normal(m).astype(dtype), rng.standard_normal(n).astype(dtype)
        for reduce in ("add", "mean"):
            expected = scatter_oracle.scatter(target, index, values, 0, "raise", reduce)
            found = scatter(target.copy(), index, values, reduce=reduce)
            assert found.tobytes() == expected.tobytes()


# Threads share columns of a target that is larger than a cache.
@pytest.mark.parametrize("threads", [1, 3], indirect=True)
@pytest.mark.parametrize("reduce", [None, "add", "max", "mean"])
@pytest.mark.parametrize(
    ("target_shape", "index_shape", "axis"),
    [
        ((6000, 127), (400, 127), 0),
        ((6000, 128), (400, 128), 0),
        ((3000, 700), (200, 700), 0),
        ((3000, 300), (300, 1), 0),
        ((2, 3000, 200), (2, 250, 200), 1),
        ((2, 3000, 200), (1, 250, 200), -2),
    ],
)
def test_along_the_first_axis(rng, threads, reduce, target_shape, index_shape, axis):
    target = rng.standard_normal(target_shape)
    index = rng.integers(-target_shape[axis], target_shape[axis], index_shape)
    rows = list(target_shape)
    rows[axis] = index_shape[axis]
    values = rng.standard_normal(rows)
    for mode in ("raise", "fill"):
        args = index + (mode == "fill"), values, axis
        expected = scatter_oracle.put_along_axis(target, *args, mode, reduce)
        found = put_along_axis(target.copy(), *args, mode=mode, reduce=reduce)
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("layout", ["transposed", "reversed", "values of one row"])
def test_along_the_first_axis_of_any_layout(rng, threads, layout):
    memory, index = rng.random((5000, 300)), rng.integers(0, 5000, (400, 300))
    values = rng.random((1 if layout == "values of one row" else 400, 300))
    target = {"transposed": np.asfortranarray(memory), "reversed": memory[::-1, ::-1]}.get(
        layout, memory
    )
    expected = target.copy()
    np.put_along_axis(expected, index, np.broadcast_to(values, index.shape), 0)
    put_along_axis(target, index, values, 0)
    assert np.array_equal(target, expected)


def special_values(rng, m, dtype):
    """Infinities, NaN with payloads, zeros of both signs, subnormals."""
    values = rng.standard_normal(m).astype(dtype)
    tiny = np.finfo(dtype).smallest_subnormal
    for kind in (np.inf, -np.inf, 0.0, -0.0, tiny, -tiny):
        values[rng.integers(0, m, 5)] = kind
    values.view(f"u{values.itemsize}")[rng.integers(0, m, 3)] = ~np.uint64(0) >> np.uint64(
        64 - 8 * values.itemsize
    )
    return values


# By the counts of few keys, by one thread or several, and by the pass that counts groups.
@pytest.mark.parametrize("threads", [1, 3], indirect=True)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize(("keys", "m"), [(60, 140_000), (3000, 20_000), (70_000, 40_000)])
def test_special_values(rng, threads, keys, m, dtype):
    index = rng.integers(0, keys - 1, m)
    for values in (special_values(rng, m, dtype), np.full(m, -0.0, dtype)):
        target = np.full(keys, -0.0, dtype)
        target[-1:].view(f"u{target.itemsize}")[:] -= 5  # an unusual NaN, which has no value
        for reduce in ("add", "mean", "min", "max"):
            expected = scatter_oracle.scatter(target, index, values, 0, "raise", reduce)
            found = scatter(target.copy(), index, values, reduce=reduce)
            assert found.tobytes() == expected.tobytes()


@pytest.mark.usefixtures("restored_threads")
def test_the_ways_of_several_threads(rng):
    """Which the tests above mean to take: a threshold may not move below them."""
    gpukern.set_num_threads(2)
    index, values = rng.integers(0, 60, 140_000), rng.random(140_000)
    few = gpukern.explain(scatter, np.zeros(60), index, values, reduce="add")
    columns = rng.integers(0, 3000, (200, 700))
    tiles = gpukern.explain(
        put_along_axis, np.zeros((3000, 700)), columns, rng.random((200, 700)), 0
    )
    assert (few.threads, tiles.threads) == (2, 2)
