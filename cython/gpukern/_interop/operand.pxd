# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from gpukern._capi cimport gpukern_tensor

cdef enum:
    OPERAND_NDIM = 8

# An array of the caller's, described on the stack. The caller's reference keeps its memory; sizes
# and strides are copies, since an array may be reshaped in place while the GIL is released.
cdef struct Operand:
    gpukern_tensor c  # strides are NULL for a C-contiguous array
    int64_t shape[OPERAND_NDIM]
    int64_t strides[OPERAND_NDIM]
    bint readonly
    PyObject *kind    # the Kind, which lives as long as the process
    void *torch       # a torch tensor's TensorImpl, NULL where nobody asked for it
    void *stream      # the current stream of the array's library on its device, NULL on the CPU
