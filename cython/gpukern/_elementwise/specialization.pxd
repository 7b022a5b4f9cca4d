# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from libc.stdint cimport int32_t, int64_t

from gpukern._capi cimport (
    gpukern_dtype, gpukern_exec, gpukern_kernel, gpukern_status, gpukern_tensor,
)
from gpukern._elementwise.cpu_executor cimport HostFunction
from gpukern._elementwise.loop_plan cimport LoopPlan
from gpukern._program.program cimport Program

cdef enum:
    MAX_ARGUMENTS = 32  # _expression.MAX_INPUTS

# Types by number, see TYPE_NAMES. BY_VALUE marks a number among the arguments.
cdef enum TypeNumber:
    NO_TYPE = 0
    BY_VALUE = 0x40

cdef struct Slot:
    double word[2]  # 16 bytes, aligned

# The numbers among a call's arguments.
cdef struct Numbers:
    int count
    Slot slot[MAX_ARGUMENTS]

cdef class Compiled:
    cdef gpukern_kernel *kernel

cdef class Signature:
    cdef readonly object function
    cdef bytes types  # of the arguments, and of an output that was given or NO_TYPE
    cdef Py_ssize_t count  # of the arguments
    cdef object known_typed
    cdef Program kept
    cdef object is_number
    cdef readonly object out_name
    cdef object limits
    cdef gpukern_dtype out_dtype
    cdef int out_type
    cdef int items
    cdef dict kernels  # by layout and device; the host's function under None
    cdef int enqueue(self, const gpukern_tensor *const *tensors, int operands,
                     Numbers *numbers, int32_t device,
                     const gpukern_exec *where) except -1
    cdef object typed(self)
    cdef Compiled kernel_of(self, const LoopPlan *plan, int32_t device)
    cdef Compiled compiled(self, const LoopPlan *plan, int32_t device)
    cdef int require_fit(self, Numbers *numbers) except -1
    cdef HostFunction host_function(self)

cdef int type_number(const gpukern_dtype *dtype) noexcept nogil
cdef gpukern_status launch_plan(const gpukern_kernel *kernel, const LoopPlan *plan,
                                const Numbers *numbers, const gpukern_exec *where) noexcept nogil
cdef int number_argument(object value, Slot *slot) except -1
cdef Signature signature_of(object function, dict signatures, const char *types, int32_t device)
