# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""nonzero: the Python function."""

from libc.stdint cimport int64_t

from gpukern._capi cimport (
    GPUKERN_CPU, GPUKERN_INT, gpukern_nonzero, gpukern_select_options, gpukern_tensor,
)
from gpukern._interop.result cimport new_result
from gpukern._ops.indexing.indexed_write cimport largest
from gpukern._ops.selection.count_nonzero cimport (
    as_int64, as_size, counted, describe_mask, require_no_fill_value,
)
from gpukern._streams.call cimport Argument, CallContext, begin_call, end_call, finish, start

import numpy as np

from gpukern._ops.docstrings import complete_docstring

cdef object INT64 = np.dtype(np.int64)


def nonzero(mask, *, size=None, fill_value=0, device=None, stream=None, progress=None,
            device_memory=None):
    """Returns the coordinates of the nonzero elements of an array, as :func:`numpy.nonzero`.

    Parameters
    ----------
    mask : array
        Of one dimension or more; arrays are accepted as in :func:`gather`. Of dtype bool, an
        integer, float16, bfloat16, float32, float64, complex64 or complex128. -0.0 is zero and NaN
        is not.
    size : int, optional
        The number of coordinates to return: those of the first elements, and `fill_value` if there
        are fewer nonzero elements. By default the nonzero elements are counted first.
    fill_value : int
        For `size`; without it, only the default 0.
    {call_options}

    Returns
    -------
    tuple of arrays
        For each dimension the coordinates in C order: int64 arrays of the library of the mask,
        which are rows of one array.

    Raises
    ------
    TypeError
        For a mask of another dtype.
    ValueError
        For a 0-d mask, as in NumPy, and for other invalid arguments. Without `size`, while the
        stream is captured into a CUDA graph.

    Notes
    -----
    On a GPU, the call waits for the stream to count; with `size` it only enqueues its work.

    Examples
    --------
    >>> nonzero([[3, 0], [0, 5]])
    (array([0, 1]), array([0, 1]))
    >>> nonzero([False, True, True], size=4, fill_value=-1)
    (array([ 1,  2, -1, -1]),)
    """
    cdef CallContext call
    cdef Argument msk, dst
    cdef gpukern_select_options options
    cdef gpukern_tensor fill
    cdef int64_t[2] sizes
    cdef int64_t number
    begin_call(&call, "nonzero", device, stream, progress, device_memory)
    number = as_int64(&call, fill_value, "fill_value")
    require_no_fill_value("nonzero", size, number)
    describe_mask(&call, mask, &msk)
    fill.data = &number
    fill.shape = fill.strides = NULL
    fill.ndim = 0
    fill.byte_offset = 0
    fill.device.device_type, fill.device.device_id = GPUKERN_CPU, 0
    fill.dtype.code, fill.dtype.bits, fill.dtype.lanes = GPUKERN_INT, 64, 1
    options.struct_size = sizeof(gpukern_select_options)
    options.fill_value = &fill
    sizes[0] = msk.c.ndim
    sizes[1] = as_size(&call, size) if size is not None else counted(&call, &msk, &msk.c)
    result = new_result(&call, &msk, INT64, 2, sizes, &dst)
    start(&call, largest(&msk, &dst))
    finish(&call, gpukern_nonzero(&msk.c, &dst.c, &options, &call.c))
    rows = end_call(&call, result, &dst)
    if rows is None:
        return None
    return (rows[0],) if sizes[0] == 1 else tuple([rows[d] for d in range(sizes[0])])


complete_docstring(nonzero)
