# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._interop.dlpack cimport ExchangeApi
from gpukern._interop.library_internals cimport CupyAttributes, TorchState

# How the arrays of a type are described; see argument.pyx.
cdef enum Protocol:
    BY_NDARRAY       # an ndarray or a subclass
    BY_DEVICE_ARRAY  # our own
    BY_EXCHANGE      # DLPack's C exchange API
    BY_ATTRIBUTES    # CuPy's own
    BY_DLPACK
    BY_INTERFACE     # __cuda_array_interface__
    BY_NUMPY         # what numpy.asarray() converts: the buffer protocol, lists
    PROTOCOLS

cdef class ArrayType:
    cdef object type
    cdef Protocol protocol
    cdef object library
    cdef object refusal
    cdef object allocate
    cdef object empty_like
    cdef object allocate_permuted
    cdef bint adopts
    cdef bint is_sequence
    cdef bint is_builtin
    cdef bint is_masked
    cdef bint overrides_ufuncs
    cdef const ExchangeApi *api
    cdef object requires_grad
    cdef CupyAttributes attributes
    cdef TorchState torch

cdef ArrayType array_type_of(object array)
cdef int refuse_own_arithmetic(ArrayType type_, object what) except -1
cdef int register_device_array(object type_) except -1
