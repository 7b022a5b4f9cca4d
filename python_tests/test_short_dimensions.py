# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Arrays whose innermost dimension is short, as channels of pixels are."""

import itertools

import numpy as np
import pytest
from places import on_gpu

import gpukern

SHAPES = ((300, 3), (40, 70, 3), (3, 33, 2, 5), (4, 257, 15))


def layouts(rng, shape, dtype):
    """Arrays of a shape in every order of axes, reversed, as fields, with repeated elements."""

    def small(shape):  # sums of their products are exact in every dtype
        return rng.integers(0, 30, shape).astype(dtype)

    for axes in itertools.permutations(range(len(shape))):
        yield small([shape[axis] for axis in axes]).transpose(np.argsort(axes))
    yield small(shape)[..., ::-1]
    yield small((*shape[:-1], shape[-1] + 2))[..., 1:-1]
    yield np.broadcast_to(small(shape[-1:]), shape)
    yield np.broadcast_to(small((*shape[:-1], 1)), shape)
    records = np.zeros(shape, [("value", dtype), ("flag", "i1")])
    records["value"] = small(shape)
    yield records["value"]


@pytest.mark.parametrize("dtype", ["f4", "f2", "f8"])
@pytest.mark.parametrize("shape", [*SHAPES, (90, 67, 2), (5, 40, 143), (3, 1061)], ids=str)
def test_arithmetic(place, rng, shape, dtype):
    y = rng.integers(0, 30, shape).astype(dtype)
    z = rng.integers(0, 30, shape).astype(dtype)
    for x in layouts(rng, shape, dtype):
        given = place.put(x)
        for result, expected in (
            (gpukern.saxpy(2, given, place.put(y), **place.options), 2 * x + y),
            (gpukern.axpby(2, given, 3, place.put(y), **place.options), 2 * x + 3 * y),
            (gpukern.fma(given, place.put(y), place.put(z), **place.options), x * y + z),
        ):
            assert np.array_equal(place.take(result), expected)


@pytest.mark.parametrize("dtype", ["u1", "f4", "c16", "V3"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_indexing(place, rng, shape, dtype):
    as_numbers = np.dtype(dtype).kind != "V"
    for numbers in layouts(rng, shape, dtype if as_numbers else "u1"):
        array = numbers
        if not as_numbers:
            array = np.stack([numbers, numbers + 1, numbers], -1).view(dtype)[..., 0]
        given = place.put(array)
        for axis in range(array.ndim):
            n = array.shape[axis]
            index = rng.integers(-n, n, n + 40)
            result = gpukern.gather(given, place.put(index), axis=axis, **place.options)
            assert place.take(result).tobytes() == np.take(array, index, axis).tobytes()
            outside = np.append(index, [n, -n - 1])
            fill = array.reshape(-1)[0]
            result = gpukern.gather(
                given, place.put(outside), axis=axis, mode="fill", fill_value=fill, **place.options
            )
            expected = np.take(array, np.append(index, [0, 0]), axis)
            expected[(slice(None),) * axis + (slice(-2, None),)] = fill
            assert place.take(result).tobytes() == expected.tobytes()
            index = rng.integers(-n, n, array.shape)
            result = gpukern.take_along_axis(given, place.put(index), axis, **place.options)
            assert place.take(result).tobytes() == np.take_along_axis(array, index, axis).tobytes()


def check_selections(given, x, put, take):
    """By the elements of `given`, which are those of x, and by other masks of them."""
    assert gpukern.count_nonzero(given) == np.count_nonzero(x)
    for found, expected in zip(gpukern.nonzero(given), np.nonzero(x), strict=True):
        assert np.array_equal(take(found), expected)
    odd = x.real % 2 == 1
    part = x.size // 2
    beginning = odd.reshape(-1)[:part]
    for mask, expected in (
        (given, x[x != 0]),
        (put(odd), x[odd]),
        (put(beginning), x.reshape(-1)[:part][beginning]),
    ):
        assert np.array_equal(take(gpukern.compress(mask, given)), expected)
        padded = gpukern.compress(mask, given, size=len(expected) + 3, fill_value=77)
        assert np.array_equal(take(padded), np.append(expected, [77, 77, 77]))
        part = len(expected) // 2
        assert np.array_equal(take(gpukern.compress(mask, given, size=part)), expected[:part])


@pytest.mark.parametrize("dtype", ["u1", "f4", "c16"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_writes(rng, shape, dtype):
    values = rng.integers(0, 50, shape).astype(dtype)
    for array in layouts(rng, shape, dtype):
        check_selections(array, array, np.asarray, np.asarray)
        for axis in range(array.ndim):
            order = rng.permutation(array.shape[axis])
            expected = np.array(array)
            where = (slice(None),) * axis + (order,)
            expected[where] = values
            out = np.empty_like(array)
            gpukern.scatter(array, order, values, axis=axis, out=out)
            assert np.array_equal(out, expected)
            if array.flags.writeable:
                gpukern.scatter(array, order, values, axis=axis)
                assert np.array_equal(array, expected)
        if array.flags.writeable:
            gpukern.copyto(array, values)
            assert np.array_equal(array, values)


def check_on_gpu(rng, x):
    """Every operation on the layout of x, beside NumPy."""

    def put(array):
        return gpukern.to_device(array, device="cuda")

    y = rng.integers(0, 30, x.shape).astype(x.dtype)
    given, given_y = on_gpu(x), put(y)
    check_selections(given, x, put, gpukern.DeviceArray.numpy)
    out = gpukern.empty(x.shape, x.dtype, device="cuda")
    gpukern.copyto(out, given)
    assert np.array_equal(out.numpy(), x)
    if x.dtype.kind == "f":
        assert np.array_equal(gpukern.saxpy(2, given, given_y).numpy(), 2 * x + y)
        assert np.array_equal(gpukern.axpby(2, given, 3, given_y).numpy(), 2 * x + 3 * y)
        assert np.array_equal(gpukern.fma(given, given_y, 3).numpy(), x * y + 3)
    for axis in range(x.ndim):
        index = rng.integers(-x.shape[axis], x.shape[axis], 50)
        result = gpukern.gather(given, put(index), axis=axis)
        assert np.array_equal(result.numpy(), np.take(x, index, axis))
    if 0 in x.strides:
        return
    order = rng.permutation(x.shape[0])
    along = rng.integers(0, x.shape[-1], x.shape)
    sums = x.copy()
    np.add.at(sums, (*np.indices(x.shape)[:-1], along), y)
    for unique in (False, True):
        for reduce, expected in ((None, y), ("add", y + x[order])):
            target = on_gpu(x)
            gpukern.scatter(target, put(order), given_y, reduce=reduce, unique=unique)
            gpukern.copyto(out, target)
            assert np.array_equal(out.numpy()[order], expected)
    places = np.argsort(rng.random(x.shape), -1)
    written = x.copy()
    np.put_along_axis(written, places, y, -1)
    for index, options, expected in (
        (along, {"reduce": "add"}, sums),
        (along, {"reduce": "add", "order": "any"}, sums),
        (places, {}, written),
    ):
        target = on_gpu(x)
        gpukern.put_along_axis(target, put(index), given_y, -1, **options)
        gpukern.copyto(out, target)
        assert np.array_equal(out.numpy(), expected)
    gpukern.copyto(target, given_y)
    gpukern.copyto(out, target)
    assert np.array_equal(out.numpy(), y)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_layouts_on_a_gpu(rng, shape, dtype):
    for x in layouts(rng, shape, dtype):
        if all(stride % x.itemsize == 0 for stride in x.strides):  # others are the host's
            check_on_gpu(rng, x)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["u1", "f4"])
def test_many_dimensions_on_a_gpu(rng, dtype):
    x = rng.integers(0, 3, (2,) * 11).astype(dtype)
    check_on_gpu(rng, x.T)
    check_on_gpu(rng, x[:, ::-1].transpose(rng.permutation(11)))


@pytest.mark.gpu
def test_an_index_of_many_dimensions_on_a_gpu(rng):
    axes = rng.permutation(11)
    numbers = rng.permutation(2**11).reshape((2,) * 11)
    index, repeated = numbers.transpose(axes), (numbers % 7).transpose(axes)
    values = rng.integers(0, 30, (2,) * 11).astype("f4").T
    given_index, given_values = on_gpu(index), on_gpu(values)
    source = rng.integers(0, 30, 2**11).astype("f4")
    given = gpukern.to_device(source, device="cuda")
    assert np.array_equal(gpukern.gather(given, given_index).numpy(), source[index])
    gpukern.scatter(given, given_index, given_values, reduce="add", unique=True)
    source[index] += values
    assert np.array_equal(given.numpy(), source)
    gpukern.scatter(given, given_index, given_values)
    source[index] = values
    assert np.array_equal(given.numpy(), source)
    few = gpukern.to_device(np.zeros(7, "f4"), device="cuda")
    gpukern.scatter(few, on_gpu(repeated), given_values, reduce="add")
    assert np.array_equal(few.numpy(), np.bincount(repeated.ravel(), values.ravel()))
    index[0, 1, 1] += 2**11
    with pytest.raises(IndexError, match=f"index {index[0, 1, 1].flat[0]} is out of bounds"):
        gpukern.gather(given, on_gpu(index))


@pytest.mark.gpu
@pytest.mark.parametrize("axes", [(2, 0, 1), (0, 2, 1), (2, 1, 0)])
def test_the_first_bad_index_on_a_gpu(rng, axes):
    index = rng.integers(0, 9, (50, 300, 40)).transpose(axes)
    index[7, 11, 13], index[7, 11, 14], index[23, 0, 0] = 100, 101, 102
    given = on_gpu(index)
    source = gpukern.to_device(np.arange(9.0), device="cuda")
    with pytest.raises(IndexError, match="index 100 is out of bounds"):
        gpukern.gather(source, given)
    result = gpukern.gather(source, given, mode="fill", fill_value=-1)
    assert np.array_equal(result.numpy(), np.where(index < 9, index, -1))


@pytest.mark.gpu
@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (0, 2, 1), (2, 1, 0)])
@pytest.mark.parametrize("repeated", [None, 0, 1, 2])
def test_the_position_of_a_bad_index_on_a_gpu(rng, axes, repeated):
    shape = [50, 300, 40]
    if repeated is not None:
        shape[repeated] = 1
    index = rng.integers(0, 9, shape)[..., ::-1]
    index.flat[[60, 61, 300]] = 100, 101, 102
    index = np.broadcast_to(index, (50, 300, 40)).transpose(axes)
    first = np.flatnonzero(index > 8)[0]
    source = gpukern.to_device(np.arange(9.0), device="cuda")
    words = f"index {index.flat[first]} is out of bounds .*gather, index {first} in C order"
    with pytest.raises(IndexError, match=words), gpukern.deferred_errors():
        gpukern.gather(source, on_gpu(index))
    with pytest.raises(IndexError, match=f"index {index.flat[first]} is out of bounds"):
        gpukern.gather(source, on_gpu(index))


@pytest.mark.gpu
def test_the_first_of_many_bad_indices_on_a_gpu():
    index = np.zeros((1300, 1700), np.int32).T
    source = gpukern.to_device(np.arange(9.0), device="cuda")
    for at in (2_200_000, 1_572_964, 524_388, 100):  # one thread may have several of these
        index[np.unravel_index(at, index.shape)] = at + 9
        with pytest.raises(IndexError, match=f"index {at + 9} is out of bounds"):
            gpukern.gather(source, on_gpu(index))
