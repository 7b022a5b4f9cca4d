# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Where the steps of an element-wise function write, block after block.

A new array for each step of each block is memory that no cache has. So the steps share a few
places: a step takes that of a value which nothing reads any more, as temporaries of NumPy's
expressions do. One of them is the output, once no argument that lies there is to be read.
"""

import functools

import numpy as np

from gpukern._elementwise.numpy_codegen import VIEWS, host_dtype

OUT = 0  # the place that is the output


class Places:
    """Chooses the places for a typed function."""

    def __init__(self, typed, writers, out_type):
        self.steps = typed.steps
        self.writers = frozenset(writers)  # the steps that take an array to write to
        self.out_type = out_type
        self.ended = ended(typed)
        self.chosen = functools.lru_cache(64)(self.choose)

    def choose(self, axes, whole, held):
        """The place of each writer, None for an array of its own, and the dtypes of the places.

        `axes` are, for each argument, the axes along which it has elements of its own, as bits, and
        `whole` are the output's; of -1, all bits are set. `held` are the arguments that lie where
        the output does; None for an output that no step but the last may write to.
        """
        places, dtypes, free = {}, [self.out_type], {}
        waiting = set(held or ())
        if held is not None and not waiting:
            free[self.out_type] = [OUT]
        reach = dict(enumerate(axes))
        for step, values in zip(self.steps, self.ended, strict=True):
            reach[step] = functools.reduce(
                int.__or__, (reach.get(content_of(each), 0) for each in step.operands)
            )
            for value in values:
                if value in places:
                    free.setdefault(value.computed, []).append(places[value])
                elif value in waiting:
                    waiting.remove(value)
                    if not waiting:
                        free.setdefault(self.out_type, []).append(OUT)
            if step in self.writers and reach[step] & whole == whole:
                if not free.get(step.computed):
                    free[step.computed] = [len(dtypes)]
                    dtypes.append(step.computed)
                places[step] = min(free[step.computed])  # the output, if it may be
                free[step.computed].remove(places[step])
        numbers = tuple(places.get(step) for step in self.steps if step in self.writers)
        return numbers, tuple(host_dtype(each) for each in dtypes[1:])

    def last_reused(self, numbers):
        """A writer in whose place the last step can write the output; None if there is none."""
        writers = [step for step in self.steps if step in self.writers]
        placed = dict(zip(writers, numbers, strict=True))
        for value in self.ended[-1] if self.ended else ():
            if placed.get(value) is not None and value.computed == self.out_type:
                return value
        return None


class Scratch:
    """The places for the blocks of one thread."""

    def __init__(self, chosen, size):
        self.numbers, dtypes = chosen
        self.arrays = [np.empty(size, dtype) for dtype in dtypes]
        self.shape = None
        self.views = []

    def beside(self, out):
        """What each writer is to write to, for a block of the output."""
        if out.shape != self.shape:
            self.shape = out.shape
            self.views = [each[: out.size].reshape(out.shape) for each in self.arrays]
        places = [out, *self.views]
        return [None if number is None else places[number] for number in self.numbers]


def varying(argument, shape):
    """The axes of a shape along which an argument, which broadcasts, has elements of its own."""
    own = getattr(argument, "shape", ())
    if own == shape:
        return -1
    first = len(shape) - len(own)
    return sum(1 << (first + axis) for axis, size in enumerate(own) if size != 1)


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
