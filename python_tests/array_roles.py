# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The arguments that arrays may be: each function takes an array and an ndarray of the same
elements, or one in place of it, and returns a call, and what NumPy computes instead or None."""

import numpy as np

import gpukern
from gpukern._program.kernel_args import POINTER, argument_bytes
from gpukern._program.signature import Parameter

POINTER_PARAMETER = Parameter(8, POINTER)
DOUBLE = gpukern.elementwise("a + a")
LIKE = np.ones((2, 3), "f4")


def gather_source(given, like):
    return lambda: gpukern.gather(given, [0, -1]), lambda: np.take(like, [0, -1], axis=0)


def gather_nothing(given, like):
    return lambda: gpukern.gather(given, []), lambda: np.take(like, np.empty(0, int), axis=0)


def gather_index(given, like):
    source = np.arange(10.0)
    return (
        lambda: gpukern.gather(source, given, mode="wrap"),
        lambda: source[np.remainder(like, like.dtype.type(10)).astype(int)],
    )


def take_along_axis(given, like):
    index = np.zeros((1,) * like.ndim, int)
    return (
        lambda: gpukern.take_along_axis(given, index, 0),
        lambda: np.take_along_axis(like, index, 0),
    )


def saxpy_x(given, like):
    y = np.zeros_like(like, order="C")
    return lambda: gpukern.saxpy(1, given, y), lambda: like + y


def saxpy_y(given, like):
    x = np.zeros_like(like, order="C")
    return lambda: gpukern.saxpy(1, x, given), lambda: like + x


def saxpy_many_x(given, like):
    y = np.zeros_like(like, order="C")
    return lambda: gpukern.saxpy_many(1, [y, given], [y, y])[1], lambda: like + y


def axpby_y(given, like):
    x = np.zeros_like(like, order="C")
    return lambda: gpukern.axpby(1, x, 1, given), lambda: like + x


def axpby_b(given, like):
    return lambda: gpukern.axpby(1, np.ones(like.shape), given, np.ones(like.shape)), None


def fma_y(given, like):
    x = np.ones_like(like, order="C")
    return lambda: gpukern.fma(x, given, x), lambda: like + x


def elementwise_argument(given, like):
    return lambda: DOUBLE(given), lambda: like + like


def to_device(given, like):
    return lambda: gpukern.to_device(given, "cpu").numpy(), lambda: like.copy()


def nonzero(given, like):
    return lambda: gpukern.nonzero(given)[0], lambda: np.nonzero(like)[0]


def copyto_source(given, like):
    target = np.zeros_like(like, order="C", subok=False)
    return lambda: (gpukern.copyto(target, given), target)[1], lambda: like.copy()


def scalar_values(given, like):
    return lambda: gpukern.scatter(np.zeros(3, like.dtype), [0], given), None


def fill_value(given, like):
    return lambda: gpukern.gather(np.ones(3), [5], mode="fill", fill_value=given), None


def saxpy_a(given, like):
    return lambda: gpukern.saxpy(given, np.ones(3), np.ones(3)), None


def bag_offsets(given, like):
    return lambda: gpukern.segment_reduce(np.ones((3, 2), "f4"), given), None


def gather_reduce_source(given, like):
    return lambda: gpukern.gather_reduce(given, [0], [0, 1]), None


def put_along_axis_index(given, like):
    values = np.ones_like(like, "f8", order="C", subok=False)
    return lambda: gpukern.put_along_axis(values, given, values, 0, mode="wrap"), None


def scatter_index(given, like):
    return lambda: gpukern.scatter(np.zeros(3), given, 1.0, mode="wrap"), None


def bincount(given, like):
    return lambda: gpukern.bincount(given, size=256, mode="fill"), None


def kernel_argument(given, like):
    return lambda: argument_bytes(given, POINTER_PARAMETER), None


def mask(given, like):
    return lambda: gpukern.compress(given, np.ones(like.shape[:1])), None


def explained(given, like):
    return lambda: str(gpukern.explain(gpukern.gather, given, [0]))[:0], None


def gather_out(given, like):
    source = np.array(like)
    return lambda: gpukern.gather(source, range(len(like))[::-1], out=given), lambda: source[::-1]


def saxpy_out(given, like):
    x = np.array(like)
    return lambda: gpukern.saxpy(1, x, x, out=given), lambda: x + x


def saxpy_many_out(given, like):
    x = np.array(like)
    return (
        lambda: gpukern.saxpy_many(1, [x, x], [x, x], out=[np.empty_like(x), given])[1],
        lambda: x + x,
    )


def fma_out(given, like):
    x = np.array(like)
    one = np.ones_like(x)
    return lambda: gpukern.fma(x, one, x, out=given), lambda: x + x


def elementwise_out(given, like):
    x = np.array(like)
    return lambda: DOUBLE(x, out=given), lambda: x + x


def copyto_target(given, like):
    source = np.array(like)[::-1]
    return lambda: (gpukern.copyto(given, source), given)[1], lambda: source


def scatter_target(given, like):
    values = np.array(like)[-1:]
    expected = np.array(like)
    expected[:1] = values
    return lambda: gpukern.scatter(given, [0], values), lambda: expected


READ = (gather_source, gather_index, take_along_axis, saxpy_x, saxpy_y, saxpy_many_x, axpby_y,
        axpby_b, fma_y, elementwise_argument, to_device, nonzero, copyto_source, scalar_values,
        fill_value, saxpy_a, bag_offsets, mask, gather_reduce_source, put_along_axis_index,
        scatter_index, bincount, kernel_argument, explained)  # fmt: skip
# Those that NumPy converts, which passes over the exceptions of __buffer__().
CONVERTED = (scalar_values, fill_value, saxpy_a)
WRITTEN = (gather_out, saxpy_out, saxpy_many_out, fma_out, elementwise_out, copyto_target,
           scatter_target)  # fmt: skip
# Those that take what few of the arrays are, or what none is without a GPU.
RARELY_RIGHT = (*CONVERTED, bag_offsets, kernel_argument)
# Those that take elements of any size.
CERTAIN = (gather_source, copyto_source, to_device)
