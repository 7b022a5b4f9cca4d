# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather, scatter and saxpy on typed memoryviews of host memory, without the GIL.

Each function is compiled for every combination of the types below. Cython distinguishes types by
name, so declare memoryviews with these names: ``npy_int32[:]`` does not match ``int32_t[:]``.
Memoryviews may be strided and may overlap as in the functions of gpukern of these names.
Errors are Python exceptions.
"""

from libc.stdint cimport (
    int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)

ctypedef fused gather_item:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    float
    double
    float complex
    double complex

ctypedef fused gather_number:
    int32_t
    int64_t
    int
    long
    Py_ssize_t

ctypedef fused saxpy_number:
    float
    double
    float complex
    double complex
    int32_t
    int64_t

# out[i] = source[index[i]]; `mode` is a gpukern_index_mode, GPUKERN_INDEX_FILL fills with zeros.
cdef int gather_into(const gather_item[:] source, const gather_number[:] index, gather_item[:] out,
                     int mode=*) except -1 nogil

# out[i, :] = source[index[i], :]
cdef int gather_rows_into(const gather_item[:, :] source, const gather_number[:] index,
                          gather_item[:, :] out, int mode=*) except -1 nogil

# target[index[i]] = values[i]; `reduce` is a gpukern_reduce, GPUKERN_INDEX_FILL skips values
cdef int scatter_into(gather_item[:] target, const gather_number[:] index,
                      const gather_item[:] values, int mode=*, int reduce=*) except -1 nogil

# target[index[i], :] = values[i, :]
cdef int scatter_rows_into(gather_item[:, :] target, const gather_number[:] index,
                           const gather_item[:, :] values, int mode=*,
                           int reduce=*) except -1 nogil

# out[i] = a * x[i] + y[i], rounded once
cdef int saxpy_into(saxpy_number a, const saxpy_number[:] x, const saxpy_number[:] y,
                    saxpy_number[:] out) except -1 nogil
