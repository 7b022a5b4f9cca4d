# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from gpukern._capi cimport gpukern_tensor
from gpukern._elementwise.specialization cimport Numbers, Signature
from gpukern._streams.stream cimport Launch
from gpukern._interop.tensor cimport Tensor

cdef Tensor as_operand(object array, str what, Launch where)
cdef object position_of(list tensors, Tensor wanted)
cdef int describe_call(object function, tuple arguments, list tensors, Tensor first, char *types,
                       const gpukern_tensor **operands, Numbers *numbers) except -1
cdef Tensor broadcast_shape(object function, const gpukern_tensor *const *operands, int count)
cdef Tensor new_output(object array, Tensor like, Tensor shape, Signature signature, Launch where)
cdef bint is_plain(Tensor first) noexcept
cdef Signature require_output(object function, dict signatures, char *types, Tensor target,
                              Tensor shape, Tensor first)
cdef int require_type(object function, Tensor target) except -1
cdef object host_view(Tensor tensor)
