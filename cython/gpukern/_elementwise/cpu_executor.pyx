# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Element-wise functions on the host: NumPy's ufuncs on blocks that fit a core's cache."""

cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject_CallObject
from libc.stdint cimport int64_t
from libcpp.atomic cimport atomic

from gpukern._capi cimport gpukern_num_threads, gpukern_tensor
from gpukern._elementwise.loop_plan cimport (
    MAX_RANK, Broadcast, LoopNest, begin_nest, coalesce, fill_operand, fill_tensor, is_same_memory,
    overlaps, sizes_of,
)

from gpukern._interop.argument cimport new_ndarray
from gpukern._runtime.runtime cimport fork_count
from gpukern._streams.progress cimport is_due

import contextvars
import threading

import numpy as np

from gpukern._elementwise.blocking import block_view, blocks, empty_like_any, even_block
from gpukern._elementwise.frontend.graph import Input
from gpukern._elementwise.frontend.type_resolution import WEAK_TYPES
from gpukern._elementwise.frontend.ufuncs import C_NAMES, TRANSCENDENTAL
from gpukern._elementwise.numpy_codegen import Writer, host_dtype
from gpukern._elementwise.temporaries import BufferAssignment, Scratch, axes_of, varying
from gpukern._runtime.runtime import get_num_threads
from gpukern.errors import GpukernDeviceError, GpukernOverflowError

cdef extern from "numpy/arrayobject.h":
    void *PyArray_DTYPE(cnp.ndarray array)  # a borrowed reference

cdef extern from "Python.h":
    int PyContext_Enter(object context) except -1
    int PyContext_Exit(object context) except -1

cdef extern from "<pthread.h>" nogil:
    int pthread_atfork(void (*prepare)() noexcept, void (*parent)() noexcept,
                       void (*child)() noexcept)

cnp.import_array()

# Elements that need neither blocks nor buffers: a new array for each step stays in the cache.
FEW = 1 << 15
# Of the widest array in a call that one thread computes in one block. Measured:
# benchmarks/notes/host.md#element-wise-functions-blocks-temporaries-threads.
ALONE_BYTES = 1 << 24
# The same of a block of a larger call. In smaller blocks, threads wait for Python's lock more than
# they compute.
BLOCK_BYTES = 1 << 20
# Fewer steps, of an element of four bytes each, are not worth a thread's start: about half a
# millisecond.
LEAST_FOR_THREAD = 1 << 21
# Bytes of a result between two reports, as of saxpy's (src/runtime/pipeline_tuning.hpp).
REPORT_BYTES = 1 << 25

# Contexts in which NumPy ignores floating-point errors, and which no call is in. To enter one costs
# a tenth of `numpy.errstate`.
cdef list idle_contexts = []


cpdef object quietly(object name, object function, tuple arguments):
    """Calls a function that computes with ndarrays, without warnings, for an element-wise one."""
    cdef object context
    try:  # another thread may take the last one
        context = idle_contexts.pop()
    except IndexError:
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
    PyContext_Enter(context)
    try:
        return PyObject_CallObject(function, arguments)
    except OverflowError as error:  # a Python int that does not fit its array's dtype
        raise GpukernOverflowError(f"{name}: {error}") from None
    finally:
        PyContext_Exit(context)
        idle_contexts.append(context)


@cython.final
cdef class HostFunction:
    """A typed function as Python functions that call NumPy, for an output of some dtype.

    `is_number` tells of each argument whether it is a number; the others are ndarrays. One thread
    computes up to `alone` elements in one block, up to `few` of them without buffers.
    """

    def __init__(self, typed, out_type, is_number):
        names = typed.function.device_names
        if names:
            raise GpukernDeviceError(
                f"{typed.function.name}: {', '.join(names)} is CUDA C++, which needs a GPU; only "
                f"functions that NumPy has are computed on the CPU{suggestion(names[0])}")
        self.typed = typed
        self.name = typed.function.name
        self.out_type = out_type
        writer = Writer(typed, out_type)
        self.buffers = BufferAssignment(typed, writer.writers, out_type)
        self.axes = tuple([0 if number else -1 for number in is_number])  # where arrays are alike
        numbers, _ = self.buffers.assign(self.axes, -1, None)
        self.compute = writer.compute()  # f(*arguments) -> array
        self.compute_alike = writer.compute_alike(numbers, self.buffers.last_reused(numbers))
        self.write = writer.write()  # f(*arguments, out, *buffers)
        used = [each for each in typed.function.nodes if isinstance(each, Input)]
        self.uses_all = len(used) == len(typed.types)
        self.derives_numbers = any([step.weak for step in typed.steps])
        dtypes = {out_type, *typed.types, *[step.computed for step in typed.steps]} - {*WEAK_TYPES}
        widest = max([host_dtype(each).itemsize for each in dtypes])
        self.cost = sum(map(cost, typed.steps)) or 1
        self.narrow = 4 // min(widest, 4)  # times as many elements of one or two bytes
        least = LEAST_FOR_THREAD * self.narrow
        self.block = max(min(BLOCK_BYTES // widest, least // self.cost), 1)
        # With nothing between the arguments and the result, blocks are for threads alone.
        one_thread = (2 * least - 1) // self.cost
        self.few = min(FEW, one_thread) if writer.writers else one_thread
        self.alone = max(self.few, min(ALONE_BYTES // widest, one_thread))

    cdef object call(self, tuple arguments, object out, const Broadcast *shape, object progress):
        """Computes ndarrays and numbers into an array of this shape.

        Where it is None, into a new one, or a scalar where all arguments have no dimensions.
        """
        if out is not None:
            self.given(arguments, out, shape, progress)
            return out
        if self.uses_all and (progress is None or shape.count <= FEW):
            if shape.contiguous and shape.count <= self.alone:
                return reported(quietly(self.name, self.compute_alike, arguments), progress)
            if shape.count <= self.few:
                return reported(quietly(self.name, self.compute, arguments), progress)
        out = empty_like_any(arguments, sizes_of(shape), host_dtype(self.out_type))
        self.into(arguments, out, (), progress)
        return out if shape.ndim > 0 else out[()]

    cdef int given(self, tuple arguments, object out, const Broadcast *shape,
                   object progress) except -1:
        """Computes into an array that the caller gave, of the result's shape."""
        cdef Py_ssize_t size = shape.count
        if size <= self.few and (progress is None or size <= FEW):
            # Only the last operation writes, and NumPy minds what overlaps it.
            quietly(self.name, self.write, (*arguments, out))
            reported(out, progress)
            return 0
        separate, aliased = separated(arguments, out)
        if not self.certainly_fit(arguments):
            aliased = None  # a Python int that does not fit is refused before anything is written
        if (shape.alike and size <= self.alone and progress is None
                and cnp.PyArray_IS_C_CONTIGUOUS(out)):
            self.in_one_block(separate, out, self.buffers.assigned(self.axes, -1, aliased))
            return 0
        return self.into(separate, out, aliased, progress)

    cdef int into(self, object arguments, object out, object aliased, object progress) except -1:
        """Computes block by block into an array of the result's shape.

        For `aliased`, see BufferAssignment.assign.
        """
        cdef Py_ssize_t done = 0, size
        cdef double next_report = 0
        if out.size == 0:
            return 0
        views, target = coalesced_views(arguments, out)
        assigned = self.buffers.assigned(
            tuple([varying(each) for each in views]), axes_of(target.shape), aliased)
        wanted = self.threads(out.size)
        if progress is None and wanted == 1 and out.size <= self.alone:
            self.in_one_block(views, target, assigned)
            return 0
        block = even_block(target.shape, self.block, wanted if progress is None else 1)
        work = Work(self, views, target, assigned, block)
        parts = list(blocks(target.shape, block))
        if progress is None:
            work.compute(parts, wanted)
            return 0
        step = REPORT_BYTES // (self.block * out.itemsize)
        for some in batched(parts, max(step, 1)):
            size = sum([target[part].size for part in some])
            work.compute(some, self.threads(size))
            done += size * out.itemsize
            if is_due(&next_report) or done == out.nbytes:
                progress(done, out.nbytes)
        return 0

    cdef int in_one_block(self, list arguments, object out, tuple assigned) except -1:
        quietly(self.name, self.write, (*arguments, out, *Scratch(assigned, out.size).beside(out)))
        return 0

    cdef bint certainly_fit(self, tuple arguments) except -1:
        """Whether no step can refuse a Python int: every dtype has the arguments' numbers, and no
        other ones are computed from them."""
        if "int" not in self.typed.types:
            return True
        if self.derives_numbers:
            return False
        for number, dtype in zip(arguments, self.typed.types):
            if dtype == "int" and (type(number) is not int or not 0 <= number <= 127):
                return False
        return True

    def threads(self, Py_ssize_t size):
        """The number of threads that compute `size` elements."""
        worth = size * self.cost // (LEAST_FOR_THREAD * self.narrow)
        return max(min(get_num_threads(), worth), 1)


cdef object reported(object result, object progress):
    """The result of a call in one part, after its report."""
    if progress is not None and result.nbytes > 0:
        progress(result.nbytes, result.nbytes)
    return result


def suggestion(name):
    """A known function of nearly this name, as the end of a message."""
    import difflib  # for this message alone
    close = difflib.get_close_matches(name, C_NAMES, 1, 0.7)
    return f"; did you mean {close[0]}?" if close else ""


def cost(step):
    """The time that a step takes, in additions."""
    if step.function not in TRANSCENDENTAL:
        return 1
    return 2 if step.computed == "float32" else 8  # NumPy has vector code for most of float32


class Work:
    """A function, its arguments and its output, as coalesced_views() gives them."""

    def __init__(self, function, arguments, out, assigned, block):
        self.name, self.write = function.name, function.write
        self.views = [block_view(each) for each in arguments]
        self.out = out
        self.assigned = assigned
        self.block = min(block, out.size)  # elements, no block has more

    def compute(self, parts, wanted):
        """Computes some blocks, by up to `wanted` threads, the caller's being one."""
        share = ThreadShare(wanted)
        try:
            self.run_threads(batched(parts, -(-len(parts) // share.count)))
        finally:
            share.give_back()

    def run_threads(self, batches):
        """Computes by a thread for each batch, the caller's being one; an error stops them all."""
        errors = []

        def work(mine, busy):
            try:
                with busy:
                    self.run(mine, errors)
            except BaseException as error:  # for the caller's thread
                errors.append(error)

        # Threads of this call alone: none is left to a fork() or to the end of the process.
        others = [(each, threading.Lock()) for each in batches[1:]]
        threads = []
        try:
            for each in others:
                thread = threading.Thread(target=work, args=each)
                if not is_started(thread):
                    break
                threads.append(thread)
            for batch in (batches[0], *batches[1 + len(threads):]):
                self.run(batch, errors)
            for thread in threads:
                thread.join()
        except BaseException as error:
            errors.append(error)
            # A thread that begins from here on ends immediately. The others are not joined: before
            # Python 3.13, a join() that Ctrl-C has stopped lets the next one return too early.
            for _, busy in others:
                with busy:
                    pass
            raise
        if errors:
            raise errors[0]

    def run(self, parts, errors):
        """Computes some blocks, until there is an error elsewhere."""
        scratch = Scratch(self.assigned, self.block)
        for part in parts:
            if errors:
                return
            out = self.out[part]
            pieces = [view(part) for view in self.views]
            quietly(self.name, self.write, (*pieces, out, *scratch.beside(out)))


def is_started(thread):
    """Starts a thread; returns False where the process may have no more."""
    try:
        thread.start()
    except RuntimeError:
        if thread.ident is not None:
            raise  # of a signal handler: the thread runs
        return False
    return True


def batched(parts, count):
    """Lists of `count` parts, the last one of what is left."""
    return [parts[first:first + count] for first in range(0, len(parts), count)]


# ---- threads ----

# Without locks: fork() may come at any time, and so may the handler of a signal.
cdef atomic[int] busy


cdef void begin_anew() noexcept nogil:
    """In the child of a fork(), where those threads are not."""
    busy.store(0)


pthread_atfork(NULL, NULL, begin_anew)


@cython.final
cdef class ThreadShare:
    """The caller's thread, and as many more, up to `wanted` in all, as are free in the process.

    They count until give_back(), or until an exception drops this.
    """

    cdef readonly int count
    cdef int forks

    def __cinit__(self, int wanted):
        self.forks = fork_count()
        cdef int before = busy.fetch_add(wanted)
        self.count = max(1, min(wanted, gpukern_num_threads() - before))
        busy.fetch_sub(wanted - self.count)

    def __dealloc__(self):
        self.give_back()

    cpdef give_back(self):
        """Let other calls have them."""
        if self.forks == fork_count():
            busy.fetch_sub(self.count)
        self.count = 0


# ---- views of memory ----

cdef tuple coalesced_views(object arguments, cnp.ndarray out):
    """The arguments, which broadcast to `out`, and `out` as a coalesced nest walks them.

    Along a dimension in which it is broadcast, an argument has size 1. Numbers stay what they are.
    """
    cdef LoopNest nest
    cdef int k
    cdef list arrays = [out, *[each for each in arguments if isinstance(each, cnp.ndarray)]]
    begin_nest(&nest, <int>len(arrays), cnp.PyArray_NDIM(out),
               <const int64_t *>cnp.PyArray_DIMS(out))
    for k in range(nest.operands):
        fill_ndarray(&nest, k, arrays[k])
    coalesce(&nest)
    views = iter([view_of(arrays[k], &nest, k) for k in range(nest.operands)])
    target = next(views)
    return [next(views) if isinstance(each, cnp.ndarray) else each for each in arguments], target


cdef tuple separated(tuple arguments, cnp.ndarray out):
    """The arguments, none of which `out` overwrites early, and the positions of those in `out`.

    An argument that is the same memory as `out`, element by element, stays; others that overlap it
    are copied.
    """
    cdef LoopNest nest
    cdef list separate = list(arguments), aliased = []
    begin_nest(&nest, 2, cnp.PyArray_NDIM(out), <const int64_t *>cnp.PyArray_DIMS(out))
    fill_ndarray(&nest, 0, out)
    for i, each in enumerate(arguments):
        if isinstance(each, cnp.ndarray):
            fill_ndarray(&nest, 1, each)
            if is_same_memory(&nest, 1):
                aliased.append(i)
            elif overlaps(&nest, 1):
                separate[i] = each.copy()
    return separate, tuple(aliased)


cdef void fill_ndarray(LoopNest *nest, int k, cnp.ndarray array) noexcept:
    """Describes an ndarray that broadcasts to the nest."""
    fill_operand(nest, k, cnp.PyArray_BYTES(array), cnp.PyArray_ITEMSIZE(array),
                 cnp.PyArray_NDIM(array), <const int64_t *>cnp.PyArray_DIMS(array),
                 <const int64_t *>cnp.PyArray_STRIDES(array), 1)


cdef cnp.ndarray view_of(cnp.ndarray array, const LoopNest *nest, int k):
    cdef int64_t shape[MAX_RANK]
    cdef int d
    for d in range(nest.rank):
        shape[d] = nest.extent[d] if nest.stride[k][d] != 0 else 1
    return new_ndarray(<cnp.dtype>PyArray_DTYPE(array), nest.rank, shape, nest.address[k],
                       nest.stride[k], array, cnp.PyArray_ISWRITEABLE(array))


cdef object ndarray_at(const gpukern_tensor *tensor, object dtype, bint writeable, object owner):
    """A host tensor as an ndarray; its memory is the owner's."""
    cdef LoopNest nest
    begin_nest(&nest, 1, tensor.ndim, tensor.shape)
    fill_tensor(&nest, 0, tensor)
    return new_ndarray(dtype, tensor.ndim, tensor.shape, nest.address[0], nest.stride[0], owner,
                       writeable)
