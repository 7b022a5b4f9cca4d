# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What the operations that read items of a source by an index share: all but the C function and
the shape of the result.

The Python function of such an operation is one call of IndexedRead.run(). Operations that write by
an index (indexed_write.pxd) share the functions below.
"""

from libc.stdint cimport int32_t, int64_t

from gpukern._capi cimport gpukern_exec, gpukern_gather_options, gpukern_status, gpukern_tensor
from gpukern._streams.call cimport Argument, CallContext

ctypedef gpukern_status (*IndexedFunction)(
    const gpukern_tensor *source, const gpukern_tensor *index, int32_t axis,
    const gpukern_tensor *out, const gpukern_gather_options *options,
    const gpukern_exec *exec_) noexcept nogil

# Fills in the shape of the result and returns its ndim; any shape for arguments that the C function
# refuses. The index replaces `axes` axes. `sizes` has room for the dimensions of source and index
# together.
ctypedef int (*ResultSizes)(const gpukern_tensor *source, const gpukern_tensor *index, int32_t axis,
                            int axes, int64_t *sizes) noexcept


# What the C function takes.
cdef struct Work:
    gpukern_gather_options options
    int32_t axis
    const gpukern_tensor *source
    const gpukern_tensor *index
    const gpukern_tensor *out


cdef class IndexedRead:
    cdef str name                  # of the Python function
    cdef IndexedFunction function
    cdef ResultSizes result_sizes
    cdef object numpys             # NumPy's function for the same result
    cdef bint aligned              # the dimensions of the index are those of the source

    cdef object run(self, object source, object index, object axis, object mode, object fill_value,
                    object out, object device, object stream, object progress,
                    object device_memory)


cdef IndexedRead new_indexed_read(str name, IndexedFunction function, ResultSizes result_sizes,
                                  object numpys, bint aligned=*)

cdef int as_mode(const CallContext *call, object mode, tuple modes=*) except -1
cdef bint is_special(object source)
cdef bint is_distributed(object array) noexcept
cdef bint is_subclass(const Argument *argument) noexcept
cdef int prepare_work(CallContext *call, Work *work, bint aligned, object fill_value,
                      const Argument *src, const Argument *idx, const Argument *dst) except -1
cdef object flat(CallContext *call, const Argument *src)
cdef int sizes_with(const gpukern_tensor *source, int32_t axis, int axes, const int64_t *inner,
                    int count, int64_t *sizes) noexcept
cdef int64_t axis_length(const gpukern_tensor *source, int32_t axis) noexcept
cdef int32_t as_axis(const CallContext *call, object axis, int ndim) except? -1
cdef int require_same_dtype(const CallContext *call, const Argument *src,
                            const Argument *dst) except -1
