# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What is known of the array libraries whose arrays come in and go out.

Nothing here imports a library: an array of a library exists only where that was done already.
"""

import sys

import numpy as np

REQUIRES_GRADIENTS = (
    "requires gradients: pass its detach(), or use gpukern.torch for gather, scatter, "
    "gather_reduce, saxpy, axpby and fma"
)

# Where a library's types say that they live, by the library.
LIBRARY_OF_PACKAGE = {
    "torch": "torch",
    "cupy": "cupy",
    "jax": "jax",
    "jaxlib": "jax",
    "numba": "numba",
    "numba_cuda": "numba",
}


def library_of(kind):
    """The name of the library that a type belongs to, None for all but the known ones.

    A subclass belongs to the library of the array type that it derives from.
    """
    for base in kind.__mro__:
        library = LIBRARY_OF_PACKAGE.get(str(base.__module__).partition(".")[0])
        if library is not None:
            return library
    return None


def refusal_of(library, kind):
    """Why no array of a type can come in, as the end of a sentence; None if they can."""
    if library == "torch":
        torch = sys.modules["torch"]
        if issubclass(kind, torch.Tensor) and (
            kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
        ):
            return (
                f"is a {kind.__name__}, which holds no plain memory (it is lazy, sharded or "
                "wrapped); pass the tensor inside, such as to_local() of a DTensor, and wrap "
                "gpukern as a custom operator to trace it"
            )
    if library == "jax" and issubclass(kind, sys.modules["jax"].core.Tracer):
        return (
            "is traced by JAX and has no memory yet; call gpukern outside of jax.jit, jax.vmap "
            "and jax.grad, or through jax.pure_callback"
        )
    return None


def why_not(library, array):
    """Why one array of a library cannot come in, as the end of a sentence; None if it can."""
    if library == "torch":
        return _why_not_tensor(sys.modules["torch"], array)
    if getattr(array, "requires_grad", False):
        return REQUIRES_GRADIENTS
    if library == "jax":
        if array.is_deleted():
            return "has been deleted or donated"
        devices = array.sharding.device_set
        if len(devices) > 1:
            return (
                f"is sharded over {len(devices)} devices; pass the data of one of its "
                "addressable_shards"
            )
    return None


def why_no_value(library, array):
    """Why an array cannot stand for a scalar, as the end of a sentence; None if it can."""
    # One that is on several devices has its value on each of them.
    if library == "jax":
        return "has been deleted or donated" if array.is_deleted() else None
    return why_not(library, array)


def host_array(library, array):
    """A small array of a library as an ndarray of the same values."""
    if library == "torch":
        torch = sys.modules["torch"]
        return (array.float() if array.dtype == torch.bfloat16 else array).numpy()
    if library == "cupy":
        return sys.modules["cupy"].asnumpy(array)
    return np.asarray(array)


def _why_not_tensor(torch, tensor):
    if tensor.requires_grad and torch.is_grad_enabled():
        return REQUIRES_GRADIENTS
    if tensor.layout != torch.strided:
        return f"has the layout {tensor.layout}; pass its to_dense()"
    if tensor.is_conj() or tensor.is_neg():
        return "is conjugated or negated lazily; pass its resolve_conj().resolve_neg()"
    if tensor.is_meta:
        return "is on the meta device and has no memory"
    if _is_traced(torch):
        return "would be missed by the trace that is running; use gpukern.torch"
    forward_ad = torch.autograd.forward_ad
    if forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None:
        return "has a forward-mode tangent, which gpukern does not compute; pass its primal"
    return None


def _is_traced(torch):
    """Whether torch records or takes over what its operators do on this thread."""
    count_modes = getattr(torch._C, "_len_torch_dispatch_stack", None)
    return torch.jit.is_tracing() or (count_modes is not None and count_modes() > 0)


def current_stream(library, device_id):
    """The handle of the library's current stream on a CUDA device; None if it has none to tell."""
    if library == "torch":
        return sys.modules["torch"].cuda.current_stream(device_id).cuda_stream
    if library == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream(device_id).ptr
    if library == "numba":
        per_thread = getattr(sys.modules["numba"].config, "CUDA_PER_THREAD_DEFAULT_STREAM", 0)
        return 2 if per_thread else 1
    return None


def _allocate_torch(like, shape, device_id, dtype=None):
    if dtype is None:
        return like.new_empty(shape)
    torch = sys.modules["torch"]
    if isinstance(dtype, np.dtype):
        # NumPy's names are torch's too, as far as torch has such dtypes.
        dtype = dtype.name if dtype.isnative else ""
    if isinstance(dtype, str):
        dtype = getattr(torch, dtype, None)
    return like.new_empty(shape, dtype=dtype) if isinstance(dtype, torch.dtype) else None


def _allocate_cupy(like, shape, device_id, dtype=None):
    dtype = like.dtype if dtype is None else _number_dtype(dtype)
    if dtype is None:
        return None
    cupy = sys.modules["cupy"]
    made = cupy.ndarray(shape, dtype)
    if made.data.device_id != device_id:
        with cupy.cuda.Device(device_id):
            made = cupy.ndarray(shape, dtype)
    return made


def _allocate_numba(like, shape, device_id, dtype=None):
    dtype = like.dtype if dtype is None else _numpy_dtype(dtype)
    if dtype is None:
        return None
    cuda = sys.modules["numba.cuda"]
    with cuda.gpus[device_id]:
        return cuda.device_array(shape, dtype, stream=like.stream)


def _numpy_dtype(dtype):
    """A dtype of NumPy's, None for a name that it does not have."""
    try:
        return np.dtype(dtype)
    except TypeError:
        return None


def _number_dtype(dtype):
    """As _numpy_dtype(), None for all but NumPy's own numbers in native byte order."""
    dtype = _numpy_dtype(dtype)
    return dtype if dtype is not None and dtype.kind in "biufc" and dtype.isnative else None


# Per library: an uninitialised, C-contiguous array like another one, of its dtype or of one of
# NumPy's, of the library's own or by name, from the library's allocator; None for a dtype that it
# does not have. JAX has no such function, and adopts our memory.
ALLOCATORS = {"torch": _allocate_torch, "cupy": _allocate_cupy, "numba": _allocate_numba}


def _allocate_permuted_torch(like, shape, order, device_id):
    torch = sys.modules["torch"]
    return torch.empty_permuted(shape, order, dtype=like.dtype, device=like.device)


def _allocate_permuted_cupy(like, shape, order, device_id):
    made = _allocate_cupy(like, tuple([shape[axis] for axis in order]), device_id)
    return made if made is None else made.transpose([order.index(d) for d in range(len(order))])


# Per library: an uninitialised array like another one, contiguous with its axes in an order, the
# outermost first.
PERMUTED_ALLOCATORS = {"torch": _allocate_permuted_torch, "cupy": _allocate_permuted_cupy}

# What a library may raise for an array that it does not share.
FOREIGN_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


def empty_like_of(library):
    """The library's function for an array like a C-contiguous one, where it is faster."""
    return sys.modules["torch"].empty_like if library == "torch" else None


def adopt(library, array):
    """Hands an array to the library, without a copy, by its own DLPack import."""
    if library == "jax":
        import jax.dlpack

        return jax.dlpack.from_dlpack(array)
    return sys.modules[library].from_dlpack(array)
