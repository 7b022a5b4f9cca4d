# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Host arrays and DeviceArrays, computed on the CPU and on a GPU."""

from dataclasses import dataclass

import numpy as np

import gpukern


@dataclass(frozen=True)
class Place:
    """'cpu', 'cuda': host arrays, computed there. 'cpu-array', 'cuda-array': DeviceArrays."""

    name: str

    def __str__(self):
        return self.name

    @property
    def on_device(self):
        """Whether arrays are DeviceArrays."""
        return self.name.endswith("-array")

    @property
    def device(self):
        return self.name.removesuffix("-array")

    @property
    def options(self):
        """The keyword that makes a call run here; device arrays need none."""
        return {} if self.on_device else {"device": self.device}

    def put(self, array):
        """Convert a NumPy array to an array of this place."""
        return gpukern.to_device(array, device=self.device) if self.on_device else array

    def take(self, array):
        """Convert an array of this place to a NumPy array."""
        return array.numpy() if self.on_device else np.asarray(array)

    def gather(self, source, index, **options):
        """Calls gather on NumPy arrays moved here, and brings the result back."""
        result = gpukern.gather(self.put(source), self.put(index), **options, **self.options)
        return self.take(result)

    def saxpy(self, a, x, y, **options):
        """Calls saxpy on NumPy arrays moved here, and brings the result back."""
        result = gpukern.saxpy(a, self.put(x), self.put(y), **options, **self.options)
        return self.take(result)


def pinned(array):
    """A copy of an array in pinned memory."""
    made = gpukern.pinned_empty(array.shape, array.dtype)
    made[...] = array
    return made


#: Puts an array into host memory of one kind.
HOST_MEMORY = {"pageable": np.copy, "pinned": pinned, "strided": lambda a: np.repeat(a, 2, 0)[::2]}


@dataclass
class Interface:
    """A window on the memory of a DeviceArray on a GPU, by __cuda_array_interface__."""

    memory: gpukern.DeviceArray
    window: "Window"

    @property
    def __cuda_array_interface__(self):
        described = self.memory.__cuda_array_interface__
        dtype = self.window.dtype
        return {
            **described,
            "shape": self.window.shape,
            "typestr": dtype.str,
            "descr": dtype.descr,
            "data": (described["data"][0] + self.window.offset, False),
            "strides": self.window.strides,
        }


@dataclass(frozen=True)
class Window:
    """An array's layout on some memory of bytes; strides and offset in bytes, as in NumPy."""

    dtype: np.dtype
    shape: tuple
    strides: tuple
    offset: int

    def on(self, memory):
        """The array on the host; `memory` is of dtype uint8."""
        return np.ndarray(self.shape, self.dtype, memory, self.offset, self.strides)

    @property
    def extent(self):
        """An upper bound of the end of the elements."""
        reach = sum(max((n - 1) * s, 0) for n, s in zip(self.shape, self.strides, strict=True))
        return self.offset + reach + self.dtype.itemsize

    @property
    def whole_strides(self):
        """Whether strides are whole elements, as a device array's have to be."""
        return not any(stride % self.dtype.itemsize for stride in self.strides)

    def moved(self, offset):
        return Window(self.dtype, self.shape, self.strides, self.offset + offset)


def on_gpu(array):
    """The array in memory of a GPU, in the same layout; it is a view of a contiguous one."""
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    memory = gpukern.to_device(base.reshape(-1, order="A").view(np.uint8), device="cuda")
    offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return Interface(memory, Window(array.dtype, array.shape, array.strides, offset))
