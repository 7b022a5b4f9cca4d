# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from cpython.object cimport Py_TYPE
from libc.stdint cimport int64_t
from libcpp cimport bool as cbool

from gpukern._capi cimport gpukern_tensor

# int64_t c10::impl::TorchDispatchModeTLS::stack_len()
ctypedef int64_t (*CountModes)() noexcept
# const std::shared_ptr<TracingState>& torch::jit::tracer::getTracingState()
ctypedef void **(*TracingState)() noexcept
# void torch::autograd::impl::bump_version(const at::Tensor&)
ctypedef void (*BumpVersion)(void **tensor) except +
# void at::toDLPackNonOwning(const at::Tensor&, DLTensor*, bool read_only), or without the last,
# which such a function does not look at. gpukern_tensor has the layout of DLTensor.
ctypedef void (*ToDlpack)(void **tensor, gpukern_tensor *to, cbool read_only) except +
# bool c10::TensorImpl::requires_grad() const
ctypedef cbool (*RequiresGrad)(void *implementation) noexcept
# intptr_t get_stream_ptr(int) of CuPy
ctypedef Py_ssize_t (*StreamOfDevice)(int) except? -1

# What torch says of a tensor; it refuses those whose memory it cannot share.
cdef enum TensorState:
    REFUSED
    REQUIRES_GRAD
    PLAIN

cdef class TorchState:
    cdef object count_modes
    cdef object is_tracing
    cdef dict forward_ad
    cdef object increment_version
    cdef object address
    cdef CountModes c_count_modes
    cdef TracingState c_tracing_state
    cdef BumpVersion c_bump_version
    cdef ToDlpack c_to_dlpack
    cdef RequiresGrad c_requires_grad
    cdef bint is_plain(self) except -1
    cdef bint is_traced(self) except -1
    cdef TensorState describe(self, object tensor, gpukern_tensor *to,
                              void **implementation) except? REFUSED
    cdef int note_write(self, object tensor, void *implementation=*) except -1

cdef class CupyAttributes:
    cdef object data, size, ndim, contiguous, dtype, shape, strides
    cdef object pointer, device_id
    cdef StreamOfDevice stream_of_device
    cdef bint fill(self, object array, gpukern_tensor *tensor, int max_ndim,
                   bint address_only) except -1
    cdef void *current_stream(self, int device_id) except? NULL

cdef TorchState torch_state(object kind)
cdef CupyAttributes cupy_attributes(object kind)

cdef inline object get(object descriptor, object array):
    """The attribute of an object behind a descriptor of its type, without the look-up by name."""
    return Py_TYPE(descriptor).tp_descr_get(descriptor, array, <object>Py_TYPE(array))
