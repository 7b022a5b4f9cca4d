# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._interop.cupy cimport CupyAttributes
from gpukern._interop.exchange cimport ExchangeApi
from gpukern._interop.torch cimport TorchState

# How the arrays of a type come in.
cdef enum Protocol:
    BY_NUMPY       # an ndarray, or what becomes one: the buffer protocol, lists
    BY_EXCHANGE    # DLPack's C exchange API
    BY_ATTRIBUTES  # CuPy's own
    BY_DLPACK
    BY_INTERFACE   # __cuda_array_interface__

cdef class Kind:
    cdef object type
    cdef Protocol protocol
    cdef object library
    cdef object refusal
    cdef object allocate
    cdef object empty_like
    cdef const ExchangeApi *api
    cdef object requires_grad
    cdef CupyAttributes attributes
    cdef TorchState torch

cdef Kind kind_of(object array)
