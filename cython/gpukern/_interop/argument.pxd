# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""From the caller's arrays to the arguments of a call.

Each type of arrays has one describer, resolved once per type (array_type.pyx), which fills an
Argument (call.pxd) and links it into the context, or raises the exception that names the argument:
what was expected, and what was passed. Nothing is checked here that the C side checks, but the
layouts that other libraries describe: see layout_fault().

describe() takes any array. describe_operand() takes an operand of arithmetic: masked arrays and
subclasses of ndarray with their own arithmetic are refused, and a host array that is not in native
byte order or whose strides are no whole elements is copied. describe_output() takes an array to
write to; with `temporary`, the output of arithmetic, and one that cannot be written in place by the
C side is written by end_call(); with `moved` too, elements are moved as bytes, whatever their byte
order. `name` is a str that outlives the call, or the int n for "argument n".

An Argument on a GPU has its dtype, device, stream and address as they are; on the host also:
`owner` is an ndarray unless another library (type.library) or the C exchange API owns the memory.
"""

cimport numpy as cnp
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from gpukern._capi cimport gpukern_tensor
from gpukern._interop.array_type cimport ArrayType, Protocol
from gpukern._streams.call cimport Argument, CallContext

ctypedef int (*Describer)(CallContext *call, ArrayType type_, object array,
                          Argument *argument) except -1

cdef int describe(CallContext *call, object array, object name, Argument *argument) except -1
cdef int describe_operand(CallContext *call, object array, object name,
                          Argument *argument) except -1
cdef int describe_output(CallContext *call, object array, object name, Argument *argument,
                         bint temporary=*, bint moved=*) except -1

cdef int refuse_masked(CallContext *call, const Argument *argument) except -1
cdef int set_describer(Protocol protocol, Describer describer) except -1
cdef int describe_prepared(CallContext *call, object array, Argument *argument) except -1
cdef cnp.ndarray new_ndarray(cnp.dtype dtype, int ndim, const int64_t *shape, void *data=*,
                             const int64_t *strides=*, object owner=*, bint writeable=*)
cdef object new_ndarray_result(CallContext *call, const Argument *like, object dtype, int ndim,
                               const int64_t *shape, Argument *result)
cdef int fill_from_ndarray(CallContext *call, Argument *argument, cnp.ndarray array) except -1
cdef int64_t *new_sizes(CallContext *call, Argument *argument, int ndim) except NULL
cdef gpukern_tensor *as_bytes(CallContext *call, const Argument *argument) except NULL
cdef object dtype_of(const Argument *argument)
cdef tuple shape_of(const gpukern_tensor *tensor)
cdef bint same_shape(const gpukern_tensor *x, const gpukern_tensor *y) noexcept nogil
cdef Py_ssize_t count_of(const gpukern_tensor *tensor) noexcept nogil
cdef bint is_device_array(const Argument *argument) noexcept

cdef inline bint is_ndarray(const Argument *argument) noexcept:
    """Whether an ndarray holds the memory: the caller's, or one that NumPy made."""
    return isinstance(<object>argument.owner, cnp.ndarray)

cdef inline int prepare(Argument *argument, object array, object name) except -1:
    """Starts the description of an array."""
    # One by one: a memset() of this size costs more than the description of an ndarray.
    argument.c.data = argument.c.shape = argument.c.strides = NULL
    argument.c.device.device_type = argument.c.device.device_id = argument.c.ndim = 0
    argument.c.byte_offset = 0
    argument.itemsize = 0
    argument.position = -1
    argument.host = argument.readonly = argument.written = argument.is_new = False
    argument.byte_strided = argument.unordered = False
    argument.array = <PyObject *>array
    argument.name = argument.owner = argument.type = argument.dtype = NULL
    argument.described = NULL
    argument.tracker = argument.target = NULL
    argument.torch = argument.stream = NULL
    argument.previous = NULL
    if type(name) is int:
        argument.position = name
    else:
        argument.name = <PyObject *>name
    return 0
