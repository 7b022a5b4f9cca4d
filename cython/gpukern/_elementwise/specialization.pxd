# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Element-wise functions for given types, and their calls on a GPU. Operand 0 is the output."""

from libc.stdint cimport int32_t

from gpukern._capi cimport gpukern_dtype, gpukern_kernel, gpukern_tensor
from gpukern._elementwise.cpu_executor cimport HostFunction
from gpukern._elementwise.loop_plan cimport LoopPlan
from gpukern._program.program cimport Program
from gpukern._streams.call cimport Argument, CallContext

cdef enum:
    MAX_ARGUMENTS = 32  # graph.MAX_INPUTS

# Types by number, see TYPE_NAMES. BY_VALUE marks a scalar among the arguments.
cdef enum TypeNumber:
    NO_TYPE = 0
    BY_VALUE = 0x40

cdef struct Scalar:
    double word[2]  # 16 bytes, aligned

# The scalars among a call's arguments: numbers, and host arrays without dimensions.
cdef struct Scalars:
    int count
    Scalar value[MAX_ARGUMENTS]

cdef class DeviceKernel:
    cdef gpukern_kernel *c

cdef class Specialization:
    cdef readonly object function
    cdef bytes types  # of the arguments, and of an output that was given or NO_TYPE
    cdef Py_ssize_t count  # of the arguments
    cdef object known_typed
    cdef Program cached
    cdef tuple is_number
    cdef readonly object out_name
    cdef list limits
    cdef gpukern_dtype out_dtype
    cdef int out_type
    cdef int items
    cdef dict kernels  # by access pattern and device
    cdef HostFunction host
    cdef object typed(self)
    cdef gpukern_kernel *kernel_of(self, const LoopPlan *plan) except NULL
    cdef DeviceKernel compiled(self, const LoopPlan *plan)
    cdef int require_fit(self, const Scalars *scalars) except -1
    cdef HostFunction host_function(self)

cdef int type_number(const gpukern_dtype *dtype) noexcept nogil
cdef int store_number(object function, object name, object value, Scalar *scalar) except -1
cdef Specialization specialization_of(object function, dict known, const char *types,
                                      int32_t device)
cdef int enqueue(CallContext *call, Specialization specialization,
                 const gpukern_tensor *const *operands, int count, const Scalars *scalars,
                 int32_t device) except -1
cdef int run_pipeline(CallContext *call, Specialization specialization,
                      const gpukern_tensor *const *operands, int count, const Scalars *scalars,
                      int32_t device, const Argument *out) except -1
