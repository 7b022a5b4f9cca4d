# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The call of an operation that writes to a target by an index."""

cimport numpy as cnp
from libc.stdint cimport int32_t

from gpukern._capi cimport (
    GPUKERN_OPAQUE, GPUKERN_ORDER_ANY, GPUKERN_ORDER_FIXED, GPUKERN_REDUCE_ADD, GPUKERN_REDUCE_MAX,
    GPUKERN_REDUCE_MEAN, GPUKERN_REDUCE_MIN, GPUKERN_REDUCE_MULTIPLY, GPUKERN_REDUCE_NONE,
    gpukern_scatter_options, gpukern_tensor,
)
from gpukern._interop.argument cimport (
    count_of, describe_operand, describe_output, dtype_of, fill_from_ndarray, is_ndarray,
    refuse_masked,
)
from gpukern._interop.array_type cimport BY_NUMPY, array_type_of
from gpukern._interop.dtype cimport require_plain
from gpukern._interop.result cimport new_result
from gpukern._interop.scalar cimport as_bool, elements_of
from gpukern._ops.indexing.index_argument cimport (
    Indices, copy_to_gpu_of, describe_index, describe_indices, describe_own,
)
from gpukern._ops.indexing.indexed_read cimport as_axis, as_mode, is_distributed, require_same_dtype
from gpukern._streams.call cimport (
    Argument, CallContext, begin_call, end_call, finish, keep, start, what,
)

from gpukern.errors import GpukernTypeError, GpukernValueError

cdef dict REDUCTIONS = {
    None: GPUKERN_REDUCE_NONE,
    "add": GPUKERN_REDUCE_ADD,
    "multiply": GPUKERN_REDUCE_MULTIPLY,
    "min": GPUKERN_REDUCE_MIN,
    "max": GPUKERN_REDUCE_MAX,
    "mean": GPUKERN_REDUCE_MEAN,
}
cdef dict ORDERS = {"fixed": GPUKERN_ORDER_FIXED, "any": GPUKERN_ORDER_ANY}


cdef IndexedWrite new_indexed_write(str name, WriteFunction function, bint takes_tuples=False):
    cdef IndexedWrite made = IndexedWrite.__new__(IndexedWrite)
    made.name = name
    made.function = function
    made.takes_tuples = takes_tuples
    return made


cdef class IndexedWrite:
    """An operation, by its C function."""

    cdef object run(self, object target, object index, object values, object axis, object mode,
                    object reduce, object order, object unique, object out, object device,
                    object stream, object progress, object device_memory):
        cdef CallContext call
        cdef Argument to, idx, vals, dst
        cdef Indices indices
        cdef Argument *written = &to
        cdef const gpukern_tensor *c_out = NULL
        cdef gpukern_scatter_options options
        cdef int32_t c_axis
        cdef object result
        if is_distributed(target):
            return target._scatter(
                self.name, index, values, axis=axis, mode=mode, reduce=reduce, order=order,
                unique=unique, out=out, device=device, stream=stream, progress=progress,
                device_memory=device_memory)
        begin_call(&call, self.name, device, stream, progress, device_memory)
        set_options(&call, &options, mode, reduce, order, unique)
        if out is None and not array_type_of(target).adopts:
            result = target
            describe_in_place(&call, target, reduce is None, &to)
        else:
            describe_operand(&call, target, "target", &to)
        require_elements(&call, &to, reduce)
        if isinstance(index, tuple):
            if not self.takes_tuples:
                raise GpukernTypeError(f"{self.name}: index must be one array, got a tuple")
            describe_indices(&call, tuple(index), axis, &to, &idx, &indices)
            options.further_index_count = indices.count
            options.further_indices = indices.further
        else:
            describe_index(&call, index, &to, &idx, "index", True)
        refuse_masked(&call, &idx)
        describe_values(&call, values, &to, &vals)
        c_axis = as_axis(&call, axis, to.c.ndim)
        if not to.written:
            written, c_out = &dst, &dst.c
            if out is None:
                result = new_result(&call, &to, None, to.c.ndim, to.c.shape, &dst)
            else:
                result = out
                describe_output(&call, out, "out", &dst, temporary=True)
                require_same_dtype(&call, &to, &dst)
        start(&call, largest(largest(&to, &idx), &vals))
        finish(&call, self.function(&to.c, &idx.c, &vals.c, c_axis, c_out, &options, &call.c))
        return end_call(&call, result, written)


# ---- options ----

cdef int set_options(const CallContext *call, gpukern_scatter_options *options, object mode,
                     object reduce, object order, object unique) except -1:
    options.struct_size = sizeof(gpukern_scatter_options)
    options.mode = as_mode(call, mode)
    options.reduce = one_of(call, REDUCTIONS, reduce, "reduce",
                            "None, 'add', 'multiply', 'min', 'max' or 'mean'")
    options.order = one_of(call, ORDERS, order, "order", "'fixed' or 'any'")
    options.unique = as_bool(unique, <object>call.function, "unique")
    options.further_index_count = 0
    return 0


cdef int one_of(const CallContext *call, dict known, object given, str name, str names) except -1:
    found = known.get(given) if given is None or isinstance(given, str) else None
    if found is None:
        raise GpukernValueError(f"{<object>call.function}: {name} must be {names}, got {given!r}")
    return found


# ---- the arguments ----

cdef int describe_in_place(CallContext *call, object target, bint moved, Argument *to) except -1:
    """Describes a target that is written to."""
    describe_output(call, target, "target", to, temporary=True, moved=moved)
    if to.target != NULL:  # a copy that the C side can write to
        (<object>to.owner)[...] = <object>to.target
    return 0


cdef int require_elements(const CallContext *call, const Argument *to, object reduce) except -1:
    if to.c.dtype.code != GPUKERN_OPAQUE:
        return 0
    if reduce is not None:
        raise GpukernTypeError(f"{what(call, to)} must be of a dtype that reduce {reduce!r} takes, "
                               f"got {dtype_of(to)}")
    require_plain(dtype_of(to), what(call, to))
    if to.c.dtype.lanes == 0:
        raise GpukernTypeError(f"{what(call, to)} must have an itemsize of 1 to 65535, "
                               f"got {to.itemsize}")
    return 0


cdef int describe_values(CallContext *call, object values, const Argument *to, Argument *vals,
                         str name="values") except -1:
    """Describes an array of the target's dtype; converts anything else to it."""
    if is_array(values):
        describe_operand(call, values, name, vals)
        if to.c.dtype.code == GPUKERN_OPAQUE and is_ndarray(vals):
            in_order_of(call, to, vals)
        require_same_dtype(call, to, vals)
    else:
        describe_own(call, elements_of(call, values, name, to), name, vals)
        vals.c.dtype = to.c.dtype  # which NumPy may not have
    # The C side takes a number on the host.
    return 0 if vals.c.ndim == 0 and not vals.byte_strided else copy_to_gpu_of(call, to, vals)


cdef int in_order_of(CallContext *call, const Argument *to, Argument *vals) except -1:
    """Converts native values to the byte order of the target, which is written as it is."""
    cdef object dtype = dtype_of(to)
    if dtype == dtype_of(vals) or dtype.newbyteorder("=") != dtype_of(vals):
        return 0
    converted = (<object>vals.owner).astype(dtype)
    keep(call, converted)
    return fill_from_ndarray(call, vals, converted)


cdef bint is_array(object values):
    """Whether an object has a dtype: no scalar, no 0-d ndarray, no list."""
    if isinstance(values, cnp.ndarray):
        return cnp.PyArray_NDIM(<cnp.ndarray>values) > 0
    return (array_type_of(values).protocol != BY_NUMPY
            or hasattr(values, "__cuda_array_interface__"))


cdef const Argument *largest(const Argument *one, const Argument *other) noexcept:
    return one if count_of(&one.c) >= count_of(&other.c) else other
