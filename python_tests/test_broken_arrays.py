# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Arrays that break their protocols, one fault at a time."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import WITHOUT_GPU
from described import MEMORY, Description
from malformed_dlpack import PLAIN, VERSIONED, ExchangeProducer, Exports, Producer
from malformed_objects import Shapeless

import gpukern

DOUBLE = gpukern.elementwise("a + a")
READERS = {
    "gather": lambda array: gpukern.gather(array, [0]),
    "saxpy": lambda array: gpukern.saxpy(1, array, array),
    "elementwise": DOUBLE,
    "copyto": lambda array: gpukern.copyto(np.zeros(3, "f4"), array),
    "out": lambda array: DOUBLE(np.zeros(3, "f4"), out=array),
}


def imported(**changes):
    """An array of three float32, in an old capsule, unless it is changed. Keep it: its destructor
    is in Python, and must not run while an exception is raised."""
    right = {"data": MEMORY.address + 64, "ndim": 1, "shape": [3]}
    return Producer(Exports(Description(**{**right, **changes}), PLAIN, False))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"shape": None}, "must have a shape, got NULL"),
        ({"shape": [-1]}, "must have no negative size, got -1"),
        ({"data": 0}, "must have data, got NULL"),
        ({"data": 0, "ndim": 0}, "must have data, got NULL"),
        ({"strides": [2**61]}, "beyond all addresses"),
        ({"strides": [-(2**60)]}, "beyond all addresses"),
        ({"shape": [2**62]}, "beyond all addresses"),
        ({"ndim": 2, "shape": [2**40, 2**40], "strides": [0, 0]}, "beyond all addresses"),
        ({"byte_offset": 2**63}, "beyond all addresses"),
        ({"byte_offset": 2**64 - 4}, "beyond all addresses"),
    ],
)
def test_layouts_that_no_memory_has_are_refused(reader, changes, words):
    array = imported(**changes)
    with pytest.raises(gpukern.errors.GpukernValueError, match=words):
        READERS[reader](array)
    assert array.exports.release()


@pytest.mark.skipif(not WITHOUT_GPU, reason="a GPU would follow a false address")
@pytest.mark.parametrize("reader", ["gather", "saxpy", "elementwise"])
def test_arrays_of_a_missing_gpu_are_named(reader):
    described = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3}
    arrays = [
        imported(data=4096, device=(2, 0)),
        imported(data=4096, device=(13, 0)),
        SimpleNamespace(__cuda_array_interface__=described),
    ]
    for array in arrays:
        with pytest.raises(gpukern.errors.GpukernDeviceError, match="there is no CUDA device"):
            READERS[reader](array)


@pytest.mark.parametrize(
    "changes",
    [
        {"typestr": None},
        {"typestr": "(2,)<f4"},
        {"shape": (1.5,)},
        {"strides": (4.5,)},
        {"data": (4096.5, False)},
    ],
)
def test_interfaces_of_other_types_are_malformed(changes):
    """NumPy and C would make something else of them: float64, or whole numbers."""
    described = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3}
    array = SimpleNamespace(__cuda_array_interface__={**described, **changes})
    with pytest.raises(TypeError, match="source has a malformed __cuda_array_interface__"):
        gpukern.gather(array, [])


def test_strides_and_offsets_within_memory_are_taken():
    array = imported(strides=[-2], byte_offset=32)
    expected = np.ndarray(3, "f4", MEMORY.values, 96, -8)
    assert np.array_equal(DOUBLE(array), expected + expected)
    assert DOUBLE(imported(data=0, shape=[0])).shape == (0,)


@pytest.mark.parametrize(("code", "bits", "lanes"), [(2, 32, 2), (1, 8, 3), (17, 8, 1), (6, 64, 1)])
def test_elements_that_numpy_lacks_are_moved_as_bytes(code, bits, lanes):
    array = imported(code=code, bits=bits, lanes=lanes)
    expected = np.ndarray(3, f"V{bits * lanes // 8}", MEMORY.values, 64)
    result = gpukern.gather(array, [2, 0])
    assert result.dtype == expected.dtype
    assert result.tobytes() == expected[[2, 0]].tobytes()


def test_released_buffers_are_named():
    view = memoryview(bytearray(8))
    view.release()
    with pytest.raises(gpukern.errors.GpukernValueError, match=r"^gather: source: .* released"):
        gpukern.gather(view, [0])


@pytest.mark.skipif(sys.version_info < (3, 12), reason="__buffer__ is of Python 3.12")
def test_exceptions_of_buffers_pass_through():
    class Buffer:
        def __buffer__(self, flags):
            raise error

    for kind in (RuntimeError, MemoryError, KeyboardInterrupt):
        error = kind("mine")
        with pytest.raises(kind) as caught:
            gpukern.gather(Buffer(), [0])
        assert caught.value is error


class Boastful(np.ndarray):
    """A subclass whose attributes are not those of the array."""

    dtype = "of my own"


def test_attributes_of_subclasses_do_not_count():
    numbers = np.arange(3.0).view(Boastful)
    with pytest.raises(gpukern.errors.GpukernTypeError, match="integer dtype, got float64"):
        gpukern.gather(np.arange(3), numbers)
    swapped = np.array([2, 0], ">i4").view(Boastful)
    assert gpukern.gather(np.arange(3), swapped).tolist() == [2, 0]
    assert "gather on cpu" in str(gpukern.explain(gpukern.gather, numbers, [0]))


def test_values_of_no_dimensions_are_read_whatever_their_subclass_says():
    value = np.array(5.0).view(Shapeless)
    assert gpukern.scatter(np.zeros(3), [1], value).tolist() == [0, 5, 0]
    assert gpukern.gather(np.ones(3), [7], mode="fill", fill_value=value).tolist() == [5]


def test_masks_of_objects_come_in_by_dlpack_as_others():
    objects = np.array([None, 1, "a"], object)
    mask = imported(code=4, bits=16)  # bfloat16, which numpy.from_dlpack() does not know
    assert gpukern.compress(mask, objects).tolist() == objects.tolist()
    mask = imported(shape=[1, 3], ndim=2)
    assert gpukern.compress(mask, objects.reshape(1, 3)).tolist() == objects.tolist()
    mask = imported(lanes=2)
    with pytest.raises(gpukern.errors.GpukernTypeError, match="compress: mask must be bool"):
        gpukern.compress(mask, objects)
    mask = imported(shape=[1, 3], ndim=2)
    with pytest.raises(gpukern.errors.GpukernValueError, match="without an axis the shape of x"):
        gpukern.compress(mask, objects)


def test_an_exchange_api_without_a_stream_is_refused():
    described = Description(data=4096, ndim=1, shape=[3], device=(2, 0))
    array = ExchangeProducer(Exports(described, VERSIONED, True))
    with pytest.raises(gpukern.errors.GpukernBufferError, match="a function for the stream"):
        gpukern.gather(array, [0])
    assert array.exports.release()


def test_bins_of_elements_without_bytes_are_refused():
    with pytest.raises(gpukern.errors.GpukernTypeError, match="index must be of an integer dtype"):
        gpukern.bincount(np.zeros(2, "V0"), size=3)


def test_types_that_claim_to_be_equal():
    """A metaclass may say so; the protocol of one is not that of another."""

    class Equal(type):
        def __hash__(cls):
            return 42

        def __eq__(cls, other):
            return True

    class Array(np.ndarray, metaclass=Equal):
        pass

    class NoArray(metaclass=Equal):
        pass

    assert gpukern.gather(np.arange(5).view(Array), [1]) == 1
    with pytest.raises(TypeError, match="NoArray"):
        gpukern.gather(NoArray(), [1])
