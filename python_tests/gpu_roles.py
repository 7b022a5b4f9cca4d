# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The arguments that arrays on a GPU may be, as in array_roles.py, beside other arrays there."""

import numpy as np
from array_roles import explained, gather_source, nonzero

import gpukern


def there(array):
    return gpukern.to_device(array, "cuda")


def zeros(like, dtype=None):
    return np.zeros_like(like, dtype, order="C", subok=False)


def gather_index(given, like):
    source = np.arange(10.0)
    return (
        lambda: gpukern.gather(there(source), given, mode="wrap"),
        lambda: source[np.remainder(like, like.dtype.type(10)).astype(int)],
    )


def take_along_axis(given, like):
    index = np.zeros((1,) * like.ndim, int)
    return (
        lambda: gpukern.take_along_axis(given, there(index), 0),
        lambda: np.take_along_axis(like, index, 0),
    )


def saxpy_x(given, like):
    return lambda: gpukern.saxpy(1, given, there(zeros(like))), lambda: like + zeros(like)


def axpby_b(given, like):
    ones = there(np.ones(like.shape))
    return lambda: gpukern.axpby(1, ones, given, ones), None


def fma_y(given, like):
    ones = zeros(like) + 1
    return lambda: gpukern.fma(there(ones), given, there(ones)), lambda: like + ones


def to_host(given, like):
    target = zeros(like)
    return lambda: (gpukern.copyto(target, given), target)[1], lambda: like.copy()


def copyto_source(given, like):
    target = there(zeros(like))
    return lambda: (gpukern.copyto(target, given), target)[1], lambda: like.copy()


def mask(given, like):
    return lambda: gpukern.compress(given, there(np.ones(like.shape[:1]))), None


def scatter_values(given, like):
    index = np.arange(len(like))
    return lambda: gpukern.scatter(there(zeros(like)), index, given), lambda: like.copy()


def scatter_index(given, like):
    return lambda: gpukern.scatter(there(np.zeros(3)), given, 1.0, mode="wrap"), None


def segment_reduce(given, like):
    return lambda: gpukern.segment_reduce(given, there(np.array([0, 1]))), None


def bincount(given, like):
    return lambda: gpukern.bincount(given, size=256, mode="fill"), None


def gather_out(given, like):
    source = np.array(like)
    back = np.arange(len(like))[::-1].copy()
    return lambda: gpukern.gather(there(source), back, out=given), lambda: source[::-1]


def saxpy_out(given, like):
    x = np.array(like)
    return lambda: gpukern.saxpy(1, there(x), there(x), out=given), lambda: x + x


def fma_out(given, like):
    x = np.array(like)
    one = there(np.ones_like(x))
    return lambda: gpukern.fma(there(x), one, there(x), out=given), lambda: x + x


def copyto_target(given, like):
    source = np.array(like)[::-1]
    return lambda: (gpukern.copyto(given, there(source)), given)[1], lambda: source


def from_host(given, like):
    source = np.array(like)[::-1]
    return lambda: (gpukern.copyto(given, source), given)[1], lambda: source


def scatter_target(given, like):
    values = np.array(like)[-1:]
    expected = np.array(like)
    expected[:1] = values
    return lambda: gpukern.scatter(given, [0], there(values)), lambda: expected


READ = (gather_source, gather_index, take_along_axis, saxpy_x, axpby_b, fma_y, to_host,
        copyto_source, nonzero, mask, scatter_values, scatter_index, segment_reduce, bincount,
        explained)  # fmt: skip
WRITTEN = (gather_out, saxpy_out, fma_out, copyto_target, from_host, scatter_target)
