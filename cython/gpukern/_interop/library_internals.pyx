# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""What calls read of torch and CuPy past their public interfaces, and which costs less there.

A call reads and writes the memory of torch tensors past torch's dispatcher. A trace would record
the empty result, and a forward-mode derivative would be lost: libraries.py refuses such calls, and
TorchState has the cheap checks. Where a version of torch lacks one of its private functions, the
check passes. torch's Python functions build objects and guards for these answers, a third of a
call's time. So the C++ functions behind them are called, in the releases of torch that were
tested, where its libraries export them; otherwise the Python functions are.

CuPy has no DLPack C exchange API yet. A capsule of its __dlpack__ costs several times the handful
of attributes that say the same, and its __cuda_array_interface__ more still. The attributes are
descriptors of an extension type: looked up once, then called.

See benchmarks/notes/call_cost.md.
"""

cimport numpy as cnp
from cpython.long cimport PyLong_AsVoidPtr
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from libc.stdint cimport uintptr_t

from gpukern._capi cimport GPUKERN_CUDA, GPUKERN_OPAQUE, gpukern_tensor
from gpukern._interop.dtype cimport describe_dtype

import sys

# ---- torch ----

# The first and the last release whose C++ functions were tested. A mangled name fixes the types of
# the arguments, but not their layout: in other releases the Python functions are called.
KNOWN_TORCH = ((2, 11), (2, 15))

cdef extern from *:
    """
    // A try block of Cython costs 8 ns, one of C++ nothing.
    template <class Function, class Tensor>
    bool try_to_dlpack(Function to_dlpack, void **tensor, Tensor *to) noexcept {
      try {
        to_dlpack(tensor, to, false);
        return true;
      } catch (...) {
        return false;
      }
    }
    """
    bint try_to_dlpack(ToDlpack to_dlpack, void **tensor, gpukern_tensor *to) noexcept

cdef extern from "<dlfcn.h>" nogil:
    int RTLD_LAZY, RTLD_NOLOAD
    void *dlopen(const char *file, int mode)
    void *dlsym(void *handle, const char *name)


cdef class TorchState:
    """torch's functions for every tensor, looked up once.

    The c_ functions implement the Python functions before them, and are NULL where those are to be
    called. `address` is the descriptor of a tensor's `_cdata`, the address of its
    TensorImpl; an at::Tensor is a pointer to that.
    """

    cdef bint is_plain(self) except -1:
        """Whether this thread neither traces nor takes forward-mode derivatives."""
        return not self.is_traced() and self.forward_ad.get("_current_level", -1) < 0

    cdef bint is_traced(self) except -1:
        if self.c_count_modes != NULL and self.c_tracing_state != NULL:
            # A std::shared_ptr begins with its pointer, NULL for no trace.
            return self.c_count_modes() != 0 or self.c_tracing_state()[0] != NULL
        return ((self.count_modes is not None and self.count_modes() != 0)
                or (self.is_tracing is not None and self.is_tracing()))

    cdef TensorState describe(self, object tensor, gpukern_tensor *to,
                              void **implementation) except? REFUSED:
        """Describes a tensor as the exchange API does, at a lower cost; only where `c_to_dlpack` is
        not NULL."""
        implementation[0] = PyLong_AsVoidPtr(get(self.address, tensor))
        if not try_to_dlpack(self.c_to_dlpack, implementation, to):
            return REFUSED
        return REQUIRES_GRAD if self.c_requires_grad(implementation[0]) else PLAIN

    cdef int note_write(self, object tensor, void *implementation=NULL) except -1:
        """Tells autograd that a tensor was written to, which it may have saved."""
        if self.c_bump_version != NULL:
            if implementation == NULL:
                implementation = PyLong_AsVoidPtr(get(self.address, tensor))
            try:
                self.c_bump_version(&implementation)
                return 0
            except RuntimeError:
                # A tensor of inference mode outside of it, which the Python function ignores. The
                # exception takes a millisecond: from now on, the Python function is called.
                self.c_bump_version = NULL
        if self.increment_version is not None:
            self.increment_version((tensor,))
        return 0


cdef TorchState torch_state(object kind):
    """The functions for tensors of a type."""
    torch = sys.modules["torch"]
    cdef TorchState made = TorchState.__new__(TorchState)
    made.count_modes = getattr(torch._C, "_len_torch_dispatch_stack", None)
    made.is_tracing = getattr(torch._C, "_is_tracing", None)
    made.forward_ad = vars(torch.autograd.forward_ad)
    # The function behind torch.autograd.graph.increment_version, at half its cost.
    made.increment_version = getattr(torch._C, "_increment_version", None)
    if made.increment_version is not None:
        try:
            made.increment_version((torch.empty(0, device="cpu"),))
        except TypeError:  # an older one takes a single tensor
            made.increment_version = getattr(torch.autograd.graph, "increment_version", None)
    if KNOWN_TORCH[0] <= release_of(torch) <= KNOWN_TORCH[1]:
        find_functions(made, torch, kind)
    return made


cdef int find_functions(TorchState made, object torch, object kind) except -1:
    """Looks up torch's C++ functions."""
    made.c_count_modes = <CountModes>symbol(
        "libc10.so", "_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv")
    made.c_tracing_state = <TracingState>symbol(
        "libtorch_cpu.so", "_ZN5torch3jit6tracer15getTracingStateEv")
    # A subclass may override attributes.
    if kind is not torch.Tensor or not hasattr(type(kind._cdata), "__get__"):
        return 0
    made.address = kind._cdata
    made.c_bump_version = <BumpVersion>symbol(
        "libtorch_cpu.so", "_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE")
    made.c_requires_grad = <RequiresGrad>symbol(
        "libc10.so", "_ZNK3c1010TensorImpl13requires_gradEv")
    if made.c_requires_grad != NULL:
        made.c_to_dlpack = <ToDlpack>symbol(
            "libtorch_cpu.so", "_ZN2at17toDLPackNonOwningERKNS_6TensorEP8DLTensorb")
        if made.c_to_dlpack == NULL:
            made.c_to_dlpack = <ToDlpack>symbol(
                "libtorch_cpu.so", "_ZN2at17toDLPackNonOwningERKNS_6TensorEP8DLTensor")
    return 0


cdef tuple release_of(object torch):
    """(major, minor) of torch's version; (0, 0) if it cannot be read."""
    try:
        return tuple(map(int, str(torch.__version__).split(".")[:2]))
    except ValueError:
        return (0, 0)


cdef void *symbol(const char *library, const char *name) noexcept:
    """A function of a library that is loaded, NULL if either is missing."""
    cdef void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD)
    # The handle stays open, so the function stays loaded.
    return NULL if handle == NULL else dlsym(handle, name)


# ---- CuPy ----

# The C signature under which CuPy's Cython modules share the function that we call.
cdef const char *STREAM_SIGNATURE = "intptr_t (int)"


cdef CupyAttributes cupy_attributes(object kind):
    """The descriptors of a cupy.ndarray; None if one is missing in this version of CuPy."""
    cdef CupyAttributes made = CupyAttributes.__new__(CupyAttributes)
    pointer_type = sys.modules["cupy"].cuda.MemoryPointer
    try:
        made.data, made.size, made.ndim = kind.data, kind.size, kind.ndim
        made.contiguous, made.dtype = kind._c_contiguous, kind.dtype
        made.shape, made.strides = kind.shape, kind.strides
        made.pointer, made.device_id = pointer_type.ptr, pointer_type.device_id
    except AttributeError:
        return None
    descriptors = (made.data, made.size, made.ndim, made.contiguous, made.dtype, made.shape,
                   made.strides, made.pointer, made.device_id)
    if not all([hasattr(type(found), "__get__") for found in descriptors]):
        return None
    made.stream_of_device = NULL
    streams = sys.modules.get("cupy_backends.cuda.stream")
    shared = getattr(streams, "__pyx_capi__", {}).get("get_stream_ptr")
    if PyCapsule_IsValid(shared, STREAM_SIGNATURE):
        made.stream_of_device = <StreamOfDevice>PyCapsule_GetPointer(shared, STREAM_SIGNATURE)
    return made


cdef class CupyAttributes:
    """How to read a cupy.ndarray, and CuPy's current stream."""

    cdef bint fill(self, object array, gpukern_tensor *tensor, int max_ndim,
                   bint address_only) except -1:
        """Describes an array, its sizes in the memory that tensor.shape and tensor.strides point
        to. Returns False for an array that only DLPack can describe."""
        cdef object memory = get(self.data, array)
        cdef cnp.dtype dtype = get(self.dtype, array)
        cdef int d
        describe_dtype(dtype, &tensor.dtype)
        tensor.data = <void *><uintptr_t>get(self.pointer, memory)
        tensor.device.device_type = GPUKERN_CUDA
        tensor.device.device_id = get(self.device_id, memory)
        tensor.byte_offset = 0
        if address_only:
            tensor.ndim = 0
            return True
        tensor.ndim = get(self.ndim, array)
        if tensor.ndim > max_ndim or tensor.dtype.code == GPUKERN_OPAQUE:
            return False
        cdef bint contiguous = get(self.contiguous, array)
        if tensor.ndim == 1 and contiguous:
            tensor.shape[0] = get(self.size, array)
        else:
            shape = get(self.shape, array)
            for d in range(tensor.ndim):
                tensor.shape[d] = shape[d]
        if contiguous:
            tensor.strides = NULL
            return True
        return fill_strides(get(self.strides, array), dtype.itemsize, tensor)

    cdef void *current_stream(self, int device_id) except? NULL:
        if self.stream_of_device != NULL:
            return <void *>self.stream_of_device(device_id)
        stream = sys.modules["cupy"].cuda.get_current_stream(device_id)
        return <void *><uintptr_t>stream.ptr


cdef bint fill_strides(object strides, Py_ssize_t itemsize, gpukern_tensor *tensor) except -1:
    """Strides in elements from strides in bytes; False if they are no whole elements."""
    cdef int d
    cdef Py_ssize_t stride
    for d in range(tensor.ndim):
        stride = strides[d]
        if stride % itemsize != 0:
            return False
        tensor.strides[d] = stride // itemsize
    return True
