# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Functions of arrays, and the quick way of their calls."""

cimport cython
cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from gpukern._capi cimport (
    GPUKERN_DEVICE_DEFAULT, gpukern_device, gpukern_dtype, gpukern_exec, gpukern_stream_wait,
    gpukern_tensor,
)
from gpukern._elementwise.specialization cimport (
    MAX_ARGUMENTS, NO_TYPE, Numbers, Signature, number_argument, signature_of, type_number,
)
from gpukern._memory.device_array cimport DeviceArray
from gpukern._interop.dtype cimport describe
from gpukern._runtime.error cimport check
from gpukern._elementwise.fit cimport fits, on_one_gpu
from gpukern._streams.keepalive cimport kept_count, let_go
from gpukern._interop.array_type cimport ArrayType
from gpukern._elementwise.loop_plan cimport MAX_OPERANDS, broadcast
from gpukern._interop.lend cimport lend, new_array_like, note_write
from gpukern._elementwise.long_way cimport long_way
from gpukern._interop.operand cimport OPERAND_NDIM, Operand
from gpukern._interop.own cimport begin_own, end_own, is_own, lend_own, new_own
from gpukern._streams.stream cimport Stream, wait_back
from gpukern._runtime.default_device cimport WISH_NONE, wished_device

from gpukern._elementwise import cuda_codegen

from gpukern._elementwise.frontend import type_resolution
from gpukern._elementwise.frontend.graph import Function
from gpukern.errors import GpukernTypeError

cdef extern from "numpy/arrayobject.h":
    void *PyArray_DTYPE(cnp.ndarray array)  # a borrowed reference

cnp.import_array()

# What the quick way returns for a call that it leaves to the long way.
cdef object LONG_WAY = object()


@cython.final
cdef class Elementwise:
    """A function of arrays, made by :func:`elementwise`.

    ``f(*arguments, out=None, device=None, stream=None, progress=None, device_memory=None)``

    Parameters
    ----------
    *arguments : array or number
        One for each of `inputs`, at most 32, by position. Arrays of any supported library,
        of dtype bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64,
        complex64 or complex128, of any strides, that broadcast as in NumPy and are on one device.
        Python numbers are weak; NumPy scalars and 0-d host arrays are not.
    out : array, optional
        Written to and returned. It has the shape of the result and a dtype to which the result
        converts by the rule 'same_kind'. Its elements must not overlap; it may overlap the
        arguments in any way.
    device : {'cpu', 'cuda', 'cuda:N'} or int, optional
        Where host arrays are computed, as in :func:`saxpy`. On the CPU, NumPy computes blocks of
        them, on several threads if they are large. Through a GPU they pass in chunks that are
        copied and computed concurrently. A function that calls CUDA C++ always needs a GPU.
    stream : optional
        As in :func:`saxpy`; for device arrays the call only enqueues its work.
    progress : callable, optional
        As in :func:`saxpy`: called as ``progress(done_bytes, total_bytes)`` of the result.
    device_memory : int, optional
        Bytes of device memory for the chunks of host arrays; by default $GPUKERN_DEVICE_MEMORY, or
        1 GiB.

    Returns
    -------
    array
        `out`, or a new array of the library of the first array. It is C-contiguous, except that
        results of ndarrays on the CPU have the layout of NumPy's results. A scalar for 0-d
        ndarrays and for numbers only.

    Raises
    ------
    TypeError
        For a wrong number of arguments and for unsupported dtypes.
    ValueError
        If the shapes do not broadcast, or the devices differ.
    OverflowError
        For a Python int that does not fit the integer dtype of the other operand.
    CompileError
        If CUDA C++ in the function does not compile; `log` is the compiler's log.

    Notes
    -----
    A kernel is compiled at the first call with new types or a new kind of layout (contiguous,
    strided), and cached in memory and on disk like a :class:`Program`. Ctrl-C stops long calls on
    host arrays between the parts of their work.
    """

    cdef readonly object function
    cdef dict signatures
    cdef Py_ssize_t count
    cdef int device_only  # 1 or 0; -1 until it is asked for
    cdef dict __dict__

    def __init__(self, function):
        if not isinstance(function, Function):
            raise GpukernTypeError("an Elementwise is made by gpukern.elementwise()")
        self.function = function
        self.signatures = function.signatures
        self.count = len(function.inputs)
        self.device_only = -1

    def __getattr__(self, name):
        # Made when it is asked for: a function is made again in less time than a dict.
        if name in ("__name__", "__qualname__"):
            return self.function.name
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self):
        return f"<elementwise {self.function.name}({', '.join(self.function.inputs)})>"

    @property
    def inputs(self):
        """The names of the arguments."""
        return self.function.inputs

    def result_dtype(self, *dtypes):
        """The name of the result's dtype for arguments of these dtypes.

        `dtypes` are dtypes, 'bfloat16', or the types of Python's numbers: int, float, complex.
        """
        return self.typed(dtypes).result

    def source(self, *dtypes):
        """The CUDA C++ of the kernel for contiguous arrays of these dtypes, and numbers for int,
        float and complex; it includes headers of gpukern's."""
        typed = self.typed(dtypes)
        flags = "".join(["c" if each in type_resolution.WEAK_TYPES else "v" for each in typed.types])
        return cuda_codegen.source(typed, typed.result, cuda_codegen.Layout("packs", flags)).text

    cdef object typed(self, dtypes):
        if len(dtypes) != self.count:
            raise GpukernTypeError(
                f"{self.function.name} takes {self.count} arguments, got {len(dtypes)} dtypes")
        names = tuple([type_resolution.argument_type(each) for each in dtypes])
        return type_resolution.typed(self.function, names)

    def __call__(self, *arguments, out=None, device=None, stream=None, progress=None,
                 device_memory=None):
        if len(arguments) != self.count:
            raise GpukernTypeError(
                f"{self.function.name} takes {self.count} arguments, got {len(arguments)}")
        if device is None and stream is None and progress is None and device_memory is None:
            result = self.quickly(arguments, out)
            if result is not LONG_WAY:
                return result
        return long_way(self.function, self.signatures, arguments, out, device, stream, progress,
                        device_memory)

    cdef object quickly(self, tuple arguments, object out):
        """The call on plain arrays, see lend.pxd."""
        cdef Operand operands[MAX_OPERANDS]
        cdef char types[MAX_ARGUMENTS + 1]
        cdef Numbers numbers
        cdef int i, type_, count = 1, hosts = 0
        cdef gpukern_dtype dtype
        cdef object first = None
        numbers.count = 0
        for i in range(self.count):
            argument = arguments[i]
            if type(argument) is cnp.ndarray:
                describe(<cnp.dtype>PyArray_DTYPE(argument), &dtype)
                type_ = type_number(&dtype)
                hosts += 1
            else:
                type_ = number_argument(argument, &numbers.slot[numbers.count])
                if type_ != NO_TYPE:
                    numbers.count += 1
                else:
                    if not describe_array(argument, operands, count):
                        return LONG_WAY
                    type_ = type_number(&operands[count].c.dtype)
                    if count == 1:
                        first = argument
                    count += 1
            if type_ == NO_TYPE:
                return LONG_WAY
            types[i] = <char>type_
        types[self.count] = NO_TYPE
        if count == 1:
            return self.on_host(arguments, out, types)
        if hosts > 0 or not on_one_gpu(operands, count):
            return LONG_WAY
        return self.on_gpu(arguments, first, operands, count, &numbers, types, out)

    cdef object on_host(self, tuple arguments, object out, char *types):
        cdef gpukern_dtype dtype
        if self.device_only < 0:
            self.device_only = bool(self.function.device_names)
        if self.device_only or wished_device() != WISH_NONE:
            return LONG_WAY
        if out is not None:
            if type(out) is not cnp.ndarray or not cnp.PyArray_ISWRITEABLE(out):
                return LONG_WAY
            describe(<cnp.dtype>PyArray_DTYPE(out), &dtype)
            types[self.count] = <char>type_number(&dtype)
            if types[self.count] == NO_TYPE:
                return LONG_WAY
        return signature_of(self.function, self.signatures, types, -1).host_function().call(
            arguments, out, None)

    cdef object on_gpu(self, tuple arguments, object first, Operand *operands, int count,
                       Numbers *numbers, char *types, object out):
        cdef const gpukern_tensor *tensors[MAX_OPERANDS]
        cdef int64_t shape[OPERAND_NDIM]
        cdef int k, ndim = 0
        cdef int32_t device = operands[1].c.device.device_id
        cdef Signature signature = signature_of(self.function, self.signatures, types, device)
        for k in range(count):
            tensors[k] = &operands[k].c
        for k in range(1, count):
            if not broadcast(tensors[k].ndim, tensors[k].shape, &ndim, shape):
                return LONG_WAY
        cdef object result = out
        if out is None:
            result = new_array(first, &operands[1], ndim, shape, signature,
                               type_number(&operands[1].c.dtype))
        if result is None or not describe_array(result, operands, 0):
            return LONG_WAY
        if out is not None:
            if not fits(operands, count, ndim, shape):
                return LONG_WAY
            k = type_number(&operands[0].c.dtype)
            if k != signature.out_type:
                if k == NO_TYPE:
                    return LONG_WAY
                types[self.count] = <char>k
                signature = signature_of(self.function, self.signatures, types, device)
        if is_own(&operands[1]):
            launch_own(signature, arguments, result, operands, tensors, count, numbers)
            return result
        launch(signature, operands, tensors, count, numbers)
        if out is not None:
            note_write(out)
        return result


def again(Elementwise made):
    """Another function equal to one, with attributes of its own."""
    cdef Elementwise other = Elementwise.__new__(Elementwise)
    other.function = made.function
    other.signatures = made.signatures
    other.count = made.count
    other.device_only = made.device_only
    return other


cdef bint describe_array(object array, Operand *operands, int place) except -1:
    """Describes an array beside the first argument; returns False for the long way."""
    if type(array) is DeviceArray:
        return lend_own(array, &operands[place])
    if place == 1:
        return lend(array, &operands[place], NULL)
    return lend(array, &operands[place], &operands[1])


cdef object new_array(object array, const Operand *operand, int ndim, const int64_t *shape,
                      Signature signature, int own_type):
    """An uninitialised array beside a lent one; None if its library allocates none."""
    cdef ArrayType kind
    if is_own(operand):
        return new_own(array, ndim, shape, signature.out_dtype)
    if signature.out_type == own_type:
        return new_array_like(array, operand, ndim, shape)
    kind = <ArrayType>operand.kind
    if kind.allocate is None:
        return None
    sizes = tuple([shape[d] for d in range(ndim)])
    return kind.allocate(array, sizes, operand.c.device.device_id, signature.out_name)


cdef int launch_own(Signature signature, tuple arguments, object result, const Operand *operands,
                    const gpukern_tensor *const *tensors, int count, Numbers *numbers) except -1:
    """Launches on the stream that last wrote to the first DeviceArray."""
    cdef gpukern_exec where
    cdef Stream stream
    if kept_count > 0:
        let_go()
    stream = begin_own(arguments, result)
    memset(&where, 0, sizeof(where))
    where.struct_size = sizeof(where)
    where.device.device_type = GPUKERN_DEVICE_DEFAULT
    where.stream = stream.handle
    signature.enqueue(tensors, count, numbers, operands[1].c.device.device_id, &where)
    end_own(arguments, result, stream)
    return 0


cdef int launch(Signature signature, const Operand *operands,
                const gpukern_tensor *const *tensors, int count,
                Numbers *numbers) except -1:
    """Launches on the first argument's stream, behind the work on the others'."""
    cdef gpukern_exec where
    cdef void *others[MAX_OPERANDS]
    cdef int i, k, waited = 0
    cdef gpukern_device device = operands[1].c.device
    if kept_count > 0:
        let_go()
    memset(&where, 0, sizeof(where))
    where.struct_size = sizeof(where)
    where.device.device_type = GPUKERN_DEVICE_DEFAULT
    where.stream = operands[1].stream
    for k in range(count):
        if operands[k].stream == where.stream:
            continue
        for i in range(waited):
            if others[i] == operands[k].stream:
                break
        else:
            others[waited] = operands[k].stream
            waited += 1
            check(gpukern_stream_wait(device, where.stream, operands[k].stream))
    signature.enqueue(tensors, count, numbers, device.device_id, &where)
    for i in range(waited):
        wait_back(device, others[i], where.stream)
    return 0
