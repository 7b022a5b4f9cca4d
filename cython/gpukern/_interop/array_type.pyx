# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""What is known of the types of arrays, resolved once per type."""

cimport cython
cimport numpy as cnp
from cpython.object cimport Py_TYPE, PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport uintptr_t

from gpukern._interop.dlpack cimport exchange_api
from gpukern._interop.library_internals cimport cupy_attributes, torch_state

from gpukern._interop import libraries, numpy_subclasses
from gpukern.errors import GpukernTypeError

cnp.import_array()

# All array types, which keep their types for good: a program has few. They are found by the type's
# address, since a metaclass may say that types are equal. The table in front has those in use; each
# slot is one word, so that any thread may write it.
cdef dict known_types = {}
cdef enum:
    SLOTS = 64
cdef PyObject *recent[SLOTS]


@cython.final
cdef class ArrayType:
    """A type of arrays: the protocol that describes them, and the library that they belong to.

    `library` is a name, None for NumPy and for libraries that we do not know. `refusal` says why no
    array of this type can be an argument. `allocate(like, shape, device_id, dtype)` makes an array
    of the library; a library that `adopts` has no such function and takes our memory by DLPack.
    `is_sequence` marks lists and tuples, `is_builtin` types of Python itself, which take no
    attributes. `torch` is set for torch's types.
    """


cdef ArrayType array_type_of(object array):
    cdef PyTypeObject *type_ = Py_TYPE(array)
    cdef size_t slot = (<size_t>type_ >> 6) % SLOTS
    cdef PyObject *found = recent[slot]
    if found != NULL and (<ArrayType>found).type is <object>type_:
        return <ArrayType>found
    return look_up(<object>type_, slot)


cdef ArrayType look_up(object type_, size_t slot):
    address = <uintptr_t><PyObject *>type_
    found = known_types.get(address)
    if found is None:
        # Another thread may be as far as this: all keep the one that came first.
        found = known_types.setdefault(address, new_array_type(type_))
    recent[slot] = <PyObject *>found
    return found


cdef int refuse_own_arithmetic(ArrayType type_, object what) except -1:
    """Refuses subclasses of ndarray whose arithmetic is not that of their elements, such as those
    with units."""
    if type_.overrides_ufuncs:
        raise GpukernTypeError(f"{what} must not be a {type_.type.__name__}, which overrides "
                               "__array_ufunc__; pass its view(numpy.ndarray)")
    return 0


cdef int register_device_array(object type_) except -1:
    """Tells which type DeviceArray is."""
    cdef ArrayType made = ArrayType.__new__(ArrayType)
    made.type = type_
    made.protocol = BY_DEVICE_ARRAY
    known_types[<uintptr_t><PyObject *>type_] = made
    return 0


cdef ArrayType new_array_type(object type_):
    cdef ArrayType made = ArrayType.__new__(ArrayType)
    made.type = type_
    made.protocol = BY_NUMPY
    made.is_sequence = issubclass(type_, (list, tuple))
    made.is_builtin = type_.__module__ == "builtins"
    if issubclass(type_, cnp.ndarray):
        made.protocol = BY_NDARRAY
        made.is_masked = issubclass(type_, numpy_subclasses.masked_array_type())
        made.overrides_ufuncs = type_.__array_ufunc__ is not cnp.ndarray.__array_ufunc__
        return made
    made.library = libraries.library_of(type_)
    made.refusal = libraries.refusal_of(made.library, type_)
    made.allocate = libraries.ALLOCATORS.get(made.library)
    made.adopts = made.library == "jax"
    made.empty_like = libraries.empty_like_of(made.library)
    made.allocate_permuted = libraries.PERMUTED_ALLOCATORS.get(made.library)
    if made.library == "torch":
        made.torch = torch_state(type_)
    made.api = exchange_api(type_)
    if made.api != NULL:
        made.protocol = BY_EXCHANGE
        made.requires_grad = getattr(type_, "requires_grad", None)
        return made
    if made.library == "cupy":
        made.attributes = cupy_attributes(type_)
    if made.attributes is not None:
        made.protocol = BY_ATTRIBUTES
    elif hasattr(type_, "__dlpack__"):
        made.protocol = BY_DLPACK
    elif hasattr(type_, "__cuda_array_interface__"):
        made.protocol = BY_INTERFACE
    return made
