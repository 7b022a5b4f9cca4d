# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""See scaled_sum.pxd."""

from cpython.ref cimport PyObject
from libc.stdint cimport uint64_t
from libc.string cimport memset

from gpukern._capi cimport (
    GPUKERN_BFLOAT, GPUKERN_CPU, GPUKERN_FLOAT, GPUKERN_ROUND_NEAREST, GPUKERN_ROUND_STOCHASTIC,
    gpukern_axpby, gpukern_axpby_options, gpukern_dtype, gpukern_fma, gpukern_status,
    gpukern_tensor,
)
from gpukern._elementwise.loop_plan cimport Broadcast, broadcast_all, sizes_of
from gpukern._interop.argument cimport describe_operand, dtype_of, shape_of
from gpukern._interop.result cimport new_result_of
from gpukern._interop.scalar cimport is_number, on_host, store_scalar
from gpukern._runtime.runtime cimport as_int, shown
from gpukern._streams.call cimport (
    Argument, CallContext, end_call, finish, keep, name_of, new_memory, start, what,
)

import numpy as np

from gpukern.errors import GpukernOverflowError, GpukernTypeError, GpukernValueError


cdef int add_operand(CallContext *call, ScaledSum *sum_, object operand, str name,
                     bint is_weak=True) except -1:
    cdef Argument *argument = &sum_.argument[sum_.count]
    if not is_number(operand):
        describe_operand(call, operand, name, argument)
        if not (is_weak and argument.host and argument.c.ndim == 0):
            return add_term(sum_, argument, None, name)
    return add_term(sum_, NULL, operand, name)


cdef int add_term(ScaledSum *sum_, const Argument *array, object number, str name) except -1:
    sum_.array[sum_.count] = array
    sum_.number[sum_.count] = <PyObject *>number
    sum_.name[sum_.count] = <PyObject *>name
    sum_.count += 1
    return 0


cdef bint is_float(const gpukern_dtype *dtype, int bits) noexcept:
    return dtype.code == GPUKERN_FLOAT and dtype.lanes == 1 and dtype.bits == bits


cdef bint is_bfloat16(const gpukern_dtype *dtype) noexcept:
    return dtype.code == GPUKERN_BFLOAT and dtype.lanes == 1 and dtype.bits == 16


cdef int require_float(const CallContext *call, const Argument *argument) except -1:
    cdef const gpukern_dtype *dtype = &argument.c.dtype
    if not (is_float(dtype, 32) or is_float(dtype, 64) or is_float(dtype, 16)
            or is_bfloat16(dtype)):
        raise GpukernTypeError(f"{what(call, argument)} must have one of the dtypes float16, "
                               f"bfloat16, float32, float64, got {dtype_of(argument)}")
    return 0


cdef object compute_sum(CallContext *call, ScaledSum *sum_, object out, Argument *dst,
                        object rounding, object seed):
    """`dst` is described if `out` is not None."""
    cdef const gpukern_tensor *tensors[MAX_TERMS]
    cdef gpukern_axpby_options options
    cdef Broadcast shape
    cdef gpukern_status status
    cdef int k, arrays = 0
    cdef bint wide = False, stopped = False
    if all_numbers(sum_):
        describe_numbers(call, sum_)
    for k in range(sum_.count):
        if sum_.array[k] == NULL:
            continue
        require_float(call, sum_.array[k])
        wide = wide or is_float(&sum_.array[k].c.dtype, 64)
        tensors[arrays] = &sum_.array[k].c
        arrays += 1
    broadcast_shapes(call, sum_, tensors, arrays, out, dst, &shape)
    if out is None:
        out = new_sum(call, sum_, tensors, arrays, &shape, dst)
    else:
        require_float(call, dst)
        wide = wide or is_float(&dst.c.dtype, 64)
    set_options(call, rounding, seed, dst, wide, &options)
    for k in range(sum_.count):
        if sum_.array[k] == NULL:
            store_number(call, sum_, k, wide)
    try:
        start(call, dst)
        if sum_.count == MAX_TERMS:
            status = gpukern_axpby(tensor_of(sum_, 0), tensor_of(sum_, 1), tensor_of(sum_, 2),
                                   tensor_of(sum_, 3), &dst.c, &options, &call.c)
        else:
            status = gpukern_fma(tensor_of(sum_, 0), tensor_of(sum_, 1), tensor_of(sum_, 2),
                                 &dst.c, &options, &call.c)
        stopped = call.watch.error != NULL
        finish(call, status)
    except GpukernValueError as error:
        if not stopped:  # names the C function
            error.args = (str(error).replace("axpby:", f"{<object>call.function}:", 1),)
        raise
    return end_call(call, out, dst)


cdef int describe_numbers(CallContext *call, ScaledSum *sum_) except -1:
    """Makes the numbers that choose the dtype arrays: as in NumPy, all but Python's if there are
    others."""
    cdef Argument *argument
    cdef int k
    chosen = [k for k in range(sum_.count) if not is_python_number(<object>sum_.number[k])]
    for k in chosen or range(sum_.count):
        array = np.asarray(on_host(<object>sum_.number[k],
                                   f"{<object>call.function}: {<object>sum_.name[k]}"))
        if array.dtype.kind in "biu" and is_number(<object>sum_.number[k]):
            array = array.astype(np.float64)
        keep(call, array)
        argument = <Argument *>new_memory(call, sizeof(Argument))  # the other has a 0-d array
        describe_operand(call, array, <object>sum_.name[k], argument)
        sum_.array[k] = argument
    return 0


cdef bint is_python_number(object value):
    return isinstance(value, (int, float)) and not isinstance(value, np.generic)


cdef bint all_numbers(const ScaledSum *sum_) noexcept:
    cdef int k
    for k in range(sum_.count):
        if sum_.array[k] != NULL:
            return False
    return True


cdef const gpukern_tensor *tensor_of(const ScaledSum *sum_, int k) noexcept:
    if sum_.array[k] == NULL:
        return &sum_.tensor[k]
    return &sum_.array[k].c


cdef int broadcast_shapes(CallContext *call, const ScaledSum *sum_,
                          const gpukern_tensor **tensors, int arrays, object out,
                          const Argument *dst, Broadcast *shape) except -1:
    if not broadcast_all(shape, tensors, arrays):
        shapes = ", ".join([f"{name_of(sum_.array[k])} of shape {shape_of(&sum_.array[k].c)}"
                            for k in range(sum_.count) if sum_.array[k] != NULL])
        raise GpukernValueError(f"{<object>call.function}: the shapes do not broadcast: {shapes}")
    if out is not None:
        require_shape(call, dst, shape)
    return 0


cdef int require_shape(const CallContext *call, const Argument *out,
                       const Broadcast *shape) except -1:
    cdef int d, more = out.c.ndim - shape.ndim
    cdef bint fits = more >= 0
    for d in range(shape.ndim):
        fits = fits and shape.sizes[d] in (1, out.c.shape[more + d])
    if not fits:
        raise GpukernValueError(f"{what(call, out)} must have a shape to which the inputs "
                                f"broadcast, as {sizes_of(shape)}, got {shape_of(&out.c)}")
    return 0


cdef object new_sum(CallContext *call, const ScaledSum *sum_, const gpukern_tensor **tensors,
                    int arrays, const Broadcast *shape, Argument *dst):
    """A new result: of the widest dtype, float32 for float16 with bfloat16."""
    cdef const Argument *widest = NULL, *on_gpu = NULL, *each
    cdef int k, bits
    cdef bint halves = False
    for k in (1, 0, 3, 2):
        each = sum_.array[k] if k < sum_.count else NULL
        if each == NULL:
            continue
        if widest == NULL or each.c.dtype.bits > widest.c.dtype.bits:
            widest, halves = each, False
        elif each.c.dtype.bits == 16 == widest.c.dtype.bits:
            halves = halves or each.c.dtype.code != widest.c.dtype.code
        on_gpu = on_gpu if each.host else each
    # Arrays of one element may be on the host, beside those of a GPU.
    each = on_gpu if widest.host and on_gpu != NULL else widest
    bits = 32 if halves else widest.c.dtype.bits
    dtype = None if bits == each.c.dtype.bits else np.dtype(f"f{bits // 8}")
    return new_result_of(call, each, dtype, shape.ndim, shape.sizes, tensors, arrays, dst)


cdef bint rounds_to_nearest(const CallContext *call, object rounding) except -1:
    if rounding is None:
        return True
    if isinstance(rounding, str) and rounding in ("nearest", "stochastic"):
        return rounding == "nearest"
    raise GpukernValueError(f"{<object>call.function}: rounding must be 'nearest' or 'stochastic', "
                            f"got {rounding!r}")


cdef int set_options(const CallContext *call, object rounding, object seed, const Argument *dst,
                     bint wide, gpukern_axpby_options *options) except -1:
    cdef str function = <object>call.function
    options.struct_size = sizeof(gpukern_axpby_options)
    options.rounding = GPUKERN_ROUND_NEAREST
    options.seed = 0
    if rounds_to_nearest(call, rounding):
        if seed is not None:
            raise GpukernValueError(f"{function}: seed is for rounding='stochastic'")
        return 0
    if seed is None:
        raise GpukernValueError(f"{function}: rounding='stochastic' needs a seed")
    number = as_int(seed, f"{function}: seed")
    if not 0 <= number < 2**64:
        raise GpukernOverflowError(f"{function}: seed must be in [0, 2**64), got {shown(number)}")
    if not is_bfloat16(&dst.c.dtype) or wide:
        wrong = ("no operand may be float64" if wide
                 else f"out must be a bfloat16 array, got {dtype_of(dst)}")
        raise GpukernTypeError(
            f"{function}: rounding='stochastic' is from float32 to bfloat16: {wrong}")
    options.rounding = GPUKERN_ROUND_STOCHASTIC
    options.seed = <uint64_t>number
    return 0


cdef int store_number(const CallContext *call, ScaledSum *sum_, int k, bint wide) except -1:
    """Stores a number as a tensor of one element, in the type of the arithmetic."""
    cdef gpukern_tensor *tensor = &sum_.tensor[k]
    memset(tensor, 0, sizeof(gpukern_tensor))
    tensor.data = &sum_.value[k]
    tensor.device.device_type = GPUKERN_CPU
    tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = GPUKERN_FLOAT, 32, 1
    if wide:
        tensor.dtype.bits = 64
    store_scalar(<object>sum_.number[k], f"{<object>call.function}: {<object>sum_.name[k]}",
                 tensor.dtype, tensor.data)
    return 0
