# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

from libc.stdint cimport int64_t

# int64_t c10::impl::TorchDispatchModeTLS::stack_len()
ctypedef int64_t (*CountModes)() noexcept
# const std::shared_ptr<TracingState>& torch::jit::tracer::getTracingState()
ctypedef void **(*TracingState)() noexcept
# void torch::autograd::impl::bump_version(const at::Tensor&)
ctypedef void (*BumpVersion)(void **tensor) except +

cdef class TorchState:
    cdef object count_modes
    cdef object is_tracing
    cdef dict forward_ad
    cdef object increment_version
    cdef object address
    cdef CountModes c_count_modes
    cdef TracingState c_tracing_state
    cdef BumpVersion c_bump_version
    cdef bint is_plain(self) except -1
    cdef bint is_traced(self) except -1
    cdef int note_write(self, object tensor) except -1

cdef TorchState torch_state(object kind)
