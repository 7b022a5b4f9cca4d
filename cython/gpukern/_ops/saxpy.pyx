# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""saxpy: the Python function."""

cimport numpy as cnp

from gpukern._capi cimport GPUKERN_OPAQUE, gpukern_saxpy
from gpukern._interop.convert cimport as_output, as_tensor, enqueued, finished, new_result
from gpukern._interop.dtype cimport is_native
from gpukern._runtime.error cimport check
from gpukern._interop.lend cimport (
    Order, begin, end, is_long, is_short, lend, new_array_like, note_write, pinned, returned,
    together,
)
from gpukern._interop.operand cimport Operand
from gpukern._interop.scalar cimport store_scalar
from gpukern._streams.stream cimport Launch, new_launch
from gpukern._interop.tensor cimport Tensor, tensor_of_ndarray
from gpukern._streams.watch cimport Watch, watch, watch_signals, watched

import numpy as np

from gpukern._interop import numpy_subclasses
from gpukern.errors import GpukernTypeError

cnp.import_array()


def saxpy(a, x, y, *, out=None, device=None, stream=None, progress=None, device_memory=None):
    """Computes ``a * x + y`` with one rounding: a fused multiply-add.

    Parameters
    ----------
    a : scalar
        A Python or NumPy number, or a 0-d host array, that converts to the dtype of `x` without
        changing kind: an int to a float, but no float to an int and no complex to a float.
    x, y : array
        Of one shape and one dtype: float16, bfloat16, float32, float64, complex64, complex128,
        int32 or int64. Host arrays: NumPy arrays, what has the buffer protocol, lists. Device
        arrays: DeviceArray, or what has ``__dlpack__`` or ``__cuda_array_interface__``.
    out : array, optional
        Written to and returned; of the same shape and dtype. May be `x` or `y`, and may overlap
        them in any way.
    device : {'cpu', 'cuda', 'cuda:N'} or int, optional
        Where host arrays are computed; by default $GPUKERN_DEVICE, or the CPU.
    stream : optional
        An int handle, or an object with ``__cuda_stream__``; by default the current stream of the
        library that the arrays come from, or the legacy default stream.
    progress : callable, optional
        Called as ``progress(done_bytes, total_bytes)`` between the parts of a call on host arrays.
        An exception from it stops the call and comes out of it; `out` is then written in part.
    device_memory : int, optional
        Bytes of device memory that host arrays may use at a time on their way through a GPU; by
        default $GPUKERN_DEVICE_MEMORY, or 1 GiB.

    Returns
    -------
    array
        `out`, or a new C-contiguous array of the kind of `x`; a scalar if that is a 0-d ndarray.

    Raises
    ------
    TypeError
        For a dtype that does not fit, and an `a` that would change kind.
    OverflowError
        For an int too large for the dtype, or for a float64 if that is a float type; between the
        two, a narrower float type gets an infinity, as in NumPy.
    ValueError
        For shapes or devices that differ.

    Notes
    -----
    Real types give ``fma(a, x, y)``, correctly rounded; the 16-bit types are computed in float32
    and then rounded. Complex types use an fma for each product. Integers wrap around. The CPU and
    every GPU give the same bits. On a GPU the call only enqueues its work. Ctrl-C stops long calls
    on host arrays between the parts of their work.
    """
    cdef object quick = None
    if device is None and stream is None and progress is None and device_memory is None:
        quick = saxpy_quickly(a, x, y, out)
        if quick is not None:
            return quick
    cdef Watch eye
    cdef Launch where = new_launch("saxpy", device, stream)
    where.limit_memory(device_memory, "saxpy: device_memory")
    cdef Tensor xs = as_operand(x, "saxpy: x", where)
    cdef Tensor ys = as_operand(y, "saxpy: y", where)
    cdef Tensor dst, target = None
    cdef double[2] a_bytes  # one element of at most 16 bytes, aligned
    if out is None:
        dst = new_result(x, xs, same_shape(xs), where)
    else:
        target = as_output(out, "saxpy: out", where)
        dst = plain(target, copy=False)
    a_bytes[0] = a_bytes[1] = 0
    store_scalar(a, xs.c.dtype, a_bytes)
    watch(&eye, &where.c, progress, dst.count() * dst.itemsize, "saxpy")
    with nogil:
        watched(&eye, gpukern_saxpy(a_bytes, &xs.c, &ys.c, &dst.c, &where.c))
    enqueued(where, xs, ys, dst)
    if where.c.explanation != NULL:
        return None  # there is no result
    if out is None:
        return finished(xs, dst)
    if dst is not target:
        target.owner[...] = dst.owner
    note_write(out)
    return out


cdef object saxpy_quickly(object a, object x, object y, object out):
    """The call on plain arrays, see lend.pxd; None for one that takes the long way."""
    cdef Operand xs, ys, dst
    cdef Order order
    cdef Watch eye
    cdef double[2] a_bytes  # one element of at most 16 bytes, aligned
    if not (lend(x, &xs, NULL) and lend(y, &ys, &xs)):
        return None
    cdef object result = new_array_like(x, &xs, xs.c.ndim, xs.shape) if out is None else out
    if result is None or not lend(result, &dst, &xs) or dst.readonly:
        return None
    if not together(&xs, &ys, &dst):
        return None
    a_bytes[0] = a_bytes[1] = 0
    store_scalar(a, xs.c.dtype, a_bytes)
    begin(&order, &xs, &ys, &dst)
    if is_short(&dst):
        check(gpukern_saxpy(a_bytes, &xs.c, &ys.c, &dst.c, &order.c))
    else:
        _pins = pinned(x, y, out, &dst.c.device)
        eye.error = NULL
        if is_long(&dst):
            watch_signals(&eye, &order.c)
        with nogil:
            watched(&eye, gpukern_saxpy(a_bytes, &xs.c, &ys.c, &dst.c, &order.c))
    end(&order, &xs)
    if out is None:
        return returned(result, &dst)
    note_write(out, &dst)
    return out


cdef Tensor as_operand(object array, str what, Launch where):
    if type(array) is not cnp.ndarray and numpy_subclasses.is_masked(array):
        raise GpukernTypeError(f"{what} must not be a masked array")
    cdef Tensor tensor = plain(as_tensor(array, what, where), copy=True)
    if tensor.c.dtype.code == GPUKERN_OPAQUE and tensor.dtype is not None:
        raise GpukernTypeError(
            f"{what} must be of a dtype that saxpy computes with, got {tensor.dtype}")
    return tensor


cdef Tensor plain(Tensor tensor, bint copy):
    """The tensor, or a native array in its place that the C side can do arithmetic on."""
    cdef cnp.ndarray made
    if not isinstance(tensor.owner, cnp.ndarray):
        return tensor
    cdef cnp.dtype dtype = tensor.dtype
    if is_native(dtype) and not tensor.odd:
        return tensor
    made = np.empty(tensor.shape(), dtype.newbyteorder("="))
    if copy:
        made[...] = tensor.owner
    return tensor_of_ndarray(made)


cdef Tensor same_shape(Tensor tensor):
    cdef Tensor shape = Tensor.__new__(Tensor)
    shape.resize(tensor.c.ndim)
    for d in range(tensor.c.ndim):
        shape.c.shape[d] = tensor.c.shape[d]
    return shape
