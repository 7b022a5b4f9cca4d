# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""From arrays to arguments: NumPy's here, those of other libraries in library_array.pyx."""

cimport numpy as cnp
from cpython.buffer cimport PyObject_CheckBuffer
from cpython.ref cimport Py_INCREF, PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp

from gpukern._capi cimport (
    GPUKERN_CPU, GPUKERN_MAX_NDIM, GPUKERN_OPAQUE, GPUKERN_UINT, gpukern_tensor,
)
from gpukern._interop.array_type cimport (
    BY_DEVICE_ARRAY, BY_INTERFACE, BY_NDARRAY, BY_NUMPY, PROTOCOLS, ArrayType, Protocol,
    array_type_of, refuse_own_arithmetic,
)
from gpukern._interop.dtype cimport describe_dtype, is_native, numpy_dtype
from gpukern._streams.call cimport (
    INLINE_NDIM, Argument, CallContext, keep, link_host, new_memory, what,
)

import numpy as np

from gpukern._interop import numpy_subclasses
from gpukern.errors import (
    GpukernBufferError, GpukernMemoryError, GpukernTypeError, GpukernValueError,
)

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyArray_Type
    void *PyArray_DTYPE(cnp.ndarray array)  # a borrowed reference
    object PyArray_FROM_OF(object array, int flags)
    # Steals the reference to the dtype, which numpy's own .pxd leaves to the caller.
    object PyArray_NewFromDescr(PyTypeObject *subtype, cnp.dtype dtype, int ndim,
                                const cnp.npy_intp *shape, const cnp.npy_intp *strides,
                                void *data, int flags, PyObject *like)

cnp.import_array()

cdef Describer describers[<int>PROTOCOLS]


# ---- any array ----

cdef int describe(CallContext *call, object array, object name, Argument *argument) except -1:
    """Describes an array that is read."""
    prepare(argument, array, name)
    if call.position >= 0:
        argument.position = call.position
    return describe_prepared(call, array, argument)


cdef int describe_prepared(CallContext *call, object array, Argument *argument) except -1:
    if type(array) is cnp.ndarray:
        return describe_ndarray(call, None, array, argument)
    return describe_by_type(call, array_type_of(array), array, argument)


cdef inline int describe_by_type(CallContext *call, ArrayType type_, object array,
                                 Argument *argument) except -1:
    argument.type = <PyObject *>type_
    if type_.refusal is not None:
        raise GpukernBufferError(f"{what(call, argument)} {type_.refusal}")
    return describers[<int>type_.protocol](call, type_, array, argument)


cdef int describe_operand(CallContext *call, object array, object name,
                          Argument *argument) except -1:
    """Describes an array that is computed with."""
    describe(call, array, name, argument)
    if argument.type != NULL and (<ArrayType>argument.type).protocol == BY_NDARRAY:
        require_operand(call, argument)
    if needs_copy(argument, False):
        made = native_like(argument)
        made[...] = <object>argument.owner
        keep(call, made)
        fill_from_ndarray(call, argument, made)
    return 0


cdef int require_operand(CallContext *call, const Argument *argument) except -1:
    refuse_masked(call, argument)
    if (<ArrayType>argument.type).overrides_ufuncs:
        refuse_own_arithmetic(<ArrayType>argument.type, what(call, argument))
    return 0


cdef int refuse_masked(CallContext *call, const Argument *argument) except -1:
    if argument.type != NULL and (<ArrayType>argument.type).is_masked:
        raise GpukernTypeError(f"{what(call, argument)} must not be a masked array")
    return 0


cdef int describe_output(CallContext *call, object array, object name, Argument *argument,
                         bint temporary=False, bint moved=False) except -1:
    """Describes an array that is written to."""
    cdef ArrayType type_
    prepare(argument, array, name)
    if call.position >= 0:
        argument.position = call.position
    argument.written = True
    if type(array) is not cnp.ndarray:
        type_ = array_type_of(array)
        argument.type = <PyObject *>type_
        if type_.adopts:
            raise GpukernTypeError(
                f"{what(call, argument)} must not be a JAX array, which cannot be written to")
        if type_.protocol == BY_NUMPY and (isinstance(array, (np.generic, bytes)) or (
                not PyObject_CheckBuffer(array)
                and not hasattr(array, "__cuda_array_interface__"))):
            raise GpukernTypeError(
                f"{what(call, argument)} must be an array, got {type(array).__name__}"
                + (", which does not share its memory" if hasattr(array, "__array__") else ""))
        if type_.protocol == BY_NDARRAY:
            if temporary:
                require_operand(call, argument)
            else:
                refuse_masked(call, argument)
        call.has_duties |= type_.torch is not None
        describe_by_type(call, type_, array, argument)
    else:
        describe_ndarray(call, None, array, argument)
    if argument.readonly:
        raise GpukernValueError(f"{what(call, argument)} is read-only")
    made = None
    if temporary and needs_copy(argument, moved):
        made = native_like(argument)
    elif (argument.c.dtype.code == GPUKERN_OPAQUE and is_ndarray(argument)
            and numpy_subclasses.is_view_of_fields(<object>argument.owner)):
        made = np.empty_like(<object>argument.owner, order="C", subok=False)
    if made is not None:
        argument.target = argument.owner
        keep(call, <object>argument.owner)
        keep(call, made)
        fill_from_ndarray(call, argument, made)
        call.has_duties = True
    return 0


cdef bint needs_copy(const Argument *argument, bint moved):
    """Whether NumPy has to convert the elements for the C side, to native ones with strides of
    whole elements. Other byte orders are opaque to it."""
    if argument.byte_strided:
        return is_ndarray(argument)
    return (argument.c.dtype.code == GPUKERN_OPAQUE and not moved and is_ndarray(argument)
            and not is_native(dtype_of(argument)))


cdef object native_like(const Argument *argument):
    """An uninitialised ndarray of the shape of an ndarray and the native form of its dtype."""
    array = <object>argument.owner
    return np.empty(array.shape, array.dtype.newbyteorder("="))


# ---- NumPy ----

cdef int describe_ndarray(CallContext *call, ArrayType type_, object array,
                          Argument *argument) except -1:
    fill_from_ndarray(call, argument, <cnp.ndarray>array)
    link_host(call, argument)
    return 0


cdef int fill_from_ndarray(CallContext *call, Argument *argument, cnp.ndarray array) except -1:
    """Fills in the memory of an ndarray that the caller or the context holds."""
    cdef int d, ndim = cnp.PyArray_NDIM(array)
    cdef cnp.npy_intp *shape = cnp.PyArray_DIMS(array)
    cdef cnp.npy_intp *strides = cnp.PyArray_STRIDES(array)
    cdef Py_ssize_t size = cnp.PyArray_ITEMSIZE(array)
    cdef int64_t *sizes = &argument.sizes[0]
    if ndim > INLINE_NDIM:
        sizes = new_sizes(call, argument, ndim)
    describe_dtype(<cnp.dtype>PyArray_DTYPE(array), &argument.c.dtype)
    argument.c.data = cnp.PyArray_DATA(array)
    argument.c.device.device_type = GPUKERN_CPU
    argument.c.device.device_id = 0
    argument.c.byte_offset = 0
    argument.c.ndim = ndim
    argument.c.shape = sizes
    argument.c.strides = NULL
    argument.itemsize = size
    argument.host = True
    argument.readonly = not cnp.PyArray_ISWRITEABLE(array)
    argument.byte_strided = argument.c.dtype.lanes == 0
    argument.owner = argument.described = <PyObject *>array
    argument.memory = argument.c.data
    argument.elements = 1
    for d in range(ndim):
        sizes[d] = shape[d]
        argument.elements *= shape[d]
    # NumPy's strides mean nothing where sizes are 0 or 1.
    if cnp.PyArray_IS_C_CONTIGUOUS(array) or size == 0:
        return 0
    sizes += ndim
    argument.c.strides = sizes
    for d in range(ndim):
        sizes[d] = 0
        if shape[d] > 1:
            sizes[d] = strides[d] // size
            argument.byte_strided |= strides[d] % size != 0
    return 0


cdef int64_t *new_sizes(CallContext *call, Argument *argument, int ndim) except NULL:
    """Room for the shape and the strides of an argument."""
    if 0 <= ndim <= INLINE_NDIM:
        return argument.sizes
    if ndim < 0 or ndim > GPUKERN_MAX_NDIM:
        raise GpukernValueError(
            f"{what(call, argument)} must have 0 to {GPUKERN_MAX_NDIM} dimensions, got {ndim}")
    return <int64_t *>new_memory(call, 2 * ndim * sizeof(int64_t))


cdef cnp.ndarray new_ndarray(cnp.dtype dtype, int ndim, const int64_t *shape, void *data=NULL,
                             const int64_t *strides=NULL, object owner=None, bint writeable=True):
    """An ndarray, C-contiguous or of other strides in bytes: of new memory, uninitialised, or of
    that of an owner."""
    cdef cnp.ndarray array
    cdef int flags = 0 if data == NULL else cnp.NPY_ARRAY_CARRAY
    if ndim > GPUKERN_MAX_NDIM:
        raise GpukernValueError(
            f"the result must have at most {GPUKERN_MAX_NDIM} dimensions, got {ndim}")
    Py_INCREF(dtype)
    try:
        array = PyArray_NewFromDescr(
            &PyArray_Type, dtype, ndim, <const cnp.npy_intp *>shape, <const cnp.npy_intp *>strides,
            data, flags if writeable else flags & ~cnp.NPY_ARRAY_WRITEABLE, NULL)
    except ValueError:  # the sizes other than 0 have too large a product
        raise GpukernMemoryError("no memory has 2**63 bytes, for a result of shape "
                                 f"{tuple([shape[d] for d in range(ndim)])}") from None
    if data != NULL:
        cnp.set_array_base(array, owner)
    return array


cdef object new_ndarray_result(CallContext *call, const Argument *like, object dtype, int ndim,
                               const int64_t *shape, Argument *result):
    """A new ndarray of a dtype, or of that of `like` for None, described in `result`."""
    cdef object made = new_ndarray(dtype_of(like) if dtype is None else dtype, ndim, shape)
    prepare(result, made, "the result")
    result.written = result.is_new = True
    describe_ndarray(call, None, made, result)
    if dtype is None:  # which NumPy may not have
        result.c.dtype = like.c.dtype
    return made


cdef int describe_converted(CallContext *call, ArrayType type_, object array,
                            Argument *argument) except -1:
    """Describes what NumPy converts to an array: an object that exports the buffer protocol, a
    list, a number."""
    # An object may have the interface without its type: a proxy, a namespace.
    if not type_.is_builtin and hasattr(array, "__cuda_array_interface__"):
        return describers[<int>BY_INTERFACE](call, type_, array, argument)
    cdef cnp.ndarray made
    try:
        made = PyArray_FROM_OF(array, cnp.NPY_ARRAY_ENSUREARRAY)
        if (made.dtype.hasobject and PyObject_CheckBuffer(array)
                and not hasattr(array, "__array__") and not hasattr(array, "__array_interface__")):
            memoryview(array)  # raises what NumPy has passed over
    except ValueError as error:  # a ragged list
        raise GpukernValueError(f"{what(call, argument)}: {error}") from error
    except TypeError as error:
        raise GpukernTypeError(f"{what(call, argument)}: {error}") from error
    if made.dtype.hasobject and not type_.is_sequence:
        raise GpukernTypeError(
            f"{what(call, argument)} must be an array, got {type(array).__name__}"
            + (" of Python objects (gather takes its numpy.asarray())" if made.ndim else ""))
    keep(call, made)
    return describe_ndarray(call, type_, made, argument)


# ---- any layout ----

cdef gpukern_tensor *as_bytes(CallContext *call, const Argument *argument) except NULL:
    """Describes an argument as bytes, with a last dimension that runs through each element: so
    every layout and item size can be expressed, fields of packed records and huge items."""
    cdef gpukern_tensor *made = <gpukern_tensor *>new_memory(call, sizeof(gpukern_tensor))
    cdef int d, ndim = argument.c.ndim
    cdef int64_t *sizes = <int64_t *>new_memory(call, 2 * (ndim + 1) * sizeof(int64_t))
    cdef uint64_t stride = argument.itemsize  # which may wrap for an array without elements
    # The strides in bytes are still those of the array.
    if argument.byte_strided and not has_shape(<cnp.ndarray>argument.owner, &argument.c):
        raise GpukernValueError(
            f"{what(call, argument)} was reshaped while the other arguments were read")
    made[0] = argument.c
    made.ndim = ndim + 1
    made.dtype.code, made.dtype.bits, made.dtype.lanes = GPUKERN_UINT, 8, 1
    made.shape, made.strides = sizes, sizes + ndim + 1
    made.shape[ndim], made.strides[ndim] = argument.itemsize, 1
    for d in range(ndim - 1, -1, -1):
        made.shape[d] = argument.c.shape[d]
        if argument.c.strides == NULL:
            made.strides[d] = <int64_t>stride
            stride *= <uint64_t>max(made.shape[d], 1)
        elif argument.byte_strided and made.shape[d] > 1:
            made.strides[d] = cnp.PyArray_STRIDES(<cnp.ndarray>argument.owner)[d]
        else:
            made.strides[d] = <int64_t>(
                <uint64_t>argument.c.strides[d] * <uint64_t>argument.itemsize)
    return made


cdef bint has_shape(cnp.ndarray array, const gpukern_tensor *tensor) noexcept:
    return cnp.PyArray_NDIM(array) == tensor.ndim and memcmp(
        cnp.PyArray_DIMS(array), tensor.shape, tensor.ndim * sizeof(int64_t)) == 0


# ---- what an argument is ----

cdef object dtype_of(const Argument *argument):
    """NumPy's dtype of an argument."""
    if argument.dtype != NULL:
        return <object>argument.dtype
    if is_ndarray(argument):
        return <object>PyArray_DTYPE(<cnp.ndarray>argument.owner)
    return numpy_dtype(argument.c.dtype)


cdef tuple shape_of(const gpukern_tensor *tensor):
    return tuple([tensor.shape[d] for d in range(tensor.ndim)])


cdef bint same_shape(const gpukern_tensor *x, const gpukern_tensor *y) noexcept nogil:
    if x.ndim == 0 or x.ndim != y.ndim:
        return x.ndim == y.ndim  # of no dimensions, a shape may be NULL
    return memcmp(x.shape, y.shape, x.ndim * sizeof(int64_t)) == 0


cdef Py_ssize_t count_of(const gpukern_tensor *tensor) noexcept nogil:
    """The number of elements."""
    cdef uint64_t product = 1  # which may wrap before a size of 0
    cdef int d
    for d in range(tensor.ndim):
        product *= <uint64_t>tensor.shape[d]
    return <Py_ssize_t>product


cdef bint is_device_array(const Argument *argument) noexcept:
    return argument.type != NULL and (<ArrayType>argument.type).protocol == BY_DEVICE_ARRAY


cdef int set_describer(Protocol protocol, Describer describer) except -1:
    describers[<int>protocol] = describer
    return 0


set_describer(BY_NDARRAY, describe_ndarray)
set_describer(BY_NUMPY, describe_converted)

# Sets the describers of other libraries' arrays.
__import__("gpukern._interop.library_array")
