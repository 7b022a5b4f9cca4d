# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""What is known of the types of arrays, found out once for each type."""

cimport cython
cimport numpy as cnp
from cpython.object cimport Py_TYPE, PyTypeObject
from cpython.ref cimport PyObject

from gpukern._interop.cupy cimport cupy_attributes
from gpukern._interop.exchange cimport exchange_api
from gpukern._interop.torch cimport torch_state

from gpukern._interop import libraries

cnp.import_array()

# All kinds, which keep their types, for good: a program has few types of arrays. The table in front
# finds those in use by the type's address; each slot is one word, so that any thread may write it.
cdef dict known_kinds = {}
cdef enum:
    SLOTS = 64
cdef PyObject *recent[SLOTS]


@cython.final
cdef class Kind:
    """A type of arrays: the protocol by which they come in, and the library that they belong to.

    `library` is a name, None for NumPy and for libraries that we do not know. `refusal` says why no
    array of this type can come in. `allocate(like, shape)` makes an array of the library's own.
    `torch` is there for torch's types.
    """


cdef Kind kind_of(object array):
    cdef PyTypeObject *kind = Py_TYPE(array)
    cdef size_t slot = (<size_t>kind >> 6) % SLOTS
    cdef PyObject *found = recent[slot]
    if found != NULL and (<Kind>found).type is <object>kind:
        return <Kind>found
    return look_up(<object>kind, slot)


cdef Kind look_up(object kind, size_t slot):
    found = known_kinds.get(kind)
    if found is None:
        # Another thread may be as far as this: all keep the one that came first.
        found = known_kinds.setdefault(kind, new_kind(kind))
    recent[slot] = <PyObject *>found
    return found


cdef Kind new_kind(object kind):
    cdef Kind made = Kind.__new__(Kind)
    made.type = kind
    made.protocol = BY_NUMPY
    if issubclass(kind, cnp.ndarray):
        return made
    made.library = libraries.library_of(kind)
    made.refusal = libraries.refusal_of(made.library, kind)
    made.allocate = libraries.ALLOCATORS.get(made.library)
    made.empty_like = libraries.empty_like_of(made.library)
    if made.library == "torch":
        made.torch = torch_state(kind)
    made.api = exchange_api(kind)
    if made.api != NULL:
        made.protocol = BY_EXCHANGE
        made.requires_grad = getattr(kind, "requires_grad", None)
        return made
    if made.library == "cupy":
        made.attributes = cupy_attributes(kind)
    if made.attributes is not None:
        made.protocol = BY_ATTRIBUTES
    elif hasattr(kind, "__dlpack__"):
        made.protocol = BY_DLPACK
    elif hasattr(kind, "__cuda_array_interface__"):
        made.protocol = BY_INTERFACE
    return made
