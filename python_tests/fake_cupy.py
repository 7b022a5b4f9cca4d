# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The parts of CuPy and torch that the benchmarks of host arrays use, implemented by NumPy."""

import ctypes
from types import SimpleNamespace

import numpy as np

from benchmarks import libraries


class Array(np.ndarray):
    """A NumPy array with CuPy's copies to and from the host."""

    # CuPy's: an object with a pointer. NumPy's own has no address as a number.
    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    def set(self, host):
        self[...] = host

    def get(self, out=None):
        if out is None:
            return np.array(self)
        out[...] = self
        return out


class FakeCupy(libraries.Cupy):
    """CuPy's module, on the host."""

    version = "0.0"

    def __init__(self, memory, stream):
        runtime = SimpleNamespace(
            memcpyAsync=lambda to, origin, size, kind, stream: ctypes.memmove(to, origin, size),
            memcpyHostToDevice=1,
            memcpyDeviceToHost=2,
            deviceSynchronize=int,
        )
        self.module = SimpleNamespace(
            empty=lambda shape, dtype: np.empty(shape, dtype).view(Array),
            asarray=lambda array: np.array(array).view(Array),
            take=np.take,
            cuda=SimpleNamespace(runtime=runtime),
        )
        stream = SimpleNamespace(ptr=0, synchronize=int)
        self.copy_streams = [stream, stream]

    def saxpy(self, a, x, y, out):
        out[...] = a * x + y


class Tensor(np.ndarray):
    """A NumPy array with torch's methods."""

    def to(self, device, non_blocking):
        return self.copy()

    def copy_(self, other, non_blocking=False):
        self[...] = other
        return self

    def scatter_(self, axis, index, values):
        np.put_along_axis(self, index, values, axis)
        return self

    def index_copy_(self, axis, index, values):
        self[index] = values
        return self

    def scatter_add_(self, axis, index, values):
        np.add.at(self, index, values)
        return self

    index_add_ = scatter_add_

    def numpy(self):
        return np.asarray(self)


class FakeTorch:
    """torch's module, on the host."""

    version = "0.0"

    def __init__(self, memory, stream):
        self.module = self
        self.cuda = SimpleNamespace(synchronize=int)
        self.nn = SimpleNamespace(functional=SimpleNamespace(embedding_bag=self.embedding_bag))

    def embedding_bag(self, index, source, starts, mode):
        assert mode == "sum"
        return np.add.reduceat(source[index], starts)

    def segment_reduce(self, source, reduce, offsets, unsafe):
        assert (reduce, unsafe) == ("sum", True)
        return np.add.reduceat(source, offsets[:-1])

    def take_along_dim(self, source, index, axis):
        return np.take_along_axis(source, index, axis)

    def bincount(self, index, weights, size):
        return np.bincount(index, weights, size)

    def masked_select(self, source, mask):
        return source[mask]

    def nonzero(self, mask):
        return np.argwhere(mask)

    def from_numpy(self, array):
        return array.view(Tensor)

    def empty(self, shape, dtype, device):
        return np.empty(shape, dtype).view(Tensor)

    def add(self, y, x, alpha, out=None):
        return np.add(y, np.float32(alpha) * x, out=out)

    def index_select(self, source, axis, index, out=None):
        return np.take(source, index, axis=axis, out=out)
