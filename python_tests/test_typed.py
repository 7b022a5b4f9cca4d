# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The functions on typed memoryviews, from Python."""

import array

import numpy as np
import pytest

import gpukern
from gpukern import typed

ITEMS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"]
NUMBERS = ["f4", "f8", "c8", "c16", "i4", "i8"]
FLOATS = ["f2", "f4", "f8"]


@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("step", [1, 2, -3])
def test_gather_into(rng, item, index_dtype, step):
    source = rng.integers(0, 100, 99).astype(item)[::step]
    source.flags.writeable = False
    index = rng.integers(-len(source), len(source), 40).astype(index_dtype)[::step]
    out = np.zeros(120, item)[::3][: len(index)]
    assert typed.gather_into(source, index, out) is None
    assert np.array_equal(out, source[index])


@pytest.mark.parametrize("item", ITEMS)
def test_gather_rows_into(rng, item):
    source = rng.integers(0, 100, (9, 14)).astype(item)
    index = rng.integers(-9, 9, 20)
    for view in (source, source[:, ::2], source[::-1], np.asfortranarray(source)):
        out = np.zeros((20, view.shape[1]), item)
        typed.gather_rows_into(view, index, out)
        assert np.array_equal(out, view[index])


@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("step", [1, 2, -3])
def test_scatter_into(rng, item, index_dtype, step):
    target = rng.integers(0, 100, 99).astype(item)
    index = rng.integers(-9, 9, 40).astype(index_dtype)[::step]
    values = rng.integers(0, 100, 120).astype(item)[::3][: len(index)]
    values.flags.writeable = False
    view, expected = target[::step], target[::step].copy()
    assert typed.scatter_into(view, index, values) is None
    gpukern.scatter(expected, index, values)
    typed.scatter_into(view, index, values, reduce=1)
    np.add.at(expected, index, values)
    assert np.array_equal(view, expected)


@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@pytest.mark.parametrize("number", NUMBERS)
def test_reductions_of_bags(rng, number, index_dtype):
    table = rng.integers(0, 100, (18, 5)).astype(number)[::2]
    index = rng.integers(-9, 9, 30).astype(index_dtype)
    offsets = np.array([0, 3, 3, 30], index_dtype)
    out = np.zeros((6, 5), number)[::2]
    assert typed.gather_reduce_rows_into(table, index, offsets, out) is None
    assert np.array_equal(out, gpukern.gather_reduce(table, index, offsets))
    typed.segment_reduce_rows_into(table, offsets, out, mode=2)
    assert np.array_equal(out, gpukern.segment_reduce(table, offsets, mode="clip"))
    with pytest.raises(ValueError, match="segment_reduce: offsets must be in"):
        typed.segment_reduce_rows_into(table, offsets, out)


@pytest.mark.parametrize("item", ITEMS)
def test_scatter_rows_into(rng, item):
    values = rng.integers(0, 100, (20, 7)).astype(item)
    index = rng.integers(-12, 12, 20)
    for table in (
        np.zeros((9, 7), item),
        np.zeros((9, 14), item)[:, ::2],
        np.zeros((7, 9), item).T,
    ):
        typed.scatter_rows_into(table, index, values, 1, 1)
        expected = np.zeros((9, 7), item)
        np.add.at(expected, index % 9, values)
        assert np.array_equal(table, expected)


@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("ndim", [2, 3])
def test_several_indices(rng, item, index_dtype, ndim):
    shape = (9, 8, 7)[:ndim]
    table = rng.integers(0, 100, shape).astype(item)[::-1]
    index = tuple(rng.integers(-n, n, 50).astype(index_dtype)[::2] for n in shape)
    gather = typed.gather_pairs_into if ndim == 2 else typed.gather_triples_into
    scatter = typed.scatter_pairs_into if ndim == 2 else typed.scatter_triples_into
    out = np.zeros(50, item)[::2]
    assert gather(table, *index, out) is None
    assert np.array_equal(out, table[index])
    expected = table.copy()
    np.add.at(expected, index, out)
    assert scatter(table, *index, out, reduce=1) is None
    assert np.array_equal(table, expected)


def test_modes_apply_to_each_index():
    table, rows, columns = np.arange(6.0).reshape(2, 3), np.array([-1, 2, 0]), np.array([0, 1, 9])
    for mode, name in enumerate(("wrap", "clip", "fill"), 1):
        out = np.zeros(3)
        typed.gather_pairs_into(table, rows, columns, out, mode)
        assert np.array_equal(out, gpukern.gather(table, (rows, columns), mode=name))
        ours, expected = table.copy(), table.copy()
        typed.scatter_pairs_into(ours, rows, columns, np.full(3, 7.0), mode)
        gpukern.scatter(expected, (rows, columns), 7.0, mode=name)
        assert np.array_equal(ours, expected)
    with pytest.raises(IndexError, match=r"index 2 is out of bounds for axis 0 with size 2"):
        typed.gather_pairs_into(table, rows, columns, np.zeros(3))
    with pytest.raises(IndexError, match=r"index 9 is out of bounds for axis 2 with size 3"):
        typed.gather_triples_into(
            table[None], columns[:1], columns[:1], columns[2:], np.zeros(1), 0
        )


@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_along_an_axis(rng, item, index_dtype, axis):
    table = rng.integers(0, 100, (6, 14)).astype(item)[:, ::2]
    index = rng.integers(-6, 6, (6, 7)).astype(index_dtype)
    out = np.zeros((6, 7), item)
    assert typed.take_along_axis_into(table, index, axis, out) is None
    assert np.array_equal(out, np.take_along_axis(table, index, axis))
    expected = table.copy()
    gpukern.put_along_axis(expected, index, out, axis, reduce="add")
    assert typed.put_along_axis_into(table, index, out, axis, reduce=1) is None
    assert np.array_equal(table, expected)
    typed.put_along_axis_into(table, index + 6, out, axis, mode=3)
    gpukern.put_along_axis(expected, index + 6, out, axis, mode="fill")
    assert np.array_equal(table, expected)


@pytest.mark.parametrize("index_dtype", ["i1", "i4", "i8", "u2", "u8"])
def test_bincount_into(rng, index_dtype):
    index = rng.integers(0, 9, 200).astype(index_dtype)[::-2]
    out = np.full(24, 7)[::2]
    assert typed.bincount_into(index, out) is None
    assert np.array_equal(out, np.bincount(index, minlength=12))
    typed.bincount_into(index, out[:5], mode=3)
    assert np.array_equal(out[:5], np.bincount(index[index < 5], minlength=5))


def test_bincount_refuses_numbers_out_of_bounds():
    out = np.full(3, 7)
    for number in (-1, 3):
        with pytest.raises(IndexError, match=rf"^bincount: index must be in .* got {number}$"):
            typed.bincount_into(np.array([0, number]), out)
        assert np.array_equal(out, [7, 7, 7])
    typed.bincount_into(np.array([0, -1, 3]), out, mode=3)
    assert np.array_equal(out, [1, 0, 0])
    with pytest.raises(ValueError, match=r"^bincount: mode must be 0 \(raise\) or 3 \(fill\)"):
        typed.bincount_into(np.array([0]), out, mode=1)
    with pytest.raises(IndexError, match=r"index must be in \[0, 129\), got -128$"):
        typed.bincount_into(np.array([-128], "i1"), np.zeros(129, int))
    with pytest.raises(TypeError, match=r"^bincount: out must be of dtype int64, got float64$"):
        typed.bincount_into(np.array([0]), np.zeros(3))
    with pytest.raises(TypeError, match=r"^bincount: index must be of an integer dtype, got >i8$"):
        typed.bincount_into(np.array([0], ">i8"), np.zeros(3, int))


@pytest.mark.parametrize("size", [0, 3, 50])
@pytest.mark.parametrize("item", ITEMS)
def test_selection(rng, item, size):
    mask = rng.random(80)[::-2] < 0.5
    x = rng.integers(1, 100, 80).astype(item)[::2]
    count = np.count_nonzero(mask)
    assert size == 50 or count > size
    assert typed.count_nonzero(mask) == count
    positions, items = np.full(2 * size, 7)[::2], np.full(2 * size, 7, item)[::2]
    assert typed.nonzero_into(mask, positions) == count
    assert np.array_equal(positions, gpukern.nonzero(mask, size=size)[0])
    assert typed.compress_into(mask, x, items) == count
    assert np.array_equal(items, gpukern.compress(mask, x, size=size))


def test_a_mask_may_have_another_length():
    out = np.full(3, 7.0)
    mask = np.array([0, 1, 1, 0, 1], "u1")[::-1][1:][::-1]
    assert typed.compress_into(mask, np.arange(3.0), out) == 2
    assert np.array_equal(out, [1, 2, 0])
    mask[3] = 1
    with pytest.raises(IndexError, match=r"^compress: mask must be zero beyond the 3 items of x"):
        typed.compress_into(mask, np.arange(3.0), out)
    assert typed.compress_into(mask[:2], np.arange(3.0), out) == 1
    assert np.array_equal(out, [1, 0, 0])


def test_a_selection_may_overwrite_its_mask():
    mask = np.array([0, 1, 0, 1, 1])
    assert typed.nonzero_into(mask, mask) == 3
    assert np.array_equal(mask, [1, 3, 4, 0, 0])
    assert typed.compress_into(mask, mask, mask) == 3


def test_reductions_are_those_of_the_header():
    target, index, values = np.array([2.0, 5.0]), np.array([0, 9]), np.array([4.0, 1.0])
    for number, name in enumerate((None, "add", "multiply", "min", "max", "mean")):
        ours, expected = target.copy(), target.copy()
        typed.scatter_into(ours, index, values, mode=3, reduce=number)
        gpukern.scatter(expected, index, values, mode="fill", reduce=name)
        assert np.array_equal(ours, expected), name


def test_fields_of_packed_records(rng):
    records = np.zeros(9, [("a", "i1"), ("b", "f8")])
    records["b"] = rng.random(9)
    out = np.zeros(4)
    typed.gather_into(records["b"].view(), np.array([8, 0, 3, -1]), out)
    assert np.array_equal(out, records["b"][[8, 0, 3, -1]])
    x, y = records["b"][:4], records["b"][:-5:-1]
    typed.axpby_into(2.0, x, 3.0, y, out)
    assert np.array_equal(out, gpukern.axpby(2.0, x, 3.0, y))
    typed.scatter_into(records["b"], np.array([8]), np.zeros(1))
    assert records["b"][8] == 0


def test_fields_outside_the_view_are_kept():
    index = np.array([0, 1, 0])
    source = np.ones(3, "i4,i4,i4")[["f0", "f2"]]
    for function, arguments in (
        (typed.gather_into, lambda out: (source, index, out)),
        (typed.scatter_into, lambda out: (out, index, source)),
        (typed.compress_into, lambda out: (index == 0, source, out)),
    ):
        records = np.full(3, 7, "i4,i4,i4")
        function(*arguments(records[["f0", "f2"]]))
        assert records[0].tolist() == (1, 7, 1)
        assert np.all(records["f1"] == 7)


def test_fields_of_packed_records_are_compressed():
    records = np.zeros(5, [("a", "i1"), ("b", "f8")])
    records["b"] = np.arange(5)
    out = np.zeros(2)
    assert typed.compress_into(np.arange(5) % 2 == 1, records["b"], out) == 2
    assert np.array_equal(out, [1, 3])
    with pytest.raises(TypeError, match=r"^compress: out must have the x's dtype float64"):
        typed.compress_into(np.ones(5, bool), records["b"], np.zeros(5, "i8"))


def test_modes_are_those_of_the_header(rng):
    source = rng.random(5)
    index = np.array([-9, 7, 2])
    out = np.zeros(3)
    typed.gather_into(source, index, out, 1)
    assert np.array_equal(out, np.take(source, index, mode="wrap"))
    typed.gather_into(source, index, out, 2)
    assert np.array_equal(out, np.take(source, index, mode="clip"))
    typed.gather_into(source, index, out, mode=3)
    assert np.array_equal(out, [0, 0, source[2]])


def test_empty_memoryviews():
    typed.gather_into(np.zeros(0), np.zeros(0, int), np.zeros(0))
    typed.gather_rows_into(np.zeros((0, 3)), np.zeros(0, int), np.zeros((0, 3)))
    typed.scatter_into(np.zeros(0), np.zeros(0, int), np.zeros(0))
    typed.scatter_rows_into(np.zeros((3, 0)), np.array([0]), np.zeros((1, 0)))
    typed.saxpy_into(1.0, np.zeros(0), np.zeros(0), np.zeros(0))
    typed.axpby_into(1.0, np.zeros(0), 1.0, np.zeros(0), np.zeros(0))
    typed.fma_into(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0))
    typed.gather_pairs_into(np.zeros((0, 3)), np.zeros(0, int), np.zeros(0, int), np.zeros(0))
    typed.take_along_axis_into(np.zeros((3, 0)), np.zeros((3, 0), int), 1, np.zeros((3, 0)))
    typed.bincount_into(np.zeros(0, int), np.zeros(0, int))
    typed.bincount_into(np.array([1]), np.zeros(0, int), 3)
    assert typed.count_nonzero(np.zeros(0, bool)) == 0
    assert typed.nonzero_into(np.zeros(0, bool), np.zeros(0, int)) == 0
    assert typed.compress_into(np.zeros(3, bool), np.zeros(0), np.zeros(0)) == 0


def test_errors_are_those_of_the_functions():
    out = np.full(1, 7.0)
    with pytest.raises(IndexError, match=r"^index 5 is out of bounds for axis 0 with size 5$"):
        typed.gather_into(np.zeros(5), np.array([5]), out)
    assert out == 7
    with pytest.raises(ValueError, match=r"^gather: out must have shape \(2,\), got \(1,\)$"):
        typed.gather_into(np.zeros(5), np.array([0, 1]), out)
    with pytest.raises(ValueError, match=r"^gather: out must have shape \(2, 4\), got \(2, 3\)$"):
        typed.gather_rows_into(np.zeros((5, 4)), np.array([0, 1]), np.zeros((2, 3)))
    with pytest.raises(IndexError, match=r"^index 1 is out of bounds for axis 0 with size 1$"):
        typed.scatter_into(out, np.array([0, 1]), np.zeros(2))
    assert out == 7
    with pytest.raises(ValueError, match=r"^scatter: values must broadcast to shape \(2,\), got "):
        typed.scatter_into(np.zeros(5), np.array([0, 1]), np.zeros(3))
    with pytest.raises(gpukern.errors.GpukernValueError, match=r"^saxpy: out must have a shape "):
        typed.saxpy_into(1.0, out, np.zeros(2), out)
    with pytest.raises(ValueError, match=r"^axpby: out must have a shape "):
        typed.axpby_into(1.0, out, 1.0, np.zeros(2), out)
    with pytest.raises(TypeError, match=r"^axpby: b must convert to .* kind"):
        typed.axpby_into(1.0, out, 1j, out, out)
    with pytest.raises(TypeError, match=r"^fma: z must have one of the dtypes float16"):
        typed.fma_into(out, out, np.array([1]), out)
    assert out == 7


def test_buffers_are_checked():
    source, index, out = np.zeros(5), np.array([0]), np.zeros(1)
    constant = np.zeros(1)
    constant.flags.writeable = False
    with pytest.raises(TypeError, match=r"^gather: source must export a buffer, got list$"):
        typed.gather_into([1.0], index, out)
    with pytest.raises(ValueError, match=r"^gather: index must be 1-D, got 2-D$"):
        typed.gather_into(source, index[None], out)
    with pytest.raises(ValueError, match=r"^gather: out is read-only$"):
        typed.gather_into(source, index, constant)
    with pytest.raises(ValueError, match=r"^scatter: target is read-only$"):
        typed.scatter_into(constant, index, out)
    with pytest.raises(TypeError, match=r"^gather: out must have the source's dtype float64"):
        typed.gather_into(source, index, out.astype("f4"))
    with pytest.raises(TypeError, match=r"^gather: index must be of an integer dtype"):
        typed.gather_into(source, out, out)
    with pytest.raises(TypeError, match=r"^gather: source must not be a masked array$"):
        typed.gather_into(np.ma.array(source), index, out)
    with pytest.raises(TypeError, match=r"^scatter: target must hold no Python objects"):
        typed.scatter_into(source.astype(object), index, out.astype(object))


def test_numbers_are_ints():
    x, index, rows = np.zeros(2), np.zeros(2, int), np.zeros((2, 2))
    offsets = np.array([0, 2])
    for function, arguments, name in (
        (typed.gather_into, (x, index, x.copy()), "gather: mode"),
        (typed.scatter_into, (x, index, x), "scatter: mode"),
        (typed.scatter_into, (x, index, x, 0), "scatter: reduce"),
        (typed.take_along_axis_into, (rows, offsets[None]), "take_along_axis: axis"),
        (typed.take_along_axis_into, (rows, offsets[None], 0, rows), "take_along_axis: mode"),
        (typed.put_along_axis_into, (rows, offsets[None], rows), "put_along_axis: axis"),
        (typed.put_along_axis_into, (rows, offsets[None], rows, 0), "put_along_axis: mode"),
        (typed.put_along_axis_into, (rows, offsets[None], rows, 0, 0), "put_along_axis: reduce"),
        (typed.bincount_into, (index, index.copy()), "bincount: mode"),
        (typed.gather_reduce_rows_into, (rows, index, offsets, rows[:1]), "gather_reduce: mode"),
        (typed.segment_reduce_rows_into, (rows, offsets, rows[:1], 0), "segment_reduce: reduce"),
    ):
        rest = (rows,) if name == "take_along_axis: axis" else ()
        for number, kind in (("wrap", "str"), (1.5, "float"), (None, "NoneType")):
            with pytest.raises(TypeError, match=rf"^{name} must be an int, got {kind}$"):
                function(*arguments, number, *rest)
    typed.gather_into(x, index + 2, x.copy(), np.int8(1))
    for number in (-1, 4, 2**40):
        with pytest.raises(ValueError, match=rf"^gather: mode must be .*, got {number}$"):
            typed.gather_into(x, index, x.copy(), number)


@pytest.mark.parametrize("dtype", [">i8", "M8[s]", "f8"])
def test_what_is_no_index_is_named_by_its_dtype(dtype):
    x, index, rows = np.zeros(2), np.zeros(2, dtype), np.zeros((2, 2))
    for function, arguments, name in (
        (typed.gather_into, (x, index, x.copy()), "gather: index"),
        (typed.scatter_pairs_into, (rows, np.zeros(2, int), index, x), "scatter: index"),
        (typed.take_along_axis_into, (rows, index[None], 0, rows), "take_along_axis: index"),
        (typed.put_along_axis_into, (rows, index[None], rows, 0), "put_along_axis: index"),
        (typed.gather_reduce_rows_into, (rows, index, index, rows), "gather_reduce: index"),
        (typed.segment_reduce_rows_into, (rows, index, rows), "segment_reduce: offsets"),
    ):
        with pytest.raises(TypeError, match=rf"^{name} must be of an integer dtype, got ") as error:
            function(*arguments)
        assert str(error.value).endswith(f"got {np.dtype(dtype)}")


def test_buffers_of_other_types():
    out = bytearray(2)
    typed.gather_into(b"abc", array.array("i", [2, 0]), out)
    assert out == b"ca"
    assert typed.count_nonzero(memoryview(b"\0ab")) == 2


def test_a_keeps_its_kind():
    whole, single = np.arange(3), np.zeros(3, "f4")
    for a, x in [(2.9, whole), (2j, single), (True + 0.5, whole.astype("i4"))]:
        with pytest.raises(
            gpukern.errors.GpukernTypeError, match=r"saxpy: a must convert to .* kind"
        ):
            typed.saxpy_into(a, x, x, x.copy())
    with pytest.raises(gpukern.errors.GpukernOverflowError):
        typed.saxpy_into(2**63, whole, whole, whole.copy())
    for a in (np.ones(3), [1, 2, 3]):
        with pytest.raises(TypeError, match=r"^axpby: b must be a number, got (ndarray|list)$"):
            typed.axpby_into(1, single, a, single, single.copy())


@pytest.mark.parametrize("number", NUMBERS)
def test_saxpy_into(rng, number):
    x, y = rng.integers(-9, 9, (2, 50)).astype(number)
    out = np.zeros(50, number)
    typed.saxpy_into(3, x[::2], y[::-2], out[:25])
    assert np.array_equal(out[:25], 3 * x[::2] + y[::-2])
    typed.saxpy_into(3, x, y, x)  # in place
    assert np.array_equal(x[::2], out[:25] - y[::-2] + y[::2])


@pytest.mark.parametrize("number", FLOATS)
@pytest.mark.parametrize("other", FLOATS)
def test_axpby_into(rng, number, other):
    x, y = rng.random(50).astype(number), rng.random(50).astype(other)
    for dtype in FLOATS:
        out = np.zeros(75, dtype)
        assert typed.axpby_into(0.1, x[::2], -3, y[::-2], out[::3]) is None
        expected = gpukern.axpby(0.1, x[::2], -3, y[::-2], out=np.zeros(25, dtype))
        assert np.array_equal(out[::3], expected)
    expected = gpukern.axpby(2, x, 0.7, y, out=np.zeros(50, number))
    typed.axpby_into(2, x, 0.7, y, x)  # in place
    assert np.array_equal(x, expected)


@pytest.mark.parametrize("number", FLOATS)
@pytest.mark.parametrize("other", FLOATS)
def test_fma_into(rng, number, other):
    x, y, z = rng.random(50).astype(number), rng.random(50).astype(other), rng.random(25)
    for dtype in FLOATS:
        out = np.zeros(75, dtype)
        assert typed.fma_into(x[::2], y[::-2], z.astype(number), out[::3]) is None
        expected = gpukern.fma(x[::2], y[::-2], z.astype(number), out=np.zeros(25, dtype))
        assert np.array_equal(out[::3], expected)
    expected = gpukern.fma(x, x, y, out=y.copy())
    typed.fma_into(x, x, y, y)  # in place
    assert np.array_equal(y, expected)


def test_functions_have_their_public_names():
    for name in typed.__all__:
        assert getattr(typed, name).__name__ == name
        assert getattr(typed, name).__doc__
