# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""SaxpyList: the arguments of saxpy_many, described and checked once.

Of host arrays, and of arrays of PyTorch and CuPy, a call needs no more than their library's current
stream, which one array of each type and device stands for. Other arrays on a GPU may name
different streams, and are described in each call.
"""

cimport cython
cimport numpy as cnp
from libc.stdint cimport uintptr_t
from libc.stdlib cimport free, malloc

from gpukern._capi cimport (
    gpukern_dtype, gpukern_saxpy_list, gpukern_saxpy_list_create, gpukern_saxpy_list_destroy,
    gpukern_saxpy_list_run,
)
from gpukern._interop.argument cimport describe, describe_output, dtype_of, is_ndarray
from gpukern._interop.array_type cimport BY_ATTRIBUTES, BY_EXCHANGE, ArrayType
from gpukern._interop.scalar cimport is_number, store_scalar
from gpukern._ops.saxpy_many cimport Described, describe_lists, members
from gpukern._runtime.runtime cimport check
from gpukern._streams.call cimport (
    Argument, CallContext, begin_call, check_memory, end_work, finish, new_memory, pin_of, start,
    what,
)

from gpukern.errors import GpukernTypeError, GpukernValueError

cnp.import_array()


# inspect.signature() reads the first line of the docstring.
@cython.auto_pickle(False)
@cython.final
cdef class SaxpyList:
    """SaxpyList(x, y, out)
--

    Lists of arrays for many calls of :func:`saxpy_many`, which are checked once.

    A call costs the host one launch for each 1020 contiguous arrays of PyTorch or CuPy, or on the
    host, and hardly more for many arrays than for one. Other arrays on a GPU, such as
    DeviceArrays, are put in the order of their streams one by one.

    Parameters
    ----------
    x, y, out : list or tuple of arrays
        As of :func:`saxpy_many`; all of one dtype, and no numbers. The list keeps the arrays. Their
        memory must stay where it is: no ``resize_()`` or ``set_()`` of a tensor.

    Attributes
    ----------
    out : tuple
        The arrays that calls write to.

    Raises
    ------
    TypeError, ValueError
        As by :func:`saxpy_many`.

    Examples
    --------
    >>> step = gpukern.SaxpyList(gradients, parameters, parameters)
    >>> for rate in rates:
    ...     step(-rate)
    """

    cdef gpukern_saxpy_list *checked
    cdef gpukern_dtype dtype
    cdef readonly tuple out
    cdef tuple inputs
    cdef list held       # what the arrays were described by, and in
    cdef list pins       # weak references, with which NumPy does not resize an ndarray
    cdef list described  # in each call: (array, name, position, whether it is written, address)
    cdef Argument **noted
    cdef Py_ssize_t noted_count  # outputs of torch, which is told of writes
    cdef Argument *whole         # see Described

    def __cinit__(self, x, y, out):
        cdef CallContext call
        cdef Described arrays
        begin_call(&call, "SaxpyList", None, None, None, None)
        xs = members(x, "SaxpyList: x", -1)
        ys = members(y, "SaxpyList: y", len(xs))
        self.inputs = xs, ys
        self.out = members(out, "SaxpyList: out", len(xs))
        if not describe_lists(&call, xs, ys, self.out, &arrays):
            refuse(&call, &arrays)
        self.noted = <Argument **>malloc((arrays.count + 1) * sizeof(Argument *))
        if self.noted == NULL:
            raise MemoryError()
        self.take_arguments(&call)
        check_memory(&call)
        check(gpukern_saxpy_list_create(arrays.tensors, arrays.tensors + arrays.count,
                                        arrays.tensors + 2 * arrays.count, arrays.count,
                                        &self.checked))
        self.whole = <Argument *>new_memory(&call, sizeof(Argument))
        self.whole[0] = arrays.whole
        self.whole.c.shape = self.whole.sizes
        self.held = <list>call.held.owners
        if arrays.count > 0:
            self.dtype = arrays.x[0].c.dtype

    def __dealloc__(self):
        gpukern_saxpy_list_destroy(self.checked)
        free(self.noted)

    cdef int take_arguments(self, CallContext *call) except -1:
        """Sorts the arguments by what they need in each call."""
        cdef Argument *argument = call.arguments
        known = set()
        self.described, self.pins = [], []
        while argument != NULL:
            require_shared(call, argument)
            if argument.host:
                self.pins.append(pin_of(argument.owner))
            elif not stands_for(argument, known):
                self.described.append((
                    <object>argument.array, <object>argument.name, argument.position,
                    bool(argument.written), <uintptr_t>argument.c.data))
            if argument.written and argument.type != NULL and (
                    (<ArrayType>argument.type).torch is not None):
                self.noted[self.noted_count] = argument
                self.noted_count += 1
            argument = argument.previous
        return 0

    def __call__(self, a, *, device=None, stream=None, progress=None, device_memory=None):
        """Computes ``out[k] = a * x[k] + y[k]`` for all arrays, and returns the attribute `out`.

        `a` is a number, or a 0-d host array; the other arguments are those of :func:`saxpy_many`.
        """
        cdef CallContext call
        cdef double[2] a_bytes  # one element of at most 16 bytes, aligned
        cdef gpukern_saxpy_list *checked = self.checked
        cdef Py_ssize_t k
        begin_call(&call, "SaxpyList", device, stream, progress, device_memory)
        self.describe_again(&call)
        a_bytes[0] = a_bytes[1] = 0
        if len(self.out) > 0:
            store_scalar(a, "SaxpyList: a", self.dtype, a_bytes)
        start(&call, self.whole)
        finish(&call, gpukern_saxpy_list_run(checked, a_bytes, &call.c))
        end_work(&call)
        for k in range(self.noted_count):
            (<ArrayType>self.noted[k].type).torch.note_write(
                <object>self.noted[k].array, self.noted[k].torch)
        return self.out

    cdef int describe_again(self, CallContext *call) except -1:
        cdef Argument *memory
        cdef Py_ssize_t k
        if not self.described:
            return 0
        memory = <Argument *>new_memory(call, len(self.described) * sizeof(Argument))
        for k in range(len(self.described)):
            array, name, position, written, address = self.described[k]
            call.position = position
            if written:
                describe_output(call, array, name, &memory[k], temporary=True)
            else:
                describe(call, array, name, &memory[k])
            if <uintptr_t>memory[k].c.data != <uintptr_t>address:
                raise GpukernValueError(f"{what(call, &memory[k])} has moved to other memory")
        return 0


cdef int refuse(const CallContext *call, const Described *arrays) except -1:
    """Raises an error for the array of which describe_lists() made no list."""
    cdef const Argument *odd = arrays.odd
    if odd == NULL:
        raise GpukernTypeError(f"SaxpyList: x[{call.position}] and y[{call.position}] must not be "
                               "DistributedArrays")
    if is_number(<object>odd.array):
        raise GpukernTypeError(
            f"{what(call, odd)} must be an array, got {type(<object>odd.array).__name__}")
    if odd.host != arrays.x[0].host:
        raise GpukernValueError(f"{what(call, odd)} must be on "
                                f"{'a GPU' if odd.host else 'cpu'} like x[0]")
    raise GpukernTypeError(f"{what(call, odd)} must have the dtype of x[0], "
                           f"{dtype_of(&arrays.x[0])}, got {dtype_of(odd)}")


cdef int require_shared(const CallContext *call, const Argument *argument) except -1:
    """Refuses what was copied to be described."""
    cdef bint copied = argument.target != NULL
    if not copied and is_ndarray(argument) and argument.owner != argument.array:
        copied = cnp.PyArray_BASE(<cnp.ndarray>argument.owner) == NULL
    if copied:
        dtype = getattr(<object>argument.array, "dtype", None)
        raise GpukernTypeError(f"{what(call, argument)} must be an array in memory, of native "
                               f"elements, got {type(<object>argument.array).__name__}"
                               + ("" if dtype is None else f" of dtype {dtype}"))
    return 0


cdef bint stands_for(const Argument *argument, set known) except -1:
    """Whether another array, of this type and on this device, has the stream of an argument."""
    cdef ArrayType type_ = <ArrayType>argument.type
    cdef object key
    if type_.protocol != BY_ATTRIBUTES and (
            type_.protocol != BY_EXCHANGE or argument.unordered):
        return False
    key = (id(type_), argument.c.device.device_id)
    if key in known:
        return True
    known.add(key)
    return False
