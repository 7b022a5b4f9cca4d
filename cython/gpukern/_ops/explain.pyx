# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""explain: where a call would run, and why.

The operation itself is called, and its context (call.pxd) takes the request: the call describes its
arguments as usual, and the C function fills in the explanation instead of running.
"""

cimport cython
from libc.string cimport memset

from gpukern._capi cimport (
    GPUKERN_CPU, GPUKERN_PATH_CONTIGUOUS, GPUKERN_PATH_ITEMS, GPUKERN_PATH_NONE,
    GPUKERN_PATH_PARTITIONED, GPUKERN_PATH_ROWS, GPUKERN_PATH_STRIDED, GPUKERN_RULE_ARGUMENT,
    GPUKERN_RULE_ARRAYS, GPUKERN_RULE_ENVIRONMENT, GPUKERN_RULE_HOST, GPUKERN_RULE_KERNEL,
    GPUKERN_RULE_MEMORY, GPUKERN_RULE_NO_GPU, GPUKERN_RULE_SOURCE, gpukern_explanation,
)
from gpukern._ops.indexing.indexed_read cimport is_distributed, is_special
from gpukern._streams.call cimport request_explanation

from gpukern._elementwise.dispatch import Elementwise
from gpukern._ops.axpby import axpby
from gpukern._ops.fma import fma
from gpukern._ops.indexing.gather import gather, take
from gpukern._ops.indexing.put_along_axis import put_along_axis
from gpukern._ops.indexing.scatter import bincount, scatter
from gpukern._ops.indexing.take_along_axis import take_along_axis
from gpukern._ops.reduction.gather_reduce import gather_reduce
from gpukern._ops.reduction.segment_reduce import segment_reduce
from gpukern._ops.saxpy import saxpy
from gpukern._ops.saxpy_many import saxpy_many
from gpukern._ops.selection.compress import compress
from gpukern._ops.selection.count_nonzero import count_nonzero
from gpukern._ops.selection.nonzero import nonzero
from gpukern._runtime.runtime import cuda_status
from gpukern.errors import GpukernTypeError

cdef dict OPERATIONS = {function: function.__name__ for function in (
    axpby, bincount, compress, count_nonzero, fma, gather, gather_reduce, nonzero, put_along_axis,
    saxpy, saxpy_many, scatter, segment_reduce, take_along_axis)}
OPERATIONS[take] = "gather"
# The argument whose arrays of objects and masked arrays take several calls, by place and name.
cdef dict SOURCES = {gather: (0, "source"), take: (0, "a"), take_along_axis: (0, "source"),
                     compress: (1, "x")}

cdef dict PATHS = {
    GPUKERN_PATH_NONE: "nothing to do",
    GPUKERN_PATH_CONTIGUOUS: "contiguous",
    GPUKERN_PATH_STRIDED: "strided",
    GPUKERN_PATH_ITEMS: "items",
    GPUKERN_PATH_ROWS: "rows",
    GPUKERN_PATH_PARTITIONED: "partitioned",
}

cdef dict RULES = {
    GPUKERN_RULE_ARRAYS: "the arrays are on this device",
    GPUKERN_RULE_ARGUMENT: "device= selects it",
    GPUKERN_RULE_ENVIRONMENT: "GPUKERN_DEVICE selects it",
    GPUKERN_RULE_HOST: "host arrays are computed on the CPU",
    GPUKERN_RULE_NO_GPU: "GPUKERN_DEVICE is cuda, but there is no GPU",
    GPUKERN_RULE_SOURCE: "a GPU was selected, but the CPU is faster for this source",
    GPUKERN_RULE_KERNEL: "it calls CUDA C++, which needs a GPU",
    GPUKERN_RULE_MEMORY: "a GPU was selected, but device_memory holds no part of the arrays",
}


@cython.auto_pickle(True)
@cython.final
cdef class Explanation:
    """What a call would do; ``str()`` gives one line.

    Attributes
    ----------
    op : str
        The name of the operation or of the element-wise function.
    place : str
        The computing device: 'cpu' or 'cuda:N'.
    why : str
        The rule that chose the device.
    path : str
        'contiguous' or 'strided' for arithmetic and element-wise functions; else 'items', 'rows'
        (several accesses per item), 'strided' or 'partitioned' (indices sorted by slices of the
        source or target; for gather, a sample of them on the GPU may change it to 'items');
        'nothing to do'.
    threads : int
        The number of CPU threads, including those that stage data for a GPU; 0 for none.
    chunks : int
        The number of chunks in which host memory passes through a GPU; 0 for none.
    bytes_read, bytes_written : int
        Bytes that the computing device accesses. An item of gather counts once for each index.
    bytes_to_device, bytes_from_device : int
        Bytes copied between the host and a GPU.
    bytes_allocated : int
        Memory for copies of operands and for chunks on the computing device, and on the host for
        the positions of host index arrays of a tuple; not the scratch memory of kernels.
    """

    def __init__(self, *args, **kwargs):
        raise GpukernTypeError("an Explanation is made by gpukern.explain()")

    cdef readonly str op, place, why, path
    cdef readonly int threads, chunks
    cdef readonly long long bytes_read, bytes_written
    cdef readonly long long bytes_to_device, bytes_from_device, bytes_allocated

    def __str__(self):
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}, "
        parts = [f"{self.op} on {self.place}: {self.why}",
                 (threads if self.threads else "") + self.path,
                 f"reads {size_text(self.bytes_read)}, writes {size_text(self.bytes_written)}"]
        if self.bytes_to_device or self.bytes_from_device:
            across = (f"{size_text(self.bytes_to_device)} to the GPU, "
                      f"{size_text(self.bytes_from_device)} back")
            if self.chunks:
                across += f", in {self.chunks} chunk{'s' if self.chunks > 1 else ''}"
            parts.append(across)
        if self.bytes_allocated:
            parts.append(f"allocates {size_text(self.bytes_allocated)}")
        return "; ".join(parts)

    def __repr__(self):
        return f"<gpukern.Explanation: {self}>"


cdef str size_text(long long size):
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} B"


cdef Explanation new_explanation(str op, const gpukern_explanation *found):
    cdef Explanation made = Explanation.__new__(Explanation)
    made.op, made.path, made.why = op, PATHS[found.path], RULES[found.rule]
    on_cpu = found.device.device_type == GPUKERN_CPU
    made.place = "cpu" if on_cpu else f"cuda:{found.device.device_id}"
    if found.rule == GPUKERN_RULE_NO_GPU:
        made.why += f": {cuda_status()['reason']}"
    made.threads, made.chunks = found.threads, found.chunks
    made.bytes_read, made.bytes_written = found.bytes_read, found.bytes_written
    made.bytes_to_device = found.bytes_to_device
    made.bytes_from_device = found.bytes_from_device
    made.bytes_allocated = found.bytes_allocated
    return made


def explain(op, /, *args, **kwargs):
    """Reports where a call would run and why, without running it.

    Parameters
    ----------
    op : function
        :func:`gpukern.gather`, :func:`gpukern.take`, :func:`gpukern.take_along_axis`,
        :func:`gpukern.scatter`, :func:`gpukern.put_along_axis`, :func:`gpukern.bincount`,
        :func:`gpukern.gather_reduce`, :func:`gpukern.segment_reduce`, :func:`gpukern.nonzero`,
        :func:`gpukern.count_nonzero`, :func:`gpukern.compress`, :func:`gpukern.saxpy`,
        :func:`gpukern.saxpy_many`, :func:`gpukern.axpby`, :func:`gpukern.fma` or a function made
        by :func:`gpukern.elementwise`. Nonzero elements are not counted: without ``size=``,
        all elements of a mask are taken to be selected.
    *args, **kwargs
        The arguments of the call. No array is read or written. Without ``out=``, a result is
        allocated and released.

    Returns
    -------
    Explanation
        The device, the rule that chose it, the path, threads and bytes.

    Raises
    ------
    TypeError
        For another `op`, and for object arrays, masked arrays and distributed arrays in host
        memory, which are gathered in several calls. An exception that the call would raise for its
        arguments is raised here as well, except for indices out of bounds, which are not read.

    Examples
    --------
    >>> print(gpukern.explain(gpukern.saxpy, 2.0, x, y))
    saxpy on cpu: host arrays are computed on the CPU; 16 threads, contiguous; reads 1 GiB, ...
    """
    name = op.__name__ if isinstance(op, Elementwise) else None
    if name is None and isinstance(op, type(gather)):
        name = OPERATIONS.get(op)
    if name is None:
        raise GpukernTypeError(
            "explain: op must be gpukern.gather or another operation, or made by "
            f"gpukern.elementwise, got {op!r}")
    everything = args + tuple(kwargs.values())
    device = kwargs.get("device")
    args = tuple([as_explained(name, each, everything, device) for each in args])
    kwargs = {key: as_explained(name, each, everything, device) for key, each in kwargs.items()}
    place, key = SOURCES.get(op, (0, None))
    if key is not None and is_special(args[place] if place < len(args) else kwargs.get(key)):
        raise GpukernTypeError(
            f"explain: {name} of an array of objects or a masked array is several calls")
    cdef gpukern_explanation explanation
    memset(&explanation, 0, sizeof(explanation))
    explanation.struct_size = sizeof(explanation)
    request_explanation(&explanation)
    try:
        op(*args, **kwargs)
    finally:
        request_explanation(NULL)
    return new_explanation(name, &explanation)


cdef object as_explained(str name, object argument, object arguments, object device):
    if is_distributed(argument):
        return argument._explained(name, arguments, device)
    return argument
