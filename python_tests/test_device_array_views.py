# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Views of DeviceArrays: indexing and reshape, as NumPy's."""

import gc
import re
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpukern

DEVICES = ["cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)]
SHAPE = (3, 4, 5)

parts = st.one_of(
    st.integers(-6, 6),
    st.builds(slice, *[st.none() | st.integers(-7, 7)] * 2, st.sampled_from([None, 1, 2, -1, -3])),
    st.none(),
    st.just(...),
    st.integers(-3, 2).map(np.int64),
)


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def numbers(device, dtype="f4", shape=SHAPE):
    """An array of different values, on the host and on a device."""
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    return array, gpukern.to_device(array, device)


@given(st.lists(parts, max_size=5).map(tuple) | parts)
def test_indexing_is_that_of_numpy(key):
    array, there = numbers("cpu")
    try:
        expected = array[key]
    except IndexError as error:
        with pytest.raises(IndexError, match=f"^{re.escape(str(error))}$"):
            there[key]
        return
    view = there[key]
    assert isinstance(view, gpukern.DeviceArray)
    assert view.shape == np.shape(expected)
    assert view.dtype == array.dtype
    np.testing.assert_array_equal(view.numpy(), expected)


@pytest.mark.parametrize("dtype", ["?", "f2", ">f8", "S3", "i1,f8"])
def test_views_of_any_dtype_on_any_device(device, dtype, rng):
    array = rng.integers(0, 256, 24 * 16, "u1")
    dtype = np.dtype(dtype)
    array = array[: 24 * dtype.itemsize].copy().view(dtype).reshape(4, 6)
    there = gpukern.to_device(array, device)
    for key in (1, (..., 2), (slice(None, None, -2), slice(1, 5)), (..., None, 3), (2, 3, ...)):
        assert there[key].numpy().tobytes() == array[key].tobytes()
    for shape in ((24,), (-1, 3), (2, 3, 4), (1, 24, 1)):
        assert there.reshape(shape).numpy().tobytes() == array.tobytes()
        assert there[:, ::2].reshape(-1).numpy().tobytes() == array[:, ::2].tobytes()


def test_views_share_memory_and_keep_it(device):
    array, there = numbers(device)
    view = there[1:, ::2, -1][0]
    gpukern.copyto(view, np.float32([-1, -2]))
    array[1, ::2, -1] = -1, -2
    assert np.array_equal(there.numpy(), array)
    gpukern.saxpy(2, view, view, out=there.reshape(-1)[:2])
    assert there[0, 0, :2].numpy().tolist() == [-3, -6]
    owner = weakref.ref(there)
    del there
    gc.collect()
    assert owner() is not None
    assert view.numpy().tolist() == [-1, -2]
    del view
    gc.collect()
    assert owner() is None


def test_reshape_of_a_part_that_is_not_contiguous_copies(device):
    array, there = numbers(device)
    copy = there[:, 1].reshape(15)
    assert np.array_equal(copy.numpy(), array[:, 1].reshape(15))
    gpukern.copyto(copy, np.zeros(15, "f4"))
    assert np.array_equal(there.numpy(), array)
    assert there[1].reshape(20).numpy().tolist() == array[1].reshape(20).tolist()


def test_errors_are_those_of_numpy():
    _, there = numbers("cpu")
    with pytest.raises(ValueError, match=r"cannot reshape array of size 60 into shape \(7,\)"):
        there.reshape(7)
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        there[3]
    for key in ([0, 1], np.array([1]), True, np.array(True), "x", 1.0, (0, [1])):
        with pytest.raises(TypeError, match=r"indexed by ints, slices, \.\.\. and None, got"):
            there[key]
    with pytest.raises(TypeError):
        there[0] = 1
    for key in (3, (0, 0, 0, 0), (..., ...), 2**70, slice(None, None, 0)):
        with pytest.raises((IndexError, ValueError)) as raised:
            there[key]
        assert isinstance(raised.value, gpukern.GpukernError)
    for shape in (7, "a", (2, 2**70)):
        with pytest.raises(gpukern.GpukernError):
            there.reshape(shape)
    with pytest.raises(gpukern.GpukernError, match="slice indices must be integers"):
        there[1.5:]
    assert there[0, 0, 0].reshape().shape == ()


def test_iteration_and_empty_views(device):
    array, there = numbers(device)
    assert [row.numpy().tolist() for row in there] == array.tolist()
    assert there[:0].shape == (0, 4, 5)
    assert there[:0].numpy().shape == (0, 4, 5)
    assert gpukern.empty((0, 3), device=device)[:, 1].numpy().shape == (0,)


def test_operations_take_views(device, rng):
    array, there = numbers(device)
    index = gpukern.to_device(np.array([[2, 0, -1], [1, 1, 1]]), device)
    assert np.array_equal(
        gpukern.gather(there[:, ::-1, 1], index[0, ::2], axis=1).numpy(),
        array[:, ::-1, 1][:, [2, -1]],
    )
    doubled = gpukern.elementwise("2 * x")(there[..., 1:3])
    assert np.array_equal(np.asarray(doubled.numpy()), 2 * array[..., 1:3])
    assert np.array_equal(
        gpukern.saxpy(3, there[0].reshape(5, 4)[::2], there[1].reshape(5, 4)[::2]).numpy(),
        3 * array[0].reshape(5, 4)[::2] + array[1].reshape(5, 4)[::2],
    )


def test_views_speak_dlpack():
    array, there = numbers("cpu")
    view = there[1:, ::-2, 2]
    assert np.array_equal(np.from_dlpack(view), array[1:, ::-2, 2])
    assert np.shares_memory(np.from_dlpack(view), np.from_dlpack(there))


@pytest.mark.gpu
def test_views_have_the_cuda_array_interface():
    _, there = numbers("cuda:0")
    view = there[1:, ::2, 3]
    interface, base = view.__cuda_array_interface__, there.__cuda_array_interface__
    assert interface["strides"] == (80, 40)
    assert interface["data"][0] - base["data"][0] == 4 * (20 + 3)
    assert there[1].__cuda_array_interface__["strides"] is None


@pytest.mark.gpu
def test_streams_of_views_are_ordered():
    _, there = numbers("cuda:0", shape=(1 << 22,))
    for stream in (1, 2) * 20:
        half = there[: 1 << 21] if stream == 1 else there[1 << 20 :]
        gpukern.saxpy(0, half, half, out=half, stream=stream)
        gpukern.saxpy(1, there, there, out=there, stream=3 - stream)
    assert there[5].numpy() == 5 * 2.0**40
