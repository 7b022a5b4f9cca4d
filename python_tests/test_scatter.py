# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""scatter: an oracle on generated calls, and NumPy by example."""

import tracemalloc

import numpy as np
import pytest
import scatter_oracle
from conftest import CASES_PER_TEST
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import bfloat16
from strategies import INDEX_DTYPES, gather_shape, shapes
from write_cases import (
    DUPLICATES,
    REDUCED_DTYPES,
    check_at_places,
    put_at,
    repeated_indices,
    write_plans,
)

import gpukern
from gpukern import explain, scatter

# ---- generated calls ----


@st.composite
def plans(draw):
    target, index = draw(shapes(4)), draw(shapes(3))
    axis = draw(st.sampled_from([None, *range(-max(len(target), 1), max(len(target), 1))]))
    updates = gather_shape(target, index, axis)
    dtype = draw(st.sampled_from(INDEX_DTYPES))
    return draw(write_plans(target, index, dtype, updates, axis))


@given(plan=plans(), seed=st.integers(0, 2**32 - 1))
def test_generated_calls(plan, seed, places, cases):
    check_at_places(scatter, scatter_oracle.scatter, plan, seed, places, cases)


# A GPU sorts more updates than 128 Ki, of single values or of rows; fewer it may hash.
UPDATES = st.sampled_from([2000, 2**17 - 1, 2**17, 2**17 + 1, 140_000])


@st.composite
def large_plans(draw):
    n, m = draw(st.sampled_from([1, 2, 300, 5000, 80_000])), draw(UPDATES)
    target, index, axis = draw(
        st.sampled_from(
            [
                ((n,), (m,), 0),
                ((n,), (m // 50, 50), -1),
                ((n, 3), (m,), 0),
                ((2, n), (m // 2,), 1),
                ((n // 2 + 1, 2), (m,), None),
            ]
        )
    )
    updates = gather_shape(target, index, axis)
    dtype = draw(st.sampled_from(INDEX_DTYPES))
    return draw(write_plans(target, index, dtype, updates, axis))


@settings(max_examples=max(CASES_PER_TEST // 50, 1))
@given(plan=large_plans(), seed=st.integers(0, 2**32 - 1))
def test_large_generated_calls(plan, seed, places, cases):
    oracle = scatter_oracle.scatter
    check_at_places(scatter, oracle, plan, seed, places, cases, times=1, indices=repeated_indices)


# ---- NumPy, by example ----


@pytest.mark.parametrize("dtype", ["i1", "f2", "f4", "f8", "c16", "S3", "U5", "M8[us]", "V100"])
def test_a_put_is_numpys_assignment(place, rng, dtype):
    size = np.dtype(dtype).itemsize
    for count in (0, 1, 31, 33, 4096, 70001):
        target = np.frombuffer(rng.bytes(97 * size), dtype)
        values = np.frombuffer(rng.bytes(count * size), dtype)
        index = rng.integers(-97, 97, count)
        expected = target.copy()
        for i, value in zip(index, values, strict=True):  # NumPy does not say which one wins
            expected[i] = value
        assert put_at(place, target, index, values).tobytes() == expected.tobytes()


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_rows_along_every_axis(place, rng, axis):
    target = rng.random((3, 4, 5))
    index = rng.permutation(target.shape[axis])[:2] - target.shape[axis]
    values = rng.random(gather_shape(target.shape, (2,), axis))
    expected = target.copy()
    np.moveaxis(expected, axis, 0)[index] = np.moveaxis(values, axis, 0)
    assert np.array_equal(put_at(place, target, index, values, axis=axis), expected)


UFUNCS = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}


@pytest.mark.parametrize(
    ("dtype", "reduce"),
    [
        (dtype, reduce)
        for dtype in REDUCED_DTYPES
        for reduce in scatter_oracle.reductions_of(dtype)
        if reduce in UFUNCS and not scatter_oracle.is_narrow(dtype)
    ],
    ids=str,
)
def test_up_to_255_values_are_those_of_a_loop(place, rng, dtype, reduce):
    """numpy.add.at and its like, to the last bit; not for 16-bit floats, which we round once."""
    for targets, count in [(1, 255), (7, 255), (3000, 20000)]:
        target = (rng.random(targets) * 20 - 10).astype(dtype)
        values = (rng.random(count) * 3 - 1.5).astype(dtype)
        index = rng.integers(-targets, targets, count)
        expected = target.copy()
        UFUNCS[reduce].at(expected, index, values)
        assert put_at(place, target, index, values, reduce=reduce).tobytes() == expected.tobytes()


@pytest.mark.parametrize("reduce", scatter_oracle.REDUCTIONS)
@pytest.mark.parametrize("kind", DUPLICATES)
def test_many_values_of_an_element(place, rng, kind, reduce):
    for n, m, dtype in [(1, 1000, "f4"), (5, 3000, "f8"), (300, 6000, "f4"), (40, 999, "f2")]:
        target = rng.standard_normal(n).astype(dtype)
        values = rng.standard_normal(m).astype(dtype)
        index = DUPLICATES[kind](n, m, rng)
        expected = scatter_oracle.scatter(target, index, values, 0, "raise", reduce)
        result = put_at(place, target, index, values, reduce=reduce)
        assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["f2", bfloat16, "f4", "f8", "i1", "i4", "i8"])
def test_sums_in_any_order(place, rng, dtype):
    for n, m in [(7, 1000), (50, 3000), (1000, 300_000), (200_000, 100_000)]:
        target, values = (rng.integers(-9, 9, size).astype(dtype) for size in (n, m))  # exact
        index = rng.integers(0, n, m)
        expected = target.astype("i8")
        np.add.at(expected, index, values.astype("i8"))
        result = put_at(place, target, index, values, reduce="add", order="any")
        assert result.tobytes() == expected.astype(dtype).tobytes()


@pytest.mark.usefixtures("restored_threads")
def test_bits_depend_on_neither_threads_nor_run(rng):
    target, values = rng.standard_normal(1000), rng.standard_normal((300_000, 3))
    index = (rng.random(300_000) ** 4 * 1000).astype(int)
    results = set()
    for threads in (1, 2, 3, 8):
        gpukern.set_num_threads(threads)
        for _ in range(3):
            table = np.repeat(target[:, None], 3, 1)
            results.add(scatter(table, index, values, reduce="add").tobytes())
    assert len(results) == 1


def test_repeated_calls_give_the_same_bits(place, rng):
    """A release repeats each call 1,000 times."""
    index, values = rng.integers(0, 3000, 40_000), rng.standard_normal(40_000)
    for positions, dtype in [(index, "f4"), (index % 5, "f8"), (index // 100, "f2")]:
        added = values.astype(dtype)
        bits = {
            put_at(place, np.ones(3000, dtype), positions, added, reduce="add").tobytes()
            for _ in range(max(CASES_PER_TEST // 100, 2))
        }
        assert len(bits) == 1


def test_tuples_are_values_of_a_structured_dtype():
    target = np.zeros(3, "i4,f8")
    assert scatter(target, [0, 2], [(1, 2.0), (3, 4.0)]).tolist() == [(1, 2.0), (0, 0.0), (3, 4.0)]
    assert scatter(target, [1], (5, 6.0)).tolist() == [(1, 2.0), (5, 6.0), (3, 4.0)]
    for values in (["1", "2"], [1.9, 2.5], [5, 6]):  # which NumPy would make records of
        with pytest.raises(TypeError, match=r"^scatter: values: "):
            scatter(target, [0, 1], values)


def test_modes(place):
    target, index, values = np.zeros(4, int), np.array([0, 5, -1, -9]), np.array([1, 2, 3, 4])
    assert put_at(place, target, index, values, mode="wrap").tolist() == [1, 2, 0, 4]
    assert put_at(place, target, index, values, mode="clip").tolist() == [4, 0, 0, 2]
    assert put_at(place, target, index, values, mode="fill").tolist() == [1, 0, 0, 3]
    added = put_at(place, target, index, values, mode="clip", reduce="add")
    assert added.tolist() == [8, 0, 0, 2]


def test_special_values(place):
    nan, inf = np.nan, np.inf
    target = np.array([0.0, -0.0, 1, inf, nan, 2], "f4")
    index, values = np.arange(6), np.array([-0.0, 0.0, nan, -inf, 1, 3], "f4")
    bits = {
        "min": [-0.0, -0.0, nan, -inf, nan, 2],
        "max": [0.0, 0.0, nan, inf, nan, 3],
        "add": [0.0, 0.0, nan, nan, nan, 5],
        "mean": [0.0, 0.0, nan, nan, nan, 2.5],
    }
    for reduce, expected in bits.items():
        result = put_at(place, target, index, values, reduce=reduce)
        assert result.tobytes() == np.array(expected, "f4").tobytes(), reduce


def test_16_bit_floats_are_rounded_once(place):
    target, index = np.array([2048], "f2"), np.zeros(4, int)
    assert put_at(place, target, index, np.ones(4, "f2"), reduce="add").tolist() == [2052]
    np.add.at(target, index, np.float16(1))
    assert target.tolist() == [2048]


def test_mean_counts_the_element(place):
    result = put_at(place, np.array([1.0, 5.0]), [0, 0], [2.0, 6.0], reduce="mean")
    assert result.tolist() == [3, 5]


def test_unique(place, rng):
    target, index, values = rng.random(500), rng.permutation(500)[:300], rng.random(300)
    for reduce in scatter_oracle.REDUCTIONS:
        expected = scatter_oracle.scatter(target, index, values, 0, "raise", reduce)
        result = put_at(place, target, index, values, reduce=reduce, unique=True)
        assert np.array_equal(result.view(expected.dtype), expected)


@pytest.mark.parametrize(
    ("dtype", "reduce"),
    [
        (dtype, reduce)
        for dtype in ("i4", "i8", "f4", "f8")
        for reduce in (None, *scatter_oracle.reductions_of(np.dtype(dtype)))
    ],
)
def test_duplicates_that_are_called_unique(place, rng, reduce, dtype):
    """Elements with several values are unspecified: here no more than that these alone are in them.
    Other elements are right, and memory around the target is left alone."""
    numbers = rng.choice([0, 1, 2, 7, 20], 3000)  # of the values of an element: 1, 2, 4, 8 ...
    first = np.cumsum(numbers) - numbers
    order = rng.permutation(numbers.sum())
    index = np.repeat(np.arange(3000), numbers)[order]
    values = (2 ** (np.arange(len(order)) - np.repeat(first, numbers)))[order].astype(dtype)
    before = np.pad(np.zeros(3000, dtype), 100, constant_values=3)
    memory = place.put(before.copy())
    target, others = memory[100:-100], (place.put(index), place.put(values))
    scatter(target, *others, reduce=reduce, unique=True, **place.options)
    after = place.take(memory)
    found, several = after[100:-100], numbers > 1
    assert (after[:100] == 3).all()
    assert (after[-100:] == 3).all()
    assert (found[numbers == 0] == 0).all()
    one = {None: 1, "add": 1, "multiply": 0, "min": 0, "max": 1, "mean": 0.5}[reduce]
    assert (found[numbers == 1] == one).all()
    fraction, power = np.frexp(found[several].astype(float))
    if reduce in (None, "max"):
        assert (fraction == 0.5).all()  # a power of two
    if reduce in (None, "max", "add"):  # a sum of some of the values
        assert (found[several] % 1 == 0).all()
        assert ((power >= 1) & (power <= numbers[several])).all()


# ---- values, targets, out ----


def test_values_convert_without_changing_kind(place):
    target = place.put(np.zeros(3, "f4"))
    scatter(target, [0, 1], 2, **place.options)
    scatter(target, 2, np.float64(0.5), **place.options)
    scatter(target, [1], [True], reduce="add", **place.options)
    assert place.take(target).tolist() == [2, 3, 0.5]
    for values in (0.5, [0.5, 1], 1j, "a", [None], np.float32(1)):
        with pytest.raises(TypeError, match=r"^scatter: values: "):
            scatter(np.zeros(3, int), [0, 1], values)
    with pytest.raises(OverflowError, match=r"^scatter: values: .* 300 out of bounds"):
        scatter(np.zeros(3, "u1"), [0, 1], [1, 300])
    assert scatter(np.zeros(3, "u1"), [0, 1], [1, 200]).tolist() == [1, 200, 0]
    with pytest.raises(TypeError, match="values must have the target's dtype float64, got"):
        scatter(np.zeros(3), [0, 1], np.ones(2, "f4"))


def test_lists_of_large_integers():
    assert scatter(np.zeros(2, "u8"), [0, 1], [2**63 + 1, 1]).tolist() == [2**63 + 1, 1]
    assert scatter(np.zeros(2), [0, 1], [2**70, 1]).tolist() == [2**70, 1]
    for dtype, values in (
        ("u8", [2**64, 1]),
        ("u8", [2**63, -1]),
        ("i8", [2**63, 1]),
        ("u1", [np.int64(300), 1]),
        ("u1", [np.int64(-1), 1]),
    ):
        with pytest.raises(OverflowError, match=r"^scatter: values: "):
            scatter(np.zeros(2, dtype), [0, 1], values)
    with pytest.raises(TypeError, match=r"^scatter: values: "):
        scatter(np.zeros(2, "i8"), [0, 1], [2**63, 0.5])


@pytest.mark.parametrize("order", "<>")
def test_a_put_to_a_byte_swapped_target_writes_in_place(order):
    target = np.zeros(1_000_000, f"{order}f8")
    tracemalloc.start()
    for values in (1.5, [2.5], np.array([3.5]), np.array([4.5], ">f8")):
        assert scatter(target, [7], values) is target
        assert target[7] == np.ravel(values)[0]
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()
    scatter(target, [7], 2.0, reduce="add")
    assert target[6:9].tolist() == [0, 6.5, 0]


@pytest.mark.parametrize("dtype", list("?bhilqBHILQefdFD"))
@pytest.mark.parametrize(
    "value", [3, -3, True, 2.5, 1e38, -1e300, 2**53 + 1, 2**70, np.inf, np.nan, 1j], ids=repr
)
def test_a_number_becomes_an_element_as_in_numpy(dtype, value):
    expected, error = np.zeros(1, dtype), None
    with np.errstate(all="ignore"):
        try:
            np.copyto(expected, value, casting="same_kind")
        except (TypeError, OverflowError) as refused:
            error = type(refused)
        if error is None:
            assert scatter(np.ones(1, dtype), [0], value).tobytes() == expected.tobytes()
        else:
            with pytest.raises(error, match=r"^scatter: values: "):
                scatter(np.ones(1, dtype), [0], value)


def test_a_number_that_overflows_warns_as_in_numpy():
    with pytest.warns(RuntimeWarning, match="overflow"):
        scatter(np.ones(1, "f4"), [0], 1e300)


def test_values_broadcast(place):
    target = np.zeros((2, 3))
    assert put_at(place, target, [1, 0], 7.0).tolist() == [[7] * 3] * 2
    assert put_at(place, target, [1, 0], [1.0, 2, 3]).tolist() == [[1, 2, 3]] * 2
    assert put_at(place, target, [1, 0], [[1.0], [2]]).tolist() == [[2] * 3, [1] * 3]
    assert put_at(place, target, [0, 2], [[1.0], [2]], axis=1).tolist() == [[1, 0, 1], [2, 0, 2]]
    with pytest.raises(ValueError, match=r"scatter: values must broadcast to shape \(2, 3\), got "):
        scatter(target, [1, 0], np.ones((3, 2)))


def test_out_leaves_the_target_unchanged(place, rng):
    target, values = rng.random((50, 3)), rng.random((80, 3))
    index = rng.integers(0, 50, 80)
    arrays = place.put(target), place.put(index), place.put(values)
    out = place.put(np.full((50, 3), 9.0))
    assert scatter(*arrays, reduce="add", out=out, **place.options) is out
    expected = scatter_oracle.scatter(target, index, values, 0, "raise", "add")
    assert place.take(out).tobytes() == expected.tobytes()
    assert np.array_equal(place.take(arrays[0]), target)
    nothing = place.put(np.zeros(0, int)), place.put(np.zeros((0, 3)))
    scatter(arrays[0], *nothing, out=out, **place.options)
    assert np.array_equal(place.take(out), target)
    assert scatter(*arrays, out=arrays[0], **place.options) is arrays[0]


def test_overlap_is_that_of_separate_memory():
    data = np.arange(6.0)
    assert scatter(data, [1, 2, 3, 4, 5], data[:5]).tolist() == [0, 0, 1, 2, 3, 4]
    index = np.arange(6)[::-1].copy()
    assert scatter(index, index, index).tolist() == [0, 1, 2, 3, 4, 5]
    memory = np.arange(8.0)
    scatter(memory[:6], [0, 0], [10.0, 20], reduce="add", out=memory[2:])
    assert memory.tolist() == [0, 1, 30, 1, 2, 3, 4, 5]


def test_any_layout_of_the_target(rng):
    records = np.zeros((4, 6), "u1,f8")
    base = rng.random((8, 9))
    views = {"field": records["f1"], "reversed": base[::-2, ::3], "transposed": base.T,
             "swapped": rng.random((4, 3)).astype(">f8")}  # fmt: skip
    for name, target in views.items():
        before = target.copy()
        index = rng.integers(-target.shape[0], target.shape[0], 50)
        values = rng.random((50, target.shape[1]))
        expected = scatter_oracle.scatter(before, index, values, 0, "raise", "add")
        assert scatter(target, index, values.astype(target.dtype), reduce="add") is target
        assert np.array_equal(target, expected), name


def test_subclasses_of_ndarray():
    matrix = np.zeros((2, 3)).view(np.matrix)
    assert scatter(matrix, [1], [[1.0, 2, 3]]) is matrix
    assert matrix.tolist() == [[0, 0, 0], [1, 2, 3]]

    class Meters(np.ndarray):
        """As arrays with units."""

        def __array_ufunc__(self, *args, **kwargs):
            raise TypeError("units differ")

    good, masked, units = np.zeros(3), np.ma.zeros(3), np.zeros(3).view(Meters)
    for words, arguments in [
        ("target must not be a masked array", (masked, [0], 1.0)),
        ("values must not be a masked array", (good, [0, 1, 2], masked)),
        ("index must not be a masked array", (good, np.ma.array([0]), 1.0)),
        ("target must not be a Meters, which overrides __array_ufunc__", (units, [0], 1.0)),
        ("values must not be a Meters", (good, [0, 1, 2], units)),
    ]:
        for out in (None, np.zeros(3)):
            with pytest.raises(TypeError, match=f"^scatter: {words}"):
                scatter(*arguments, out=out)


# ---- libraries, explain ----


def test_a_dtype_of_a_new_class():
    """Which has no type number of NumPy's."""
    dtype = np._core._multiarray_umath._get_sfloat_dtype()()
    values = np.arange(4.0).view(dtype)
    target = np.zeros(4).view(dtype)
    assert scatter(target, [2, 0], gpukern.gather(values, [1, 3])) is target
    assert target.view(float).tolist() == [3, 0, 1, 0]
    with pytest.raises(TypeError, match=r"^saxpy: x must be of a dtype that saxpy computes with, "):
        gpukern.saxpy(1.0, values, values)


def test_explain():
    target = np.zeros(100_000)
    explanation = explain(scatter, target, np.zeros(1000, int), 1.0, reduce="add")
    assert explanation.op == "scatter"
    assert explanation.path in ("items", "partitioned")
    assert explanation.bytes_written == 1000 * 8
    assert (target == 0).all()
    with pytest.raises(TypeError, match=r"^scatter: target must not be a masked array"):
        explain(scatter, np.ma.zeros(3), [0], 1.0)


def test_docstring():
    for words in ("'wrap': modulo n.", "reduce : {None, 'add'", "progress : callable, optional\n"):
        assert scatter.__doc__.count(words) == 1
