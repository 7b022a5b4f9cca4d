# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_device
from gpukern._streams.stream cimport Launch
from gpukern._interop.tensor cimport Tensor

cdef Tensor as_tensor(object array, str what, Launch launch)
cdef Tensor as_output(object array, str what, Launch launch)
cdef Tensor new_result(object array, Tensor like, Tensor shape, Launch launch, object beside=*,
                       Tensor place=*)
cdef object finished(Tensor like, Tensor result)
cdef object finished_beside(Tensor place, Tensor result)
cdef Tensor on_device(Tensor tensor, Tensor beside, Launch launch)
cdef int used_by(Tensor tensor, Launch launch, bint writes) except -1
cdef int enqueued(Launch launch, Tensor first, Tensor second, Tensor out) except -1
cdef gpukern_device interface_device(const void *data) except *
