# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from libc.stdint cimport int32_t, int64_t

from gpukern._capi cimport gpukern_dtype, gpukern_exec, gpukern_kernel, gpukern_tensor

cdef enum:
    MAX_ARGUMENTS = 32  # _expression.MAX_INPUTS
    KEY_BYTES = MAX_ARGUMENTS + 16

# Types by number; see TYPE_NAMES. A number by value is marked, as is a Python number, which is weak.
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
    cdef object typed
    cdef object is_number
    cdef readonly object out_name
    cdef object limits
    cdef gpukern_dtype out_dtype
    cdef int items
    cdef dict kernels
    cdef object host
    cdef char last_key[KEY_BYTES]
    cdef Compiled last
    cdef int enqueue(self, const gpukern_tensor *const *tensors, int operands,
                     const Numbers *numbers, int32_t device,
                     const gpukern_exec *where) except -1
    cdef object host_function(self)

cdef int type_number(const gpukern_dtype *dtype) noexcept nogil
cdef int number_argument(object value, Slot *slot) except -1
cdef Signature new_signature(object function, const char *types, int count)
