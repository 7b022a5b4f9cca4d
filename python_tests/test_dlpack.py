# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""DLPack and __cuda_array_interface__, as a consumer and as a producer, on the host."""

import ctypes
import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

import gpukern
from gpukern import gather

SOURCE = np.arange(12.0).reshape(3, 4)


class Producer:
    """An array of an unknown library that supports DLPack only."""

    def __init__(self, array, device=None, capsule=None):
        self.array = array
        self.device = device or array.__dlpack_device__()
        self.capsule = capsule
        self.asked = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.asked.append(options)
        return self.capsule or self.array.__dlpack__(**options)


class OldProducer(Producer):
    """One that exports unversioned capsules."""

    def __dlpack__(self, *, stream=None):
        return self.array.__dlpack__(stream=stream)


class Interface:
    def __init__(self, **changes):
        self.__cuda_array_interface__ = {
            "shape": (3,),
            "typestr": "<f4",
            "data": (4096, False),
            "version": 3,
            **changes,
        }


def exported(**options):
    return gpukern.to_device(np.arange(3.0), "cpu").__dlpack__(**options)


@pytest.mark.parametrize("kind", [Producer, OldProducer])
@pytest.mark.parametrize(
    "array",
    [
        SOURCE,
        SOURCE.T,
        SOURCE[::-1, ::2],
        SOURCE[:0],
        SOURCE[0, :1].reshape(()),
        SOURCE > 3,
        SOURCE.astype("c8"),
        SOURCE.astype("u1"),
    ],
    ids=["plain", "transposed", "negative", "empty", "0-d", "bool", "complex64", "uint8"],
)
def test_arrays_come_in_by_dlpack(kind, array):
    index = [] if array.size == 0 else [0]
    result = gather(kind(array), index)
    expected = np.take(array, np.array(index, int), axis=0)
    assert type(result) is np.ndarray
    assert result.dtype == array.dtype
    assert np.array_equal(result, expected)


def test_outputs_by_dlpack_are_written_to():
    out = np.zeros((1, 4))
    producer = Producer(out)
    assert gather(SOURCE, [2], out=producer) is producer
    assert np.array_equal(out, SOURCE[[2]])


def test_a_versioned_capsule_is_asked_for():
    producer = Producer(SOURCE)
    gather(producer, [0])
    assert producer.asked == [{"max_version": (1, 1)}]


def test_read_only_exports_are_inputs_only():
    array = np.zeros(3)
    array.flags.writeable = False
    assert gather(Producer(array), [0]) == [0.0]
    with pytest.raises(gpukern.errors.GpukernValueError, match=r"^gather: out is read-only"):
        gather(np.zeros(3), [0, 1, 2], out=Producer(array))


def test_foreign_devices_are_value_errors():
    with pytest.raises(gpukern.errors.GpukernValueError, match="got DLPack device type 10"):
        gather(Producer(SOURCE, device=(10, 0)), [0])


def test_a_capsule_is_used_once():
    capsule = SOURCE.__dlpack__()
    assert gather(Producer(SOURCE, capsule=capsule), [[2]]).shape == (1, 1, 4)
    assert "used_dltensor" in repr(capsule)
    with pytest.raises(gpukern.errors.GpukernTypeError, match="fresh DLPack capsule"):
        gather(Producer(SOURCE, capsule=capsule), [0])
    with pytest.raises(gpukern.errors.GpukernTypeError, match="fresh DLPack capsule, got int"):
        gather(Producer(SOURCE, capsule=5), [0])


def test_gradients_are_refused():
    producer = Producer(SOURCE)
    producer.requires_grad = True
    with pytest.raises(gpukern.errors.GpukernBufferError, match="detach"):
        gather(producer, [0])


def test_imports_are_given_back():
    array = np.arange(3.0)
    reference = weakref.ref(array)
    producer = Producer(array)
    for _ in range(100):
        gather(producer, [0])
    del array, producer
    gc.collect()
    assert reference() is None


def test_exports_share_memory_and_keep_it():
    there = gpukern.to_device(np.arange(3.0), "cpu")
    reference = weakref.ref(there)
    here = np.from_dlpack(there)
    here[0] = 7
    assert there.numpy().tolist() == [7, 1, 2]
    del there
    gc.collect()
    assert here.tolist() == [7, 1, 2]
    assert reference() is not None
    del here
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("options", [{}, {"max_version": (1, 0)}])
def test_capsules_that_nobody_takes_leave_nothing(options):
    there = gpukern.to_device(np.arange(3.0), "cpu")
    reference = weakref.ref(there)
    capsule = there.__dlpack__(**options)
    del there
    gc.collect()
    assert reference() is not None
    del capsule
    gc.collect()
    assert reference() is None


def test_capsules_have_the_version_asked_for():
    assert '"dltensor"' in repr(exported())
    assert '"dltensor"' in repr(exported(max_version=(0, 8)))
    assert '"dltensor_versioned"' in repr(exported(max_version=(1, 0)))
    assert '"dltensor_versioned"' in repr(exported(max_version=(2, 0)))


def test_copies_are_apart():
    there = gpukern.to_device(np.arange(3.0), "cpu")
    copy = np.from_dlpack(there, copy=True)
    copy[0] = 7
    assert there.numpy().tolist() == [0, 1, 2]


def test_impossible_exports_are_buffer_errors():
    with pytest.raises(gpukern.errors.GpukernBufferError, match="its own device or to the CPU"):
        exported(dl_device=(2, 0))
    with pytest.raises(BufferError, match="no name for dtype"):
        gpukern.to_device(np.zeros(3, "M8[s]"), "cpu").__dlpack__()
    with pytest.raises(gpukern.errors.GpukernValueError, match="stream must be None"):
        exported(stream=1)


def test_bfloat16_goes_through():
    array = np.arange(4).astype(ml_dtypes.bfloat16)
    there = gpukern.to_device(array, "cpu")
    producer = Producer(array, device=(1, 0), capsule=there.__dlpack__(max_version=(1, 0)))
    result = gather(producer, [3, 1])
    assert result.dtype == array.dtype
    assert result.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"mask": object()}, BufferError, "must have no mask"),
        ({"stream": 0}, ValueError, "got 0, which is ambiguous"),
        ({"strides": (3,)}, ValueError, "strides of whole elements"),
        ({"strides": ()}, ValueError, "a stride for each dimension"),
    ],
)
def test_broken_cuda_array_interfaces_are_refused(changes, error, words):
    with pytest.raises(error, match=words) as caught:
        gather(Interface(**changes), [0])
    assert isinstance(caught.value, gpukern.GpukernError)


def test_read_only_cuda_memory_is_an_input_only():
    with pytest.raises(gpukern.errors.GpukernValueError, match="gather: out is read-only"):
        gather(np.zeros(3), [0], out=Interface(data=(4096, True)))


def test_jax_arrays_come_back_as_jax_arrays():
    jax = pytest.importorskip("jax")
    x = jax.numpy.arange(5.0)
    result = gather(x, jax.numpy.array([4, 0]))
    assert isinstance(result, jax.Array)
    assert result.tolist() == [4, 0]
    with pytest.raises(gpukern.errors.GpukernTypeError, match="JAX"):
        gather(x, [0], out=x)


def test_torch_tensors_come_back_as_torch_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(5, dtype=torch.bfloat16)
    result = gather(x, torch.tensor([4, 0]))
    assert isinstance(result, torch.Tensor)
    assert result.dtype == torch.bfloat16
    assert result.tolist() == [4, 0]


def test_more_dimensions_than_numpy_has_are_refused():
    capsule = exported(max_version=(1, 0))
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # DLManagedTensorVersioned.dl_tensor.ndim
    ndim = ctypes.c_int32.from_address(pointer(capsule, b"dltensor_versioned") + 48)
    assert ndim.value == 1
    for operation in (gpukern.elementwise("a + 1"), lambda a: gather(a, [0])):
        ndim.value = 65
        with pytest.raises(ValueError, match="must have 0 to 64 dimensions, got 65"):
            operation(Producer(None, device=(1, 0), capsule=capsule))
        capsule = exported(max_version=(1, 0))
        ndim = ctypes.c_int32.from_address(pointer(capsule, b"dltensor_versioned") + 48)


@pytest.mark.parametrize("device", [(2, 0), (13, 0)])
def test_a_capsule_of_another_device_is_refused(device):
    calls = {
        "gather: source": lambda array: gather(array, [0]),
        "saxpy: y": lambda array: gpukern.saxpy(1, np.arange(3.0), array),
    }
    for what, call in calls.items():
        producer = Producer(None, device=device, capsule=exported())
        with pytest.raises(BufferError, match=f"{what} must be on the device that its __dlpack"):
            call(producer)
