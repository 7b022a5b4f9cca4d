# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The context of a call: where it runs, in which order on streams, and how it ends."""

cimport numpy as cnp
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cpython.weakref cimport PyWeakref_NewRef
from libc.stdint cimport uintptr_t
from libc.string cimport memset
from libcpp.atomic cimport memory_order_relaxed

from gpukern._capi cimport (
    GPUKERN_CPU, GPUKERN_CUDA, GPUKERN_DEVICE_DEFAULT, GPUKERN_SUCCESS,
    gpukern_exec, gpukern_explanation, gpukern_status, gpukern_stream_wait,
)
from gpukern._interop.array_type cimport ArrayType
from gpukern._runtime.runtime cimport (
    DEFAULT_CPU, DEFAULT_NONE, as_int, check, default_device, shown,
)
from gpukern._streams.index_errors cimport errors_of_block, open_blocks
from gpukern._streams.keep_alive cimport keep_until_done, keepalive_count, release_completed
from gpukern._streams.progress cimport watch
from gpukern._streams.stream cimport Stream, as_device, handle_of, new_stream, wait_back
from gpukern._streams.stream_tracker cimport StreamTracker

from gpukern._interop import libraries
from gpukern.errors import GpukernTypeError, GpukernValueError

cdef extern from *:
    """
    #include <atomic>
    #include <utility>

    static thread_local gpukern_explanation *gpukern_requested_explanation = nullptr;
    // All threads' requests: one plain word is all that other calls read.
    static std::atomic<int> gpukern_requests{0};

    static gpukern_explanation *gpukern_take_request() {
      if (gpukern_requests.load(std::memory_order_relaxed) == 0) return nullptr;
      return std::exchange(gpukern_requested_explanation, nullptr);
    }

    static void gpukern_request(gpukern_explanation *explanation) {
      gpukern_requests.fetch_add(explanation ? 1 : -1, std::memory_order_relaxed);
      gpukern_requested_explanation = explanation;
    }
    """
    gpukern_explanation *gpukern_take_request() noexcept
    void gpukern_request(gpukern_explanation *explanation) noexcept

cdef extern from "Python.h":
    PyThreadState *PyEval_SaveThread()
    void PyEval_RestoreThread(PyThreadState *state)

cnp.import_array()

cdef enum:
    # Bytes of an output that take less time than a release of the GIL, or little more. Elements
    # count as 16 bytes at least: to read each may take a cache miss.
    SHORT = 1 << 14
    SHORT_ELEMENT = 16
    # Bytes of the largest operand, counted in the same way, from which on a call looks at signals:
    # a tenth of a second of one core that combines elements in random order.
    LONG = 1 << 25


# ---- the context ----

cdef int begin_call(CallContext *call, str function, object device, object stream, object progress,
                    object device_memory) except -1:
    """Starts a call. `function` names it in errors and must outlive it."""
    memset(&call.c, 0, sizeof(gpukern_exec))
    call.c.struct_size = sizeof(gpukern_exec)
    call.c.device.device_type = GPUKERN_DEVICE_DEFAULT
    call.c.explanation = gpukern_take_request()
    call.function = <PyObject *>function
    call.arguments = NULL
    call.device.device_type = 0
    call.has_stream = call.any_cuda = call.addresses_only = call.has_duties = False
    call.position = -1
    call.given_stream = call.checked_type = NULL
    call.watch.progress = call.watch.error = NULL
    if keepalive_count.load(memory_order_relaxed) > 0:
        release_completed()
    if device is not None:
        # Beside device arrays, 'cuda' without a number is the GPU that holds them.
        call.any_cuda = device == "cuda" if type(device) is str else False
        call.c.device = as_device(device, f"{function}: device")
    if stream is not None:
        call.c.stream = handle_of(stream, f"{function}: stream")
        call.given_stream = <PyObject *>stream
        call.has_stream = True
    if progress is not None:
        if not callable(progress):
            raise GpukernTypeError(
                f"{function}: progress must be callable or None, got {type(progress).__name__}")
        call.watch.progress = <PyObject *>progress
    if device_memory is not None:
        limit_device_memory(call, device_memory)
    return 0


cdef int limit_device_memory(CallContext *call, object limit) except -1:
    cdef str name = f"{<str>call.function}: device_memory"
    number = as_int(limit, name)
    if not 0 < number < 2**63:
        raise GpukernValueError(f"{name} must be a number of bytes, got {shown(number)}")
    call.c.device_memory_limit = number
    return 0


cdef void request_explanation(gpukern_explanation *explanation) noexcept:
    """Lets the next call that begins on this thread fill in an explanation instead of running;
    NULL ends the request."""
    gpukern_request(explanation)


cdef str what(const CallContext *call, const Argument *argument):
    """What errors call an argument."""
    return f"{<object>call.function}: {name_of(argument)}"


cdef object name_of(const Argument *argument):
    if argument.name == NULL:
        return f"argument {argument.position}"
    if argument.position >= 0:
        return f"{<object>argument.name}[{argument.position}]"
    return <object>argument.name


cdef int keep(CallContext *call, object owner) except -1:
    """Holds an object until the call's function returns."""
    cdef list owners
    if call.held.owners == NULL:
        owners = [owner]
        Py_INCREF(owners)
        call.held.owners = <PyObject *>owners
    else:
        (<list>call.held.owners).append(owner)
    return 0


cdef void *new_memory(CallContext *call, Py_ssize_t bytes_) except NULL:
    """Memory that is released when the call's function returns, aligned to 16 bytes."""
    cdef bytearray memory = bytearray(bytes_ + 16)
    cdef char *start = memory
    keep(call, memory)
    return start + (-<uintptr_t>start % 16)


cdef Stream stream_of_call(CallContext *call):
    """The call's stream as an object, which a StreamTracker can remember."""
    cdef object given
    cdef Stream stream
    if call.held.stream == NULL:
        given = None if call.given_stream == NULL else <object>call.given_stream
        if isinstance(given, Stream):
            stream = given
        else:
            stream = new_stream(call.c.stream, None if isinstance(given, int) else given)
        set_stream(call, stream)
    return <Stream>call.held.stream


cdef int set_stream(CallContext *call, Stream stream) except -1:
    Py_INCREF(stream)
    call.held.stream = <PyObject *>stream
    call.c.stream = stream.handle
    call.has_stream = True
    return 0


cdef bint computes_on_cpu(const CallContext *call) noexcept:
    """Whether host arrays are computed on the CPU."""
    if call.c.device.device_type == GPUKERN_DEVICE_DEFAULT:
        return default_device() in (DEFAULT_NONE, DEFAULT_CPU)
    return call.c.device.device_type == GPUKERN_CPU


# ---- the arguments, and the order on streams ----

cdef int link(CallContext *call, Argument *argument) except -1:
    """Adds a described argument; one on a GPU joins the call's stream order."""
    if not argument.host:
        call.has_duties = True
        join(call, argument)
    link_host(call, argument)
    return 0


cdef int join(CallContext *call, Argument *argument) except -1:
    cdef StreamTracker tracker
    cdef Argument *before = call.arguments
    require_same_device(call, argument)
    if argument.tracker != NULL:
        tracker = <StreamTracker>argument.tracker
        if not call.has_stream:
            set_stream(call, tracker.current_owner())
        # Nobody else knows of a new array yet: nothing to wait for.
        if not argument.is_new:
            tracker.begin(stream_of_call(call), argument.written, &argument.use)
            # Uses of one call that nothing came between are one; of lists, those at one position.
            while before != NULL and (call.position < 0 or before.position == call.position):
                if before.tracker == argument.tracker and before.use + 1 == argument.use:
                    before.use = argument.use
                before = before.previous
    elif argument.unordered:
        pass
    elif not call.has_stream:
        call.c.stream = argument.stream
        call.has_stream = True
    elif is_other_stream(call, argument, call.arguments):
        with nogil:
            check(gpukern_stream_wait(argument.c.device, call.c.stream, argument.stream))
    return 0


cdef int require_same_device(CallContext *call, Argument *argument) except -1:
    """Refuses arrays of two GPUs, whose streams must not meet."""
    cdef const Argument *first = call.arguments
    if call.device.device_type == 0:
        call.device = argument.c.device
        if call.any_cuda:
            call.c.device.device_id = argument.c.device.device_id
    elif (call.device.device_type == GPUKERN_CUDA
            and argument.c.device.device_type == GPUKERN_CUDA
            and call.device.device_id != argument.c.device.device_id):
        like = ""
        while first != NULL:
            if not first.host:
                like = f" like {name_of(first)}"
            first = first.previous
        raise GpukernValueError(
            f"{what(call, argument)} must be on cuda:{call.device.device_id}{like}, "
            f"got cuda:{argument.c.device.device_id}")
    return 0


cdef bint is_other_stream(const CallContext *call, const Argument *argument,
                          const Argument *before) noexcept:
    """Whether an argument names a stream that is neither the call's nor that of an argument from
    `before` on."""
    if not names_stream(argument) or argument.stream == call.c.stream:
        return False
    while before != NULL:
        if names_stream(before) and before.stream == argument.stream:
            return False
        before = before.previous
    return True


cdef bint names_stream(const Argument *argument) noexcept:
    return not (argument.host or argument.unordered or argument.tracker != NULL)


cdef int order_back(CallContext *call) except -1:
    """Orders the streams of the arguments behind the call's enqueued work: the next work on them
    finds the results, and memory that is freed in their order is freed after the call."""
    cdef Argument *argument = call.arguments
    while argument != NULL:
        if argument.tracker != NULL:
            (<StreamTracker>argument.tracker).end(
                stream_of_call(call), argument.written, 0 if argument.is_new else argument.use)
        elif argument.unordered:
            keep_until_done(<object>argument.owner, argument.c.device, call.c.stream)
        elif is_other_stream(call, argument, argument.previous):
            with nogil:
                wait_back(argument.c.device, argument.stream, call.c.stream)
        argument = argument.previous
    return 0


# ---- the work ----

cdef int start(CallContext *call, const Argument *out) except -1:
    """Prepares for the work on `out` (NULL: of unknown size), and releases the GIL unless the work
    is short. Until finish() no Python object may be touched."""
    cdef double count = 1
    cdef bint watched = call.watch.progress != NULL
    cdef int d
    if out != NULL:
        for d in range(out.c.ndim):
            count *= out.c.shape[d]
        if (0 < count * max(out.itemsize, SHORT_ELEMENT) <= SHORT and not watched
                and call.device.device_type == 0 and computes_on_cpu(call)):
            return check_memory(call)
        watched |= count * max(out.itemsize, SHORT_ELEMENT) >= LONG
    if open_blocks.load(memory_order_relaxed) > 0 and call.device.device_type != 0:
        call.c.index_errors = errors_of_block(call.device)
    if watched:
        watch(&call.watch, &call.c)
    pin(call)
    call.held.released = PyEval_SaveThread()
    return 0


cdef int check_memory(CallContext *call) except -1:
    """Raises if an ndarray was resized after it was described, by what a later argument runs."""
    cdef const Argument *argument = call.arguments
    while argument != NULL:
        if (argument.described != NULL and argument.described == argument.owner
                and not is_as_described(argument)):
            raise GpukernValueError(
                f"{what(call, argument)} was resized while the other arguments were read")
        argument = argument.previous
    return 0


cdef int pin(CallContext *call) except -1:
    """Keeps the memory of the caller's ndarrays in place while the GIL is released, until the call
    ends.

    Another thread's resize(refcheck=False) frees memory that the caller's reference and even a
    Py_buffer stand for. Of an array with a weak reference NumPy refuses to do so.
    """
    cdef const Argument *argument = call.arguments
    cdef Py_ssize_t count = 0
    cdef object pins, reference
    check_memory(call)
    while argument != NULL:
        count += argument.host and not argument.is_new
        argument = argument.previous
    if count == 0:
        return 0
    pins = PyTuple_New(count)
    argument = call.arguments
    while argument != NULL:
        if argument.host and not argument.is_new:
            reference = pin_of(argument.owner)
            count -= 1
            Py_INCREF(reference)
            PyTuple_SET_ITEM(pins, count, reference)
        argument = argument.previous
    Py_INCREF(pins)
    if call.held.pins != NULL:  # of fewer arguments
        Py_DECREF(<object>call.held.pins)
    call.held.pins = <PyObject *>pins
    return 0


cdef object pin_of(PyObject *owner):
    """A weak reference to the ndarray whose memory an owner has, None if it is no ndarray."""
    cdef PyObject *base = owner
    if not isinstance(<object>owner, cnp.ndarray):
        return None
    # Of a view, such as ours of a subclass, it is the base whose memory may be freed.
    while base != NULL and isinstance(<object>base, cnp.ndarray):
        owner, base = base, cnp.PyArray_BASE(<cnp.ndarray>base)
    return PyWeakref_NewRef(<object>owner, None)


cdef int finish(CallContext *call, gpukern_status status) except -1:
    """Takes the GIL back, and raises the exception of a failed status."""
    cdef object error
    if call.held.released != NULL:
        PyEval_RestoreThread(call.held.released)
        call.held.released = NULL
    if status == GPUKERN_SUCCESS:
        return 0
    if call.watch.error != NULL:
        error = <object>call.watch.error
        Py_DECREF(error)
        call.watch.error = NULL
        raise error
    return check(status)


cdef object end_call(CallContext *call, object result, const Argument *out):
    """Ends the call, and returns its result: `result`, which `out` describes, as the caller sees
    it. None for a call that was only explained."""
    end_work(call)
    return None if call.c.explanation != NULL else as_result(result, out)


cdef int end_work(CallContext *call) except -1:
    if call.has_duties:
        order_back(call)
        if call.c.explanation == NULL:
            note_writes(call)
    return 0


cdef object as_result(object result, const Argument *out):
    if not out.is_new:
        return result
    if out.type == NULL:
        if out.c.ndim == 0:
            return cnp.PyArray_ToScalar(out.c.data, <cnp.ndarray>result)
        return result
    if (<ArrayType>out.type).adopts:
        return libraries.adopt((<ArrayType>out.type).library, result)
    return result


cdef int note_writes(CallContext *call) except -1:
    """Copies outputs to where they belong, and tells torch of given tensors that were written."""
    cdef const Argument *argument = call.arguments
    cdef ArrayType type_
    while argument != NULL:
        if argument.written and not argument.is_new:
            if argument.target != NULL:
                (<object>argument.target)[...] = <object>argument.owner
            if argument.type != NULL:
                type_ = <ArrayType>argument.type
                if type_.torch is not None:
                    type_.torch.note_write(<object>argument.array, argument.torch)
        argument = argument.previous
    return 0
