# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._streams.call cimport Argument, CallContext

cdef object compute_saxpy(str function, int position, object a, object x, object y, object out,
                          object rounding, object seed, object device, object stream,
                          object progress, object device_memory)
cdef int describe_numbers(CallContext *call, object array, str name, Argument *argument) except -1
cdef object result_of(CallContext *call, const Argument *x, const Argument *y, object out,
                      Argument *dst)
