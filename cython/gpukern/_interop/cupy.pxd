# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_tensor

ctypedef Py_ssize_t (*StreamOfDevice)(int) except? -1

cdef class CupyAttributes:
    cdef object data, size, ndim, contiguous, dtype, shape, strides
    cdef object pointer, device_id
    cdef StreamOfDevice stream_of_device
    cdef bint fill(self, object array, gpukern_tensor *tensor, int max_ndim,
                   bint address_only) except -1
    cdef void *current_stream(self, int device_id) except? NULL

cdef CupyAttributes cupy_attributes(object kind)
