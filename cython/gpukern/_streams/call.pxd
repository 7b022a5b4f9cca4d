# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""One call: its context, and its arguments as the C ABI takes them.

Both live on the stack of the Python function that makes the call::

    def operation(x, *, out=None, device=None, stream=None, progress=None, device_memory=None):
        cdef CallContext call
        cdef Argument xs, dst
        begin_call(&call, "operation", device, stream, progress, device_memory)
        describe(&call, x, "x", &xs)                      # argument.pxd
        if out is None:                                   # result.pxd
            result = new_result(&call, &xs, None, xs.c.ndim, xs.c.shape, &dst)
        else:
            result = out
            describe_output(&call, out, "out", &dst)
        start(&call, &dst)                                # from here no Python object is touched
        finish(&call, gpukern_operation(&xs.c, &dst.c, &call.c))
        return end_call(&call, result, &dst)

begin_call() evaluates device=, stream=, progress= and device_memory=. Each argument is described
once, by the describer of its type, and is then linked into the context until the context's function
returns: it must live at least as long as the context, on the same stack frame or in new_memory().
An argument on a GPU joins the call's stream order as it is described: the first one decides the
stream unless stream= did, and the call waits for the streams of all others. start() releases the
GIL if the work is worth it, finish() takes it back and raises the exception of a failed status;
start_waiting() is start() for work whose size is unknown. end_call() makes the other streams wait
for the call, tells the libraries which arrays were written to, and returns the result. For several
results, end_work() does all but that, and as_result() is each of them.

The context releases what it holds when the function returns, also by an exception.
"""

cimport numpy as cnp
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from gpukern._capi cimport (
    gpukern_device, gpukern_exec, gpukern_explanation, gpukern_status, gpukern_tensor,
)
from gpukern._streams.stream cimport Stream
from gpukern._streams.progress cimport Watch

cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyArrayObject
    void *data_of "PyArray_DATA"(PyArrayObject *) noexcept
    int ndim_of "PyArray_NDIM"(PyArrayObject *) noexcept
    cnp.npy_intp *dims_of "PyArray_DIMS"(PyArrayObject *) noexcept

cdef extern from *:
    """
    #ifndef GPUKERN_CALL_REFERENCES
    #define GPUKERN_CALL_REFERENCES
    // The references of one call. A thread that may not run Python any more is unwound through
    // here without the GIL when the interpreter ends: it leaves the objects alone.
    struct gpukern_call_references {
      PyObject *owners = nullptr;
      PyObject *stream = nullptr;
      PyObject *pins = nullptr;
      PyThreadState *released = nullptr;

      gpukern_call_references() = default;
      gpukern_call_references(const gpukern_call_references &) = delete;
      gpukern_call_references &operator=(const gpukern_call_references &) = delete;
      ~gpukern_call_references() {
        if ((owners || stream || pins) && !released && PyGILState_Check()) {
          Py_XDECREF(pins);
          Py_XDECREF(stream);
          Py_XDECREF(owners);
        }
      }
    };
    #endif
    """
    cppclass References "gpukern_call_references":
        PyObject *owners     # a list of what no caller holds; see keep()
        PyObject *stream     # a Stream; see stream_of_call()
        PyObject *pins       # a tuple; see start()
        PyThreadState *released
    ctypedef struct PyThreadState

cdef enum:
    INLINE_NDIM = 8

# An array of the caller's, or a result. Pointers to Python objects are borrowed, from the caller or
# from the context's owners. Shape and strides are copies: an ndarray may be reshaped in place while
# the GIL is released.
cdef struct Argument:
    gpukern_tensor c     # strides are NULL for a C-contiguous array
    Py_ssize_t itemsize
    bint host
    bint readonly
    bint written         # an output
    bint is_new          # made by new_result()
    bint byte_strided    # strides are no whole elements, or c.dtype cannot express the item size
    bint unordered       # on a GPU, of a producer that names no stream; see keep_alive.pyx
    PyObject *name       # in errors: a str, or NULL for "argument {position}"
    int position         # see `name`; else of an array in the list of that name, -1 for no list
    PyObject *array      # what was passed
    PyObject *owner      # what holds the memory: an ndarray, a DeviceArray, `array` or an Import
    PyObject *described  # the ndarray whose memory was described, else NULL
    void *memory         # of it then
    Py_ssize_t elements  # of it then
    PyObject *type       # the ArrayType of `array`, NULL for an ndarray
    PyObject *dtype      # NumPy's, NULL if it is to be derived: see dtype_of()
    PyObject *tracker    # the StreamTracker of a DeviceArray on a GPU, else NULL
    uint64_t use         # the number of this use of the tracker's memory
    PyObject *target     # where end_call() copies `owner` to, NULL for nowhere
    void *torch          # a torch tensor's TensorImpl, NULL if it is not known
    void *stream         # the current stream of the array's library, NULL on the host
    Argument *previous   # of the context
    int64_t sizes[2 * INLINE_NDIM]  # c.shape and c.strides, unless there are more dimensions

# Of borrowed references, and cheaper than a call of NumPy's function.
cdef inline bint is_as_described(const Argument *argument) noexcept:
    cdef PyArrayObject *array = <PyArrayObject *>argument.owner
    cdef Py_ssize_t elements = 1
    cdef int d
    if data_of(array) != argument.memory:
        return False
    for d in range(ndim_of(array)):
        elements *= dims_of(array)[d]
    return elements == argument.elements

cdef struct CallContext:
    gpukern_exec c             # for the C ABI
    PyObject *function         # the name in errors, a str that outlives the call
    Argument *arguments        # the last one described
    gpukern_device device      # of the arguments on a GPU; device_type is 0 without any
    bint has_stream            # c.stream is settled
    bint any_cuda              # device='cuda': the GPU of the arguments
    bint addresses_only        # describers may leave out shapes and strides
    bint has_duties            # an argument is for order_back() or note_writes()
    int position               # of the arrays of lists that are described, -1 for others
    PyObject *given_stream     # stream=, borrowed, NULL for None
    PyObject *checked_type     # the ArrayType whose thread state was found plain; see TorchState
    Watch watch
    References held

cdef int begin_call(CallContext *call, str function, object device, object stream, object progress,
                    object device_memory) except -1
cdef int link(CallContext *call, Argument *argument) except -1
cdef int start(CallContext *call, const Argument *out) except -1
cdef int check_memory(CallContext *call) except -1
cdef int pin(CallContext *call) except -1
cdef object pin_of(PyObject *owner)
cdef int finish(CallContext *call, gpukern_status status) except -1
cdef int order_back(CallContext *call) except -1
cdef object end_call(CallContext *call, object result, const Argument *out)
cdef int end_work(CallContext *call) except -1
cdef object as_result(object result, const Argument *out)

cdef str what(const CallContext *call, const Argument *argument)
cdef object name_of(const Argument *argument)
cdef int keep(CallContext *call, object owner) except -1
cdef void *new_memory(CallContext *call, Py_ssize_t bytes_) except NULL
cdef Stream stream_of_call(CallContext *call)
cdef void request_explanation(gpukern_explanation *explanation) noexcept
cdef bint computes_on_cpu(const CallContext *call) noexcept

cdef inline void link_host(CallContext *call, Argument *argument) noexcept:
    """Adds a described argument in host memory, which has no stream."""
    argument.previous = call.arguments
    call.arguments = argument
