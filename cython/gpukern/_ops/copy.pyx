# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""copyto(): copies between host and device arrays; synchronize(): waits for a stream."""

from libc.stdint cimport int64_t, uint64_t

from gpukern._capi cimport (
    GPUKERN_OPAQUE, gpukern_copy, gpukern_copy_async, gpukern_device, gpukern_synchronize,
    gpukern_tensor,
)
from gpukern._interop.argument cimport (
    as_bytes, count_of, describe, describe_output, dtype_of, refuse_masked, same_shape,
    shape_of,
)
from gpukern._interop.dtype cimport require_plain
from gpukern._interop.scalar cimport as_bool
from gpukern._memory.creation cimport concrete_device
from gpukern._runtime.runtime cimport check
from gpukern._streams.call cimport Argument, CallContext, begin_call, end_call, finish, start, what
from gpukern._streams.keep_alive cimport keep_until_done, release_completed

from gpukern.errors import GpukernTypeError, GpukernValueError


def copyto(dst, src, *, stream=None, blocking=True):
    """Copies an array into another of the same shape and dtype, on the host or a GPU.

    Parameters
    ----------
    dst : array
        The destination: a NumPy array, an object that exports a writable buffer, or a writable
        device array.
    src : array
        Of the shape and dtype of `dst`, on the host or on the GPU of `dst`; see :func:`gather`.
    stream : optional
        An int handle, or an object with ``__cuda_stream__``; by default the current stream of the
        library of `dst`, or else of `src`, or the legacy default stream.
    blocking : bool
        Whether to wait for a copy between host and GPU; otherwise it is only enqueued.

    Raises
    ------
    TypeError
        If the dtypes differ, for arrays of Python objects and masked arrays, and if `dst` cannot be
        written to.
    ValueError
        If the shapes differ, for arrays on two GPUs, and if `dst` is read-only. With
        ``blocking=False`` also if the host array of a copy to or from a GPU is not C-contiguous or,
        while a CUDA graph is captured, not page-locked, and if `dst` is a view of fields there.

    Notes
    -----
    A copy within one GPU is always enqueued; a copy between host arrays is complete on return.

    With ``blocking=False`` a host array in page-locked memory (:func:`pinned_empty`) is copied
    asynchronously, also by a CUDA graph. CUDA stages pageable memory: the call may wait for the
    stream, and a copy from the GPU returns when it is complete. In both cases, do not modify `src`
    and do not read a `dst` on the host until the stream has passed the copy, for example after
    :func:`synchronize`. gpukern does not order accesses to a host array from several streams or
    from the CPU; the caller must. Both arrays are kept alive until then, except for captured
    graphs, for which the caller keeps them.
    """
    cdef CallContext call
    cdef Argument to, origin
    cdef Argument *host
    cdef const gpukern_tensor *target
    cdef const gpukern_tensor *source
    cdef bint across, waits = as_bool(blocking, "copyto", "blocking")
    begin_call(&call, "copyto", None, stream, None, None)
    describe_output(&call, dst, "dst", &to)
    describe(&call, src, "src", &origin)
    require_alike(&call, &to, &origin)
    host = &origin if origin.host else &to
    across = origin.host != to.host
    if across and not waits:
        require_contiguous(&call, host)
    target, source = &to.c, &origin.c
    if to.byte_strided or origin.byte_strided:
        target, source = as_bytes(&call, &to), as_bytes(&call, &origin)
    # A copy from a GPU may wait for other work.
    start(&call, <const Argument *>NULL if across else &to)
    if waits:
        finish(&call, gpukern_copy(source, target, &call.c))
    else:
        finish(&call, gpukern_copy_async(source, target, &call.c))
    if across and not waits:
        keep_until_done(<object>host.owner, call.device, call.c.stream)
    end_call(&call, None, &to)


cdef int require_alike(CallContext *call, const Argument *to, const Argument *origin) except -1:
    cdef bint plain = to.c.dtype.code != GPUKERN_OPAQUE and origin.c.dtype.code != GPUKERN_OPAQUE
    refuse_masked(call, to)
    refuse_masked(call, origin)
    if not plain:
        require_plain(dtype_of(origin), "copyto: src")
    cdef object dtype = dtype_of(to), given = dtype_of(origin)
    if dtype is not given and dtype != given:
        raise GpukernTypeError(f"copyto: dst must have src's dtype {given}, got {dtype}")
    if not same_shape(&to.c, &origin.c):
        raise GpukernValueError(f"copyto: dst must have src's shape {shape_of(&origin.c)}, "
                                f"got {shape_of(&to.c)}")
    return 0


cdef int require_contiguous(CallContext *call, const Argument *argument) except -1:
    """Refuses a host array that the CPU would have to pack, or to unpack after the copy."""
    cdef uint64_t stride = 1
    cdef bint contiguous = not argument.byte_strided
    cdef int d
    if argument.target != NULL:
        raise GpukernValueError(f"{what(call, argument)} must have no bytes beside its fields that "
                                "may be others', with blocking=False")
    if argument.c.strides == NULL:
        return 0
    for d in range(argument.c.ndim - 1, -1, -1):
        contiguous &= argument.c.shape[d] == 1 or argument.c.strides[d] == <int64_t>stride
        stride *= <uint64_t>argument.c.shape[d]
    if not contiguous and count_of(&argument.c) > 0:
        raise GpukernValueError(f"{what(call, argument)} must be C-contiguous on the host, "
                                "with blocking=False")
    return 0


def synchronize(device=0, stream=None):
    """Waits until the work enqueued on a stream of a device has run.

    Parameters
    ----------
    device : int or str
        The ordinal of a CUDA device, 'cuda' or 'cuda:N'; 'cpu' returns immediately.
    stream : optional
        An int handle, or an object with ``__cuda_stream__``; the legacy default stream without it.

    Raises
    ------
    ValueError
        While the stream captures a CUDA graph.
    RuntimeError
        If there is no such device, or if a kernel fault made its CUDA context unusable.
    """
    cdef gpukern_device target = concrete_device(device, "synchronize: device")
    cdef CallContext call
    begin_call(&call, "synchronize", None, stream, None, None)
    with nogil:
        check(gpukern_synchronize(target, &call.c))
    release_completed()
