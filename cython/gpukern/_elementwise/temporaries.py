# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The buffers that the steps of an element-wise function write to, block after block.

A new array for each step of each block is memory that is in no cache. So the steps share a few
buffers: a step reuses the buffer of a value that no later step reads, as NumPy's expressions reuse
temporaries. One of the buffers is the output, once no argument in the same memory is left to read.
"""

import functools

import numpy as np

from gpukern._elementwise.numpy_codegen import VIEWS, host_dtype

OUT = 0  # the buffer that is the output


class BufferAssignment:
    """Assigns the steps of a typed function to buffers."""

    def __init__(self, typed, writers, out_type):
        self.steps = typed.steps
        self.writers = writers  # the steps that take an array to write to
        self.out_type = out_type
        self.ended = ended(typed)
        self.assigned = functools.lru_cache(64)(self.assign)

    def assign(self, axes, whole, aliased):
        """The buffer of each writer, None for a new array, and the dtypes of the buffers.

        `axes` are, for each argument, the axes along which it varies, as bits, and `whole` are the
        output's; of -1, all bits are set. `aliased` are the arguments in the output's memory; None
        for an output that no step but the last may write to.
        """
        buffers, dtypes, free = {}, [self.out_type], {}
        waiting = set(aliased or ())
        if aliased is not None and not waiting:
            free[self.out_type] = [OUT]
        reach = dict(enumerate(axes))
        for step, values in zip(self.steps, self.ended, strict=True):
            reach[step] = functools.reduce(
                int.__or__, (reach.get(content_of(each), 0) for each in step.operands)
            )
            for value in values:
                if value in buffers:
                    free.setdefault(value.computed, []).append(buffers[value])
                elif value in waiting:
                    waiting.remove(value)
                    if not waiting:
                        free.setdefault(self.out_type, []).append(OUT)
            if step in self.writers and reach[step] & whole == whole:
                if not free.get(step.computed):
                    free[step.computed] = [len(dtypes)]
                    dtypes.append(step.computed)
                buffers[step] = min(free[step.computed])  # the output, if it may be
                free[step.computed].remove(buffers[step])
        numbers = tuple(buffers.get(step) for step in self.writers)
        return numbers, tuple(host_dtype(each) for each in dtypes[1:])

    def last_reused(self, numbers):
        """A writer whose buffer the last step can write the output to, or None."""
        placed = dict(zip(self.writers, numbers, strict=True))
        for value in self.ended[-1] if self.ended else ():
            if placed.get(value) is not None and value.computed == self.out_type:
                return value
        return None


class Scratch:
    """The buffers of one thread."""

    def __init__(self, assigned, size):
        self.numbers, dtypes = assigned
        self.arrays = [np.empty(size, dtype) for dtype in dtypes]
        self.shape = None
        self.views = []

    def beside(self, out):
        """What each writer is to write to, for a block of the output."""
        if out.shape != self.shape:
            self.shape = out.shape
            self.views = [each[: out.size].reshape(out.shape) for each in self.arrays]
        buffers = [out, *self.views]
        return [None if number is None else buffers[number] for number in self.numbers]


def varying(argument):
    """The axes along which an argument varies, as bits; see block_view()."""
    return axes_of(getattr(argument, "shape", ()))


def axes_of(shape):
    """The axes of a shape that have more than one element."""
    return sum(1 << axis for axis, size in enumerate(shape) if size != 1)


def content_of(value):
    """The position of an input, or the step that computes a value; None for a number."""
    return None if value.kind == "constant" else value.content


def ended(typed):
    """For each step, the inputs and steps that it is the last to read."""
    last, lasting = {}, {content_of(typed.root)}
    for step in typed.steps:
        for value in step.operands:
            last[content_of(value)] = step
            if step.function in VIEWS:
                lasting.add(content_of(value))
    lists = {step: [] for step in typed.steps}
    for content, step in last.items():
        if content is not None and content not in lasting:
            lists[step].append(content)
    return [lists[step] for step in typed.steps]
