# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""DeviceArray, to_device and empty."""

import copy
import gc
import pickle
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import gpukern

DEVICES = ["cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)]
DTYPES = ["?", "i1", "u8", "f2", "f4", "c16", ">f4", "M8[ns]", "S5", "U3", "V7", "i1,f8"]


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 0, 2), (2, 3, 5)])
def test_round_trip_keeps_every_byte(rng, device, dtype, shape):
    dtype = np.dtype(dtype)
    array = np.frombuffer(rng.bytes(int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape)
    result = gpukern.to_device(array, device).numpy()
    assert result.dtype == dtype
    assert result.shape == shape
    assert result.tobytes() == array.tobytes()


def test_attributes_are_those_of_numpy(rng, device):
    array = rng.random((2, 3, 5), np.float32)
    there = gpukern.to_device(array, device)
    for name in ("shape", "dtype", "ndim", "size", "itemsize", "nbytes", "strides"):
        assert getattr(there, name) == getattr(array, name), name
    assert len(there) == 2
    assert there.device == device
    assert repr(there) == f"DeviceArray(shape=(2, 3, 5), dtype=float32, device='{device}')"


def test_any_layout_goes_to_a_device(rng, device):
    array = rng.random((6, 8), np.float32)
    records = np.zeros(4, [("a", "i1"), ("b", "f4")])
    records["b"] = rng.random(4)
    for view in (array.T, array[::-1, ::2], np.broadcast_to(array[0], (3, 8)), records["b"]):
        assert np.array_equal(gpukern.to_device(view, device).numpy(), view)


def test_lists_and_device_arrays_go_to_a_device(device):
    there = gpukern.to_device([[1, 2], [3, 4]], device)
    again = gpukern.to_device(there, device)
    assert again is not there
    assert again.numpy().tolist() == [[1, 2], [3, 4]]


def test_numpy_writes_to_out(rng, device):
    array = rng.random((4, 3))
    there = gpukern.to_device(array, device)
    records = np.zeros((4, 3), [("a", "i1"), ("b", "f8")])
    for out in (np.empty((4, 3)), np.empty((3, 4)).T, records["b"]):
        assert there.numpy(out=out) is out
        assert np.array_equal(out, array)


@pytest.mark.parametrize(
    ("out", "error"),
    [
        (np.empty(4), ValueError),
        (np.empty(3, "f4"), TypeError),
        (np.frombuffer(bytes(24), "f8"), ValueError),
        ([0.0, 0.0, 0.0], TypeError),
    ],
)
def test_numpy_refuses_an_out_that_does_not_fit(device, out, error):
    with pytest.raises(error, match=r"^numpy: out ") as caught:
        gpukern.to_device(np.zeros(3), device).numpy(out=out)
    assert isinstance(caught.value, gpukern.GpukernError)


def test_empty_has_the_shape_asked_for(device):
    assert gpukern.empty(3, "i4", device).shape == (3,)
    assert gpukern.empty((), device=device).shape == ()
    assert gpukern.empty((0, 2**40), "i4", device).size == 0
    made = gpukern.empty([2, np.int8(3)], "c8", device)
    assert made.shape == (2, 3)
    assert made.dtype == np.complex64


@pytest.mark.parametrize("shape", [-1, (2, -3), (2**40, 2**40)])
def test_empty_refuses_impossible_shapes(device, shape):
    with pytest.raises(gpukern.errors.GpukernValueError, match=r"^empty: shape must "):
        gpukern.empty(shape, "i4", device)


@pytest.mark.parametrize("dtype", [object, [("a", object)], "V70000", [], "(2,)i4"])
def test_empty_refuses_dtypes_without_a_fixed_small_width(device, dtype):
    with pytest.raises(gpukern.errors.GpukernTypeError, match=r"^empty: dtype must "):
        gpukern.empty(3, np.dtype(dtype), device)


def test_out_of_memory_is_a_memory_error(device):
    with pytest.raises(MemoryError) as caught:
        gpukern.empty(2**60, "i1", device)
    assert isinstance(caught.value, gpukern.errors.GpukernMemoryError)


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "cuda:-1", "", -1])
def test_unknown_devices_are_value_errors(device):
    with pytest.raises(gpukern.errors.GpukernValueError, match=r"^empty: device must be "):
        gpukern.empty(1, device=device)


@pytest.mark.parametrize("device", [None, True, 1.0, b"cpu"])
def test_devices_are_strings_and_ints(device):
    with pytest.raises(gpukern.errors.GpukernTypeError, match=r"^empty: device must be "):
        gpukern.empty(1, device=device)


def test_a_device_that_is_not_there_is_a_device_error():
    with pytest.raises(gpukern.errors.GpukernDeviceError, match=r"^there is no "):
        gpukern.empty(1, device=1000)


@pytest.mark.gpu
def test_a_copy_to_another_gpu_is_refused():
    if gpukern.device_count() < 2:
        pytest.skip("needs two CUDA devices")
    there = gpukern.to_device(np.zeros(3), 1)
    with pytest.raises(
        gpukern.errors.GpukernValueError,
        match=r"^to_device: array must be on cuda:0 or in host memory$",
    ):
        gpukern.to_device(there, 0)
    with pytest.raises(gpukern.errors.GpukernDeviceError, match=r"^there is no device cuda:1000"):
        gpukern.to_device(there, 1000)
    assert gpukern.to_device(there, "cpu").device == "cpu"


def test_device_arrays_are_not_converted_silently(device):
    there = gpukern.to_device(np.zeros(3), device)
    with pytest.raises(TypeError, match=r"numpy\(\)"):
        np.asarray(there)
    with pytest.raises(TypeError):
        there + 1
    with pytest.raises(TypeError):
        np.zeros(3) + there
    for compare in (
        lambda: there == 3,
        lambda: there != 0,
        lambda: np.zeros(3) == there,
        lambda: there[0] == there[0],
        lambda: 3 in there,
        lambda: there in [there[:1]],
    ):
        with pytest.raises(gpukern.errors.GpukernTypeError, match=r"not compared; .* numpy\(\)"):
            compare()
    assert there in [there]
    assert {there: 1}[there] == 1
    assert there not in (None, ..., "text")
    with pytest.raises(TypeError, match="len"):
        len(gpukern.to_device(1.0, device))
    with pytest.raises(gpukern.errors.GpukernTypeError, match="iteration over a 0-d"):
        list(gpukern.to_device(1.0, device))
    with pytest.raises(gpukern.errors.GpukernTypeError, match="to_device"):
        gpukern.DeviceArray()


def test_a_0d_array_is_a_number_beside_host_arrays(device):
    two = gpukern.to_device(2.0, device)
    x = np.arange(3.0)
    assert gpukern.saxpy(two, x, x).tolist() == [0, 3, 6]
    assert gpukern.saxpy(two, 2.0, 3.0) == 7
    assert gpukern.gather(x, [9], mode="fill", fill_value=two).tolist() == [2]
    filled = gpukern.compress([1], gpukern.to_device(x, device), size=2, fill_value=two)
    assert filled.numpy().tolist() == [0, 2]
    with pytest.raises(TypeError, match=r"fill_value: a DeviceArray is not converted"):
        gpukern.gather(x, [9], mode="fill", fill_value=gpukern.to_device(x, device))


def test_operations_on_device_arrays_give_device_arrays(rng, device):
    x = rng.random(100)
    index = rng.integers(0, 100, 30)
    there = gpukern.to_device(x, device)
    taken = gpukern.gather(there, index)
    assert isinstance(taken, gpukern.DeviceArray)
    assert taken.device == device
    assert np.array_equal(taken.numpy(), x[index])
    assert isinstance(gpukern.saxpy(2, there, there), gpukern.DeviceArray)
    out = gpukern.empty(30, device=device)
    assert gpukern.gather(there, gpukern.to_device(index, device), out=out) is out
    assert np.array_equal(out.numpy(), x[index])


@pytest.mark.gpu
def test_arrays_on_two_devices_are_a_value_error():
    with pytest.raises(gpukern.errors.GpukernValueError, match="saxpy: y must be on cuda:0"):
        gpukern.saxpy(1, gpukern.to_device(np.zeros(3)), np.zeros(3))
    with pytest.raises(gpukern.errors.GpukernValueError, match="device must be that of the arrays"):
        gpukern.gather(gpukern.to_device(np.zeros(3)), [0], device="cpu")


@pytest.mark.gpu
def test_cuda_array_interface_both_ways(rng):
    x = rng.random((4, 6), np.float32)
    there = gpukern.to_device(x)
    interface = there.__cuda_array_interface__
    assert interface["version"] == 3
    assert interface["stream"] == 1
    assert interface["data"][1] is False

    # x[::-2, 1::2], read-only.
    data = (interface["data"][0] + 3 * 24 + 4, True)
    window = {**interface, "shape": (2, 3), "strides": (-48, 8), "data": data}
    holder = SimpleNamespace(__cuda_array_interface__=window)
    assert np.array_equal(gpukern.gather(holder, [1, 0]).numpy(), x[::-2, 1::2][[1, 0]])
    with pytest.raises(gpukern.errors.GpukernValueError, match="gather: out is read-only"):
        gpukern.gather(there, [0, 1], out=holder)


def test_host_memory_has_no_cuda_array_interface():
    assert not hasattr(gpukern.to_device(np.zeros(3), "cpu"), "__cuda_array_interface__")


def test_memory_goes_with_the_array(device):
    there = gpukern.to_device(np.zeros(3), device)
    reference = weakref.ref(there)
    del there
    gc.collect()
    assert reference() is None


def test_copies_are_copies():
    array = gpukern.to_device(np.arange(5.0), device="cpu")
    for made in (copy.copy(array), copy.deepcopy(array)):
        assert made.__dlpack_device__() == array.__dlpack_device__()
        assert made.numpy().tolist() == [0, 1, 2, 3, 4]
        del made
    assert array.numpy().tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(TypeError, match=r"numpy\(\)"):
        pickle.dumps(array)


def test_new_alone_gives_an_empty_array():
    array = gpukern.DeviceArray.__new__(gpukern.DeviceArray)
    assert (array.shape, array.dtype, len(array)) == ((0,), np.uint8, 0)
    assert array.numpy().size == 0
    assert "shape=(0,)" in repr(array)


def test_masked_arrays_are_refused():
    with pytest.raises(TypeError, match="masked"):
        gpukern.to_device(np.ma.array([1.0], mask=[True]), device="cpu")
    with pytest.raises(TypeError, match="numpy: out must not be a masked array"):
        gpukern.to_device(np.ones(1), device="cpu").numpy(out=np.ma.zeros(1))
