# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Element-wise functions on the host: NumPy's ufuncs on blocks that stay in a core's cache."""

import contextvars
import math
import threading

import numpy as np

from gpukern._blocks import apart, blocks, empty_like_any, in_memory_order, piece
from gpukern._host_code import Writer, host_dtype
from gpukern._status import get_num_threads
from gpukern._threads import ThreadShare
from gpukern.errors import (
    GpukernDeviceError,
    GpukernOverflowError,
    GpukernValueError,
)

BLOCK = 1 << 15  # elements; a few temporary arrays of these fit the second-level cache of a core
# Fewer elements for each thread are not worth its start.
LEAST_FOR_THREAD = 1 << 19
REPORTS = 64
SMALLEST_REPORT = 1 << 27
LARGEST_REPORT = 1 << 29


class Quiet(threading.local):
    """A context, one for each thread, in which NumPy ignores floating-point errors.

    To enter it costs a tenth of `numpy.errstate`. Nothing but NumPy's own code is to run in it.
    """

    def __init__(self):
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


QUIET = Quiet()


def quietly(function, arguments):
    """Call a function that computes with ndarrays, without warnings."""
    try:
        return QUIET.run(function, *arguments)
    except RuntimeError:  # already in there: a finalizer or the handler of a signal called
        with np.errstate(all="ignore"):
            return function(*arguments)


class HostFunction:
    """A typed function as a Python function that calls NumPy."""

    def __init__(self, typed, out_type):
        names = typed.function.device_names
        if names:
            raise GpukernDeviceError(
                f"{typed.function.name}: {', '.join(names)} is CUDA C++, which needs a GPU; only "
                "functions that NumPy has are computed on the CPU"
            )
        self.typed = typed
        self.out_type = out_type
        writer = Writer(typed, out_type)
        self.uses_all = {value.content for value in inputs_of(typed)} == set(
            range(len(typed.types))
        )
        self.compute = writer.compiled(False)  # f(*arrays) -> array
        self.write = writer.compiled(True)  # f(*arrays, out)

    def call(self, arguments, out, progress=None):
        """Compute into an array, or a new one where that is None."""
        try:
            if out is None:
                return self.new(arguments, progress)
            shape = broadcast(self.typed.function, arguments)
            require_shape(self.typed.function, out, shape)
            require_places(self.typed.function, out.shape, out.strides)
            self.into(arguments, out, progress)
        except OverflowError as error:
            self.refuse(error)
        return out

    def short(self, arguments, out):
        """As call(), for ndarrays of no more than one dimension and a single block, and numbers.

        An output is of the result's shape. A function that does not use all arguments is not for
        this, unless there is an output: its result might have too few elements.
        """
        try:
            if out is None:
                return quietly(self.compute, arguments)
            quietly(self.write, (*arguments, out))
        except OverflowError as error:
            self.refuse(error)
        except ValueError:  # for shapes, which have words of our own
            broadcast(self.typed.function, arguments)
            raise
        return out

    def refuse(self, error):
        """Raise the error of a Python int that does not fit its array's dtype."""
        raise GpukernOverflowError(f"{self.typed.function.name}: {error}") from None

    def new(self, arguments, progress):
        """Compute a new array, a scalar where all arguments have no dimensions."""
        shape = broadcast(self.typed.function, arguments)
        if math.prod(shape) <= BLOCK and progress is None:
            with np.errstate(all="ignore"):
                result = self.compute(*arguments)
            if result.shape == shape:  # unless it does not depend on all arguments
                return result
        out = empty_like_any(arguments, shape, host_dtype(self.out_type))
        self.into(arguments, out, progress)
        return out[()]

    def into(self, arguments, out, progress):
        """Compute into an array of the result's shape."""
        if out.size <= BLOCK:  # only the last operation writes, and NumPy minds what overlaps it
            with np.errstate(all="ignore"):
                self.write(*arguments, out)
            if progress is not None and out.size > 0:
                progress(out.nbytes, out.nbytes)
            return
        arguments = [apart(each, out) for each in arguments]
        arguments, out = in_memory_order(arguments, out)
        parts = list(blocks(out.shape, BLOCK))
        if progress is None:
            self.by_threads(arguments, out, parts, self.threads(out.size))
            return
        done = 0
        for some in batched(parts, max(report_bytes(out.nbytes) // (BLOCK * out.itemsize), 1)):
            size = sum(out[part].size for part in some)
            self.by_threads(arguments, out, some, self.threads(size))
            done += size * out.itemsize
            progress(done, out.nbytes)

    @staticmethod
    def threads(size):
        """How many threads compute so many elements."""
        return max(min(get_num_threads(), size // LEAST_FOR_THREAD), 1)

    def by_threads(self, arguments, out, parts, wanted):
        """Compute some blocks, by so many threads if they are free."""
        share = ThreadShare(wanted)
        try:
            if share.count == 1:
                self.run(arguments, out, parts)
            else:
                self.together(arguments, out, batched(parts, -(-len(parts) // share.count)))
        finally:
            share.give_back()

    def together(self, arguments, out, batches):
        """Compute by a thread for each batch, the caller's being one; an error stops them all."""
        errors = []

        def work(mine):
            try:
                self.run(arguments, out, mine, errors)
            except BaseException as error:  # for the caller's thread; also Ctrl-C, in that one
                errors.append(error)

        # Threads of this call alone: none is left to a fork() or to the end of the process.
        threads = [threading.Thread(target=work, args=(some,)) for some in batches[1:]]
        try:
            for thread in threads:
                thread.start()
            work(batches[0])
            for thread in threads:
                thread.join()
        except BaseException as error:
            errors.append(error)
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
            raise
        if errors:
            raise errors[0]

    def run(self, arguments, out, parts, errors=()):
        """Compute some blocks, until there is an error elsewhere."""
        with np.errstate(all="ignore"):
            for part in parts:
                if errors:
                    return
                self.write(*(piece(each, part) for each in arguments), out[part])


def batched(parts, count):
    """Lists of so many parts, the last one of what is left."""
    return [parts[first : first + count] for first in range(0, len(parts), count)]


def report_bytes(total):
    """Bytes of a result between two reports, as of saxpy's (src/pipeline_tuning.hpp)."""
    return min(max(total // REPORTS, SMALLEST_REPORT), LARGEST_REPORT)


def inputs_of(typed):
    """The values that are arguments of the function."""
    values = [typed.root, *(value for step in typed.steps for value in step.operands)]
    return [value for value in values if value.kind == "input"]


def broadcast(function, arguments):
    """The shape of the result."""
    shapes = [np.shape(each) for each in arguments]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise GpukernValueError(
            f"{function.name}: shapes {', '.join(map(str, shapes))} do not broadcast"
        ) from None


def require_shape(function, out, shape):
    """Refuse an output of another shape than the result's."""
    if out.shape != shape:
        raise GpukernValueError(f"{function.name}: out must have shape {shape}, got {out.shape}")


def require_places(function, shape, strides):
    """Refuse an output whose elements share memory, as gather and saxpy do."""
    for d, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        if stride == 0 and size > 1 and 0 not in shape:
            raise GpukernValueError(
                f"{function.name}: out must have an own place for each element, "
                f"got stride 0 in dimension {d}"
            )
