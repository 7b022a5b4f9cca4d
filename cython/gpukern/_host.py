# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Element-wise functions on the host: NumPy's ufuncs on blocks that stay in a core's cache."""

import contextvars
import math
import threading

import numpy as np

from gpukern._blocks import apart, blocks, piece
from gpukern._functions import UFUNCS
from gpukern._promotion import WEAK_TYPES
from gpukern._status import get_num_threads
from gpukern._threads import ThreadShare
from gpukern.errors import (
    GpukernDeviceError,
    GpukernOverflowError,
    GpukernTypeError,
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
        out = np.empty(shape, host_dtype(self.out_type))
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


def host_dtype(name):
    """NumPy's dtype; bfloat16 is that of ml_dtypes."""
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise GpukernTypeError(
            "elementwise: bfloat16 on the CPU needs the package ml_dtypes"
        ) from None
    return np.dtype(ml_dtypes.bfloat16)


class Writer:
    """Writes the Python source of a typed function."""

    def __init__(self, typed, out_type):
        self.typed = typed
        self.out_type = out_type
        self.numbers = {id(step): i for i, step in enumerate(typed.steps)}
        self.names = {"np": np, "asarray": np.asarray, "copyto": np.copyto, "item": item}
        if "bfloat16" in (out_type, *typed.types, *(step.computed for step in typed.steps)):
            self.names["bfloat16"] = host_dtype("bfloat16").type

    def compiled(self, writes):
        """Compile ``f(*arguments)``, or ``f(*arguments, out)``."""
        parameters = [f"x{i}" for i in range(len(self.typed.types))]
        lines = [f"def function({', '.join(parameters + ['out'] * writes)}):"]
        *others, last = self.typed.steps or (None,)
        for step in others:
            lines.append(f"    t{self.numbers[id(step)]} = {self.step(step)}")
        lines += self.ending(last, writes)
        exec(compile("\n".join(lines), f"<{self.typed.function.name}>", "exec"), self.names)
        return self.names["function"]

    def ending(self, last, writes):
        """The last step, which is the root in all but the plainest functions, and the return."""
        root = self.typed.root
        is_root = last is not None and root.content is last
        is_ufunc = is_root and last.function in UFUNCS and not self.is_weak(root)
        if writes and is_ufunc and last.computed == self.typed.result == self.out_type:
            return [f"    {self.call(last, ', out=out')}"]
        if is_ufunc and last.computed == self.typed.result == self.out_type:
            return [f"    return {self.step(last)}"]  # a scalar already, where there are no arrays
        lines = [] if last is None else [f"    t{self.numbers[id(last)]} = {self.step(last)}"]
        result = self.value(root)
        if root.kind != "step" or root.type != self.typed.result:
            result = f"asarray({result}).astype({self.dtype(self.typed.result)})"
        if writes:
            return [*lines, f"    copyto(out, {result}, casting='unsafe')"]
        if self.out_type != self.typed.result:
            result = f"asarray({result}).astype({self.dtype(self.out_type)})"
        return [*lines, f"    return {result}[()]"]

    def dtype(self, name):
        """A dtype."""
        return "bfloat16" if name == "bfloat16" else f"'{name}'"

    def is_weak(self, value):
        return value.type in WEAK_TYPES

    def step(self, step):
        """The expression of a step; a weak result is a Python number again."""
        text = self.call(step)
        return f"item({text})" if step.weak else text

    def call(self, step, more=""):
        """The call of NumPy's function."""
        if step.function == "cast":
            return f"asarray({self.value(step.operands[0])}).astype({self.dtype(step.computed)})"
        texts = []
        for value, wanted in zip(step.operands, step.operand_types, strict=True):
            text = self.value(value)
            # A Python number is not weak to ml_dtypes' bfloat16.
            is_number = wanted == "bfloat16" and self.is_weak(value)
            texts.append(f"bfloat16({text})" if is_number else text)
        if step.function == "where":
            texts[0] = f"asarray({texts[0]}, bool)"
        return f"np.{step.function}({', '.join(texts)}{more})"

    def value(self, value):
        """A value: an argument, the result of a step, or a number by a name of its own."""
        if value.kind == "input":
            return f"x{value.content}"
        if value.kind == "step":
            return f"t{self.numbers[id(value.content)]}"
        name = f"c{len(self.names)}"
        self.names[name] = value.content
        return name


def item(result):
    """A result of numbers as a Python number."""
    return np.asarray(result).item()
