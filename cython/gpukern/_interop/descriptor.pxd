# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from cpython.object cimport Py_TYPE


cdef inline object get(object descriptor, object array):
    """The attribute of an object behind a descriptor of its type, without the look-up by name."""
    return Py_TYPE(descriptor).tp_descr_get(descriptor, array, <object>Py_TYPE(array))
