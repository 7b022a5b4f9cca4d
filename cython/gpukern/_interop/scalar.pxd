# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_dtype
from gpukern._streams.call cimport Argument, CallContext

cdef object elements_of(CallContext *call, object value, str name, const Argument *like)
cdef bint as_bool(object given, object function, str name) except -1
cdef object as_basic_index(object part)
cdef bint is_number(object value) noexcept
cdef object on_host(object value, str what)
cdef int store_scalar(object number, str name, gpukern_dtype dtype, void *stored) except -1
cdef object float_of_int(object value)
