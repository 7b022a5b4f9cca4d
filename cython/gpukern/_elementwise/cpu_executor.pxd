# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_tensor
from gpukern._elementwise.loop_plan cimport Broadcast

cdef class HostFunction:
    cdef readonly object typed
    cdef readonly str name
    cdef readonly object out_type
    cdef readonly object buffers
    cdef readonly object write
    cdef object compute
    cdef object compute_alike
    cdef tuple axes
    cdef bint uses_all
    cdef bint derives_numbers
    cdef readonly Py_ssize_t narrow
    cdef readonly Py_ssize_t few
    cdef readonly Py_ssize_t alone
    cdef readonly Py_ssize_t block
    cdef readonly Py_ssize_t cost
    cdef object call(self, tuple arguments, object out, const Broadcast *shape, object progress)
    cdef int given(self, tuple arguments, object out, const Broadcast *shape,
                   object progress) except -1
    cdef bint certainly_fit(self, tuple arguments) except -1
    cdef int in_one_block(self, list arguments, object out, tuple assigned) except -1
    cdef int into(self, object arguments, object out, object aliased, object progress) except -1

cdef object ndarray_at(const gpukern_tensor *tensor, object dtype, bint writeable, object owner)
