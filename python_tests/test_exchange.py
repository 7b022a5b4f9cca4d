# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The DLPack C exchange API of a library that we do not know, played by ctypes on NumPy arrays."""

import ctypes
import weakref

import numpy as np
import pytest

import gpukern

MANAGE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
NEW_CAPSULE = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))
POINTER_OF = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
RENAME = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", ctypes.pythonapi)
)
USED = b"used_dltensor_versioned"


class Api(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("prev_api", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("managed_from_object", MANAGE),
        ("object_from_managed", ctypes.c_void_p),
        ("tensor_from_object", ctypes.c_void_p),
        ("current_work_stream", ctypes.c_void_p),
    ]


@MANAGE
def manage(array, out):
    if array.exports_nothing:
        return 0
    capsule = array.array.__dlpack__(max_version=(1, 0))
    out[0] = POINTER_OF(capsule, b"dltensor_versioned")
    RENAME(capsule, USED)
    array.exports += 1
    return 0


def api(major, previous=None):
    return Api(major=major, prev_api=previous and ctypes.addressof(previous),
               managed_from_object=manage)  # fmt: skip


OLD = api(1)
NEW = api(2, OLD)
FOREIGN = api(2)


class Array:
    """An array of a library that we do not know; its subclasses offer an API."""

    def __init__(self, array):
        self.array, self.exports, self.exports_nothing = array, 0, False


class DlpackArray(Array):
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def array_type(offered, base=Array):
    return type("Offering", (base,), offered)


def capsule(offered):
    pointer = ctypes.addressof(offered)
    return {"__dlpack_c_exchange_api__": NEW_CAPSULE(pointer, b"dlpack_exchange_api", None)}


@pytest.mark.parametrize(
    "offered",
    [capsule(OLD), capsule(NEW), {"__c_dlpack_exchange_api__": ctypes.addressof(OLD)}],
    ids=["version 1", "version 2 with version 1 before it", "the older spelling"],
)
def test_arrays_come_in_by_the_exchange_api(offered):
    array = np.arange(12.0).reshape(3, 4)
    theirs = array_type(offered)(array[::-1, ::2])
    assert np.array_equal(gpukern.gather(theirs, [2, 0]), array[::-1, ::2][[2, 0]])
    assert theirs.exports == 1
    out = np.zeros((2, 4))
    written = array_type(offered)(out)
    assert gpukern.gather(array, [1, 1], out=written) is written
    assert np.array_equal(out, array[[1, 1]])


def test_read_only_exports_are_inputs_only():
    array = np.zeros(3)
    array.flags.writeable = False
    theirs = array_type(capsule(OLD))(array)
    assert gpukern.gather(theirs, [0]).tolist() == [0]
    with pytest.raises(gpukern.errors.GpukernValueError, match=r"^saxpy: out is read-only"):
        gpukern.saxpy(1.0, np.zeros(3), np.zeros(3), out=theirs)


def test_an_unknown_version_is_left_alone():
    theirs = array_type(capsule(FOREIGN), DlpackArray)(np.arange(3.0))
    assert gpukern.gather(theirs, [2]).tolist() == [2]
    assert theirs.exports == 0


def test_arrays_are_given_back():
    array = np.arange(3.0)
    reference = weakref.ref(array)
    theirs = array_type(capsule(OLD))(array)
    for _ in range(100):
        gpukern.saxpy(1.0, theirs, theirs)
    del array, theirs
    assert reference() is None


def test_nothing_is_refused():
    theirs = array_type(capsule(OLD))(np.arange(3.0))
    theirs.exports_nothing = True
    with pytest.raises(
        gpukern.errors.GpukernBufferError, match=r"^gather: source came as nothing from"
    ):
        gpukern.gather(theirs, [0])
