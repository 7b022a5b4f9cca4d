# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What the operations that write to a target by an index share: all but the C function.

The Python function of such an operation is one call of IndexedWrite.run().
"""

from libc.stdint cimport int32_t

from gpukern._capi cimport gpukern_exec, gpukern_scatter_options, gpukern_status, gpukern_tensor
from gpukern._streams.call cimport Argument, CallContext

ctypedef gpukern_status (*WriteFunction)(
    const gpukern_tensor *target, const gpukern_tensor *index, const gpukern_tensor *values,
    int32_t axis, const gpukern_tensor *out, const gpukern_scatter_options *options,
    const gpukern_exec *exec_) noexcept nogil


cdef class IndexedWrite:
    cdef str name                # of the Python function
    cdef WriteFunction function
    cdef bint takes_tuples       # of indices, one for each of consecutive axes

    cdef object run(self, object target, object index, object values, object axis, object mode,
                    object reduce, object order, object unique, object out, object device,
                    object stream, object progress, object device_memory)


cdef IndexedWrite new_indexed_write(str name, WriteFunction function, bint takes_tuples=*)
cdef int one_of(const CallContext *call, dict known, object given, str name, str names) except -1
cdef int describe_values(CallContext *call, object values, const Argument *to, Argument *vals,
                         str name=*) except -1
cdef const Argument *largest(const Argument *one, const Argument *other) noexcept
cdef int set_options(const CallContext *call, gpukern_scatter_options *options, object mode,
                     object reduce, object order, object unique) except -1
