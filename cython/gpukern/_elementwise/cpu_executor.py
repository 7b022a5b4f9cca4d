# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Element-wise functions on the host: NumPy's ufuncs on blocks that stay in a core's cache."""

import math

import numpy as np

from gpukern._elementwise.blocking import apart, blocks, empty_like_any, in_memory_order
from gpukern._elementwise.host_work import Work, batched, quietly
from gpukern._elementwise.numpy_codegen import Writer, host_dtype
from gpukern._elementwise.temporaries import Places, Scratch
from gpukern._elementwise.type_resolution import WEAK_TYPES
from gpukern._elementwise.ufuncs import TRANSCENDENTAL
from gpukern._runtime.devices import get_num_threads
from gpukern.errors import (
    GpukernDeviceError,
    GpukernOverflowError,
    GpukernValueError,
)

# Elements that need neither blocks nor places: a new array for each step stays in the cache.
FEW = 1 << 15
# Of the widest array in a block. A few such arrays fit the second-level cache of a core; in smaller
# blocks, threads wait for Python's lock more than they compute.
BLOCK_BYTES = 1 << 19
# Fewer steps, of one element each, are not worth a thread's start: about half a millisecond.
LEAST_FOR_THREAD = 1 << 21
REPORTS = 64
SMALLEST_REPORT = 1 << 27
LARGEST_REPORT = 1 << 29


class HostFunction:
    """A typed function as Python functions that call NumPy, for an output of some dtype.

    `is_number` tells of each argument whether it is a number; the others are ndarrays. For one
    thread, `few` elements are computed at once where there is an output, and `alike_few` where
    there is none and all ndarrays have one shape.
    """

    def __init__(self, typed, out_type, is_number):
        names = typed.function.device_names
        if names:
            raise GpukernDeviceError(
                f"{typed.function.name}: {', '.join(names)} is CUDA C++, which needs a GPU; only "
                "functions that NumPy has are computed on the CPU"
            )
        self.typed = typed
        self.out_type = out_type
        writer = Writer(typed, out_type)
        self.places = Places(typed, writer.writers, out_type)
        self.arrays = [i for i, number in enumerate(is_number) if not number]
        self.axes = tuple(0 if number else -1 for number in is_number)  # where arrays are alike
        numbers, _ = self.places.choose(self.axes, -1, None)
        self.compute = writer.compute()  # f(*arguments) -> array
        self.compute_alike = writer.compute_alike(numbers, self.places.last_reused(numbers))
        self.write = writer.write()  # f(*arguments, out, *places)
        self.uses_all = {value.content for value in inputs_of(typed)} == set(
            range(len(typed.types))
        )
        dtypes = {out_type, *typed.types, *(step.computed for step in typed.steps)} - {*WEAK_TYPES}
        widest = max(host_dtype(each).itemsize for each in dtypes)
        self.cost = sum(map(cost, typed.steps)) or 1
        self.block = max(min(BLOCK_BYTES // widest, LEAST_FOR_THREAD // self.cost), 1)
        # With nothing between the arguments and the result, blocks are for threads alone.
        alone = (2 * LEAST_FOR_THREAD - 1) // self.cost
        self.few = min(FEW, alone) if writer.writers else alone
        self.alike_few = max(self.few, self.block)

    def call(self, arguments, out, progress=None):
        """Compute into an array, or a new one where that is None."""
        shape = self.common_shape(arguments)
        is_alike = shape is not None
        if not is_alike:
            shape = broadcast(self.typed.function, arguments)
        try:
            if out is None:
                return self.new(arguments, shape, is_alike, progress)
            require_shape(self.typed.function, out, shape)
            require_places(self.typed.function, out.shape, out.strides)
            self.given(arguments, out, is_alike, progress)
        except OverflowError as error:
            self.refuse(error)
        return out

    def short(self, arguments, out):
        """As call(), for few elements in ndarrays of one dimension and one size, and numbers.

        An output is of the result's shape. A function that does not use all arguments is not for
        this, unless there is an output: its result might have too few elements.
        """
        try:
            if out is None:
                return quietly(self.compute_alike, arguments)
            quietly(self.write, (*arguments, out))
        except OverflowError as error:
            self.refuse(error)
        return out

    def refuse(self, error):
        """Raise the error of a Python int that does not fit its array's dtype."""
        raise GpukernOverflowError(f"{self.typed.function.name}: {error}") from None

    def common_shape(self, arguments):
        """The shape of all ndarrays, with dimensions; None if they differ."""
        shapes = [arguments[i].shape for i in self.arrays]
        if not shapes or shapes.count(shapes[0]) < len(shapes):
            return None
        return shapes[0] or None

    def new(self, arguments, shape, is_alike, progress):
        """Compute a new array, a scalar where all arguments have no dimensions."""
        size = math.prod(shape)
        if progress is None:
            result = None
            if is_alike and size <= self.alike_few and self.are_contiguous(arguments):
                result = quietly(self.compute_alike, arguments)
            elif size <= self.few:
                result = quietly(self.compute, arguments)
            if result is not None and result.shape == shape:  # of a function of all arguments
                return result
        out = empty_like_any(arguments, shape, host_dtype(self.out_type))
        self.into(arguments, out, (), progress)
        return out if out.ndim > 0 else out[()]

    def are_contiguous(self, arguments):
        """Whether results are so, whichever step computes them."""
        return all(arguments[i].flags.c_contiguous for i in self.arrays)

    def given(self, arguments, out, is_alike, progress):
        """Compute into an array that the caller gave, of the result's shape."""
        if out.size <= self.few and progress is None:
            # Only the last operation writes, and NumPy minds what overlaps it.
            quietly(self.write, (*arguments, out))
            return
        arguments, held = apart(arguments, out)
        if "int" in self.typed.types:
            held = None  # a Python int that does not fit is refused before anything is written
        if is_alike and out.size <= self.block and progress is None and out.flags.c_contiguous:
            scratch = Scratch(self.places.chosen(self.axes, -1, held), out.size)
            quietly(self.write, (*arguments, out, *scratch.beside(out)))
            return
        self.into(arguments, out, held, progress)

    def into(self, arguments, out, held, progress):
        """Compute block by block into an array of the result's shape.

        For `held`, see Places.choose.
        """
        if out.size == 0:
            return
        arguments, out = in_memory_order(arguments, out)
        work = Work(self, arguments, out, held, self.block)
        parts = list(blocks(out.shape, self.block))
        if progress is None:
            work.compute(parts, self.threads(out.size))
            return
        done = 0
        for some in batched(parts, max(report_bytes(out.nbytes) // (self.block * out.itemsize), 1)):
            size = sum(out[part].size for part in some)
            work.compute(some, self.threads(size))
            done += size * out.itemsize
            progress(done, out.nbytes)

    def threads(self, size):
        """How many threads compute so many elements."""
        return max(min(get_num_threads(), size * self.cost // LEAST_FOR_THREAD), 1)


def cost(step):
    """The time that a step takes, beside an addition's."""
    if step.function not in TRANSCENDENTAL:
        return 1
    return 2 if step.computed == "float32" else 8  # NumPy has vector code for most of float32


def report_bytes(total):
    """Bytes of a result between two reports, as of saxpy's (src/runtime/pipeline_tuning.hpp)."""
    return min(max(total // REPORTS, SMALLEST_REPORT), LARGEST_REPORT)


def inputs_of(typed):
    """The values that are arguments of the function."""
    values = [typed.root, *(value for step in typed.steps for value in step.operands)]
    return [value for value in values if value.kind == "input"]


def broadcast(function, arguments):
    """The shape of the result."""
    shapes = [getattr(each, "shape", ()) for each in arguments]
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
