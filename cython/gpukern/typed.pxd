# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather, scatter and the other operations on typed memoryviews of host memory, without the GIL.

Each function is compiled for every combination of the types below, under which the fixed-width
types of ``libc.stdint`` and of NumPy's ``cnp`` are. Cython selects the combination by the types of
strided memoryviews, such as ``float[:]``. For contiguous ones, such as ``float[::1]``, name the
types: ``gather_into[float, long](source, index, out)``. Memoryviews may overlap as in
the functions of gpukern of these names. Errors are Python exceptions.
"""

from libc.stdint cimport (
    int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)

# The type of cnp.int64_t, without NumPy's headers; its others are those of libc.stdint.
ctypedef signed long long npy_int64

ctypedef fused gather_item:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    int
    long
    long long
    npy_int64
    Py_ssize_t
    float
    double
    float complex
    double complex

ctypedef fused gather_number:
    int32_t
    int64_t
    uint32_t
    uint64_t
    int
    long
    long long
    npy_int64
    Py_ssize_t
    size_t

ctypedef fused saxpy_number:
    float
    double
    float complex
    double complex
    int32_t
    int64_t
    int
    long
    long long
    npy_int64
    Py_ssize_t

ctypedef fused axpby_number:
    float
    double

# The types of int64, for positions and counts.
ctypedef fused int64_number:
    int64_t
    long
    long long
    npy_int64
    Py_ssize_t

# out[i] = source[index[i]]; `mode` is a gpukern_index_mode, GPUKERN_INDEX_FILL fills with zeros.
cdef int gather_into(const gather_item[:] source, const gather_number[:] index, gather_item[:] out,
                     int mode=*) except -1 nogil

# out[i, :] = source[index[i], :]
cdef int gather_rows_into(const gather_item[:, :] source, const gather_number[:] index,
                          gather_item[:, :] out, int mode=*) except -1 nogil

# out[n] = source[i[n], j[n]]
cdef int gather_pairs_into(const gather_item[:, :] source, const gather_number[:] i,
                           const gather_number[:] j, gather_item[:] out, int mode=*) except -1 nogil

# out[n] = source[i[n], j[n], k[n]]
cdef int gather_triples_into(const gather_item[:, :, :] source, const gather_number[:] i,
                             const gather_number[:] j, const gather_number[:] k, gather_item[:] out,
                             int mode=*) except -1 nogil

# out[i, k] = source[index[i, k], k] for axis 0, source[i, index[i, k]] for axis 1
cdef int take_along_axis_into(const gather_item[:, :] source, const gather_number[:, :] index,
                              int axis, gather_item[:, :] out, int mode=*) except -1 nogil

# target[index[i]] = values[i]; `reduce` is a gpukern_reduce, GPUKERN_INDEX_FILL skips values
cdef int scatter_into(gather_item[:] target, const gather_number[:] index,
                      const gather_item[:] values, int mode=*, int reduce=*) except -1 nogil

# target[index[i], :] = values[i, :]
cdef int scatter_rows_into(gather_item[:, :] target, const gather_number[:] index,
                           const gather_item[:, :] values, int mode=*, int reduce=*) except -1 nogil

# target[i[n], j[n]] = values[n]
cdef int scatter_pairs_into(gather_item[:, :] target, const gather_number[:] i,
                            const gather_number[:] j, const gather_item[:] values, int mode=*,
                            int reduce=*) except -1 nogil

# target[i[n], j[n], k[n]] = values[n]
cdef int scatter_triples_into(gather_item[:, :, :] target, const gather_number[:] i,
                              const gather_number[:] j, const gather_number[:] k,
                              const gather_item[:] values, int mode=*, int reduce=*) except -1 nogil

# target[index[i, k], k] = values[i, k] for axis 0, target[i, index[i, k]] for axis 1
cdef int put_along_axis_into(gather_item[:, :] target, const gather_number[:, :] index,
                             const gather_item[:, :] values, int axis, int mode=*,
                             int reduce=*) except -1 nogil

# out[n] is how many numbers of `index` are n; `mode` is GPUKERN_INDEX_RAISE or GPUKERN_INDEX_FILL,
# which does not count numbers outside [0, len(out))
cdef int bincount_into(const gather_number[:] index, int64_number[:] out,
                       int mode=*) except -1 nogil

# out[b, :] is the reduction of source[index[i], :] for i in [offsets[b], offsets[b + 1]); `reduce`
# is GPUKERN_REDUCE_ADD by default, or MIN, MAX or MEAN
cdef int gather_reduce_rows_into(const saxpy_number[:, :] source, const gather_number[:] index,
                                 const gather_number[:] offsets, saxpy_number[:, :] out, int mode=*,
                                 int reduce=*) except -1 nogil

# out[s, :] is the reduction of x[offsets[s]:offsets[s + 1], :]
cdef int segment_reduce_rows_into(const saxpy_number[:, :] x, const gather_number[:] offsets,
                                  saxpy_number[:, :] out, int mode=*, int reduce=*) except -1 nogil

# The number of nonzero elements of the mask
cdef Py_ssize_t count_nonzero(const uint8_t[:] mask) except -1 nogil

# out[n] is the position of the n-th nonzero element of the mask, 0 beyond the last one; returns the
# number of all of them, which may be more than out holds
cdef Py_ssize_t nonzero_into(const uint8_t[:] mask, int64_number[:] out) except -1 nogil

# out[n] is the n-th item of x for which the mask is not zero, 0 beyond the last one; returns the
# number of all of them, which may be more than out holds. The mask is zero beyond x.
cdef Py_ssize_t compress_into(const uint8_t[:] mask, const gather_item[:] x,
                              gather_item[:] out) except -1 nogil

# out[i] = a * x[i] + y[i], rounded once
cdef int saxpy_into(saxpy_number a, const saxpy_number[:] x, const saxpy_number[:] y,
                    saxpy_number[:] out) except -1 nogil

# out[i] = a * x[i] + b * y[i]; b * y[i] is rounded, and then the sum
cdef int axpby_into(axpby_number a, const axpby_number[:] x, axpby_number b,
                    const axpby_number[:] y, axpby_number[:] out) except -1 nogil

# out[i] = x[i] * y[i] + z[i], rounded once
cdef int fma_into(const axpby_number[:] x, const axpby_number[:] y, const axpby_number[:] z,
                  axpby_number[:] out) except -1 nogil
