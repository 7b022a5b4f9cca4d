# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""What torch does around its operators, asked by a call that is none of them.

A call reads and writes the memory of tensors past torch's dispatcher. A trace would record the
empty result, and a forward-mode derivative would be lost: libraries.py refuses such calls. This
module has the cheap checks; where a version of torch lacks one of its private functions, the check
passes.

Python's way to the answers takes a third of a call: for each of them torch builds objects and
guards that a look at a counter has no need of. So the C++ functions behind it are called, in
the releases of torch that this was tried with, where its libraries export them. Otherwise Python's
way is taken. See benchmarks/notes/call_cost.md.
"""

from cpython.long cimport PyLong_AsVoidPtr

from gpukern._capi cimport gpukern_tensor
from gpukern._interop.descriptor cimport get

import sys

# The first and the last release that the functions in C++ were tried with. Their names hold their
# arguments, but nothing holds what these are made of: other releases go Python's way.
KNOWN_TORCH = ((2, 11), (2, 15))

cdef extern from "<dlfcn.h>" nogil:
    int RTLD_LAZY, RTLD_NOLOAD
    void *dlopen(const char *file, int mode)
    void *dlsym(void *handle, const char *name)


cdef class TorchState:
    """Functions of torch's that are called for every tensor, looked up once.

    The functions in C++ stand behind the Python functions before them, and are NULL where the
    latter are to be called. `address` is the descriptor of a tensor's `_cdata`, the address of its
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

    cdef bint describe(self, object tensor, gpukern_tensor *to, void **implementation) except -1:
        """As the exchange API describes a tensor, without its casts of a Python object; only where
        `c_to_dlpack` is not NULL. Returns False for a tensor that requires gradients."""
        implementation[0] = PyLong_AsVoidPtr(get(self.address, tensor))
        self.c_to_dlpack(implementation, to, False)
        return not self.c_requires_grad(implementation[0])

    cdef int note_write(self, object tensor, void *implementation=NULL) except -1:
        """Tells autograd that a tensor was written to, which it may have saved."""
        if self.c_bump_version != NULL:
            if implementation == NULL:
                implementation = PyLong_AsVoidPtr(get(self.address, tensor))
            try:
                self.c_bump_version(&implementation)
                return 0
            except RuntimeError:
                # A tensor of inference mode outside of it, which Python's way passes over. The
                # exception takes a millisecond: nobody shall pay that twice.
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
    """Looks for torch's functions in C++."""
    made.c_count_modes = <CountModes>symbol(
        "libc10.so", "_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv")
    made.c_tracing_state = <TracingState>symbol(
        "libtorch_cpu.so", "_ZN5torch3jit6tracer15getTracingStateEv")
    # A subclass may have a say in what its attributes are.
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
    """A function of a library that is loaded, NULL if there is none of that name."""
    cdef void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD)
    # The handle is kept: so the function stays.
    return NULL if handle == NULL else dlsym(handle, name)
