# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""copyto(): copies between host and device arrays; synchronize(): waits for a stream."""

from gpukern._capi cimport (
    gpukern_copy, gpukern_copy_async, gpukern_device, gpukern_status, gpukern_synchronize,
)
from gpukern._interop.convert cimport as_output, as_tensor, used_by
from gpukern._memory.creation cimport concrete_device
from gpukern._interop.dtype cimport require_plain
from gpukern._runtime.error cimport check
from gpukern._streams.keepalive cimport keep_until_done, kept_count, let_go
from gpukern._interop.lend cimport note_write
from gpukern._streams.stream cimport Launch, new_launch
from gpukern._interop.tensor cimport Tensor, bytes_of

from gpukern._interop import numpy_subclasses
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
        ``blocking=False`` also if the host array of a copy to or from a GPU is not C-contiguous,
        or, while a CUDA graph is captured, not page-locked.

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
    cdef Launch where = new_launch("copyto", None, stream)
    cdef Tensor target, source, to, origin, host
    cdef bint across, waits = blocking
    cdef gpukern_device device
    cdef gpukern_status status
    if numpy_subclasses.is_masked(dst) or numpy_subclasses.is_masked(src):
        raise GpukernTypeError("copyto: dst and src must not be masked arrays")
    target = as_output(dst, "copyto: dst", where)
    source = as_tensor(src, "copyto: src", where)
    require_alike(target, source)
    host = source if source.host else target
    across = source.host != target.host
    if across and not waits:
        require_contiguous(host, "copyto: src" if host is source else "copyto: dst")
    to, origin = target, source
    if target.odd or source.odd:
        to, origin = bytes_of(target), bytes_of(source)
    with nogil:
        if waits:
            status = gpukern_copy(&origin.c, &to.c, &where.c)
        else:
            status = gpukern_copy_async(&origin.c, &to.c, &where.c)
        check(status)
    if across and not waits:
        device = source.c.device if host is target else target.c.device
        keep_until_done(host.owner, device, where.c.stream)
    used_by(source, where, False)
    used_by(target, where, True)
    where.finish()
    note_write(dst)


cdef int require_alike(Tensor target, Tensor source) except -1:
    require_plain(source.dtype, "copyto: src")
    if target.dtype != source.dtype:
        raise GpukernTypeError(
            f"copyto: dst must have src's dtype {source.dtype}, got {target.dtype}")
    if target.shape() != source.shape():
        raise GpukernValueError(
            f"copyto: dst must have src's shape {source.shape()}, got {target.shape()}")
    return 0


cdef int require_contiguous(Tensor tensor, str what) except -1:
    """Raises for a host array that the CPU would have to pack or unpack."""
    cdef Py_ssize_t stride = 1
    cdef bint contiguous = not tensor.odd
    cdef int d
    for d in range(tensor.c.ndim - 1, -1, -1):
        contiguous &= tensor.c.shape[d] == 1 or tensor.c.strides[d] == stride
        stride *= tensor.c.shape[d]
    if not contiguous and tensor.count() > 0:
        raise GpukernValueError(
            f"{what} must be C-contiguous where it lies on the host, with blocking=False")
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
    cdef Launch where = new_launch("synchronize", None, stream)
    with nogil:
        check(gpukern_synchronize(target, &where.c))
    if kept_count > 0:
        let_go()
