# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from cpython.ref cimport PyObject

from gpukern._capi cimport gpukern_dtype

# The kinds of a parameter: what a call may pass.
cpdef enum:
    UNKNOWN
    BYTES
    FLOAT
    HALF
    BFLOAT
    INTEGER
    SIGNED
    UNSIGNED
    BOOL
    POINTER
    WORD

# A parameter of a kernel: where its value is stored, and what may be.
cdef struct KernelParameter:
    PyObject *function  # the kernel's name, borrowed
    int position
    PyObject *type     # Parameter.description(), borrowed
    size_t offset
    size_t size
    int kind           # one of the kinds above
    bint constant      # a pointer to what the kernel only reads
    bint written       # a pointer to what it may write, as its type says
    int pointee        # the kind of a pointer's target
    int pointee_bits

cdef int fill_parameter(KernelParameter *parameter, str function, int position, size_t offset,
                        object known, str type_) except -1
cdef bint store_plain_number(object value, const KernelParameter *parameter, void *to) except -1
cdef bint store_value(object value, const KernelParameter *parameter, void *to) except -1
cdef bint takes_pointer(const KernelParameter *parameter) noexcept
cdef bint takes_array(const KernelParameter *parameter, gpukern_dtype dtype) noexcept
cdef str what(const KernelParameter *parameter)
cdef str name_of_parameter(const KernelParameter *parameter)
