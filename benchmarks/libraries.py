# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The Python peers: torch, CuPy, JAX and Numba, each if it is installed.

They use views of device memory and the benchmark's stream, except JAX, which has separate streams.
On host arrays, torch and Numba compute on the CPU, and CuPy on the GPU.
"""

import os

import numpy as np

from benchmarks.suites.cases import DEVICE, HOST

NAMES = {DEVICE: ("torch", "cupy", "jax"), HOST: ("torch", "numba", "cupy")}


class Memory:
    """Device memory as bytes, by ``__cuda_array_interface__``."""

    def __init__(self, address, size):
        self.address = address
        self.size = size

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": (self.size,),
            "typestr": "|u1",
            "data": (self.address, False),
            "version": 3,
            "strides": None,
        }


class Torch:
    """PyTorch; with device memory, views of it as tensors."""

    def __init__(self, memory, stream):
        import torch

        self.module = torch
        self.version = f"{torch.__version__} ({torch.get_num_threads()} threads)"
        if memory is None:
            return
        self.address = memory.address
        self.bytes = torch.as_tensor(memory, device="cuda")
        if self.bytes.data_ptr() != memory.address:
            raise RuntimeError("torch has copied the memory")
        if stream:
            torch.cuda.set_stream(torch.cuda.ExternalStream(stream))

    def array(self, address, shape, dtype):
        """Return a tensor at an address."""
        dtype = getattr(self.module, dtype)
        size = dtype.itemsize
        for extent in shape:
            size *= extent
        at = address - self.address
        return self.bytes[at : at + size].view(dtype).view(shape)


class Cupy:
    """CuPy; with device memory, views of it as arrays."""

    def __init__(self, memory, stream):
        import cupy

        cupy.cuda.runtime.getDeviceCount()  # raises without a GPU
        self.module = cupy
        self.version = cupy.__version__
        self.saxpy = cupy.ElementwiseKernel("T a, T x, T y", "T z", "z = a * x + y", "bench_saxpy")
        self.copy_streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
        if memory is not None:
            self.memory = memory
            self.owner = cupy.cuda.UnownedMemory(memory.address, memory.size, memory)
            cupy.cuda.ExternalStream(stream).use()

    def array(self, address, shape, dtype):
        """Return an array at an address."""
        at = self.module.cuda.MemoryPointer(self.owner, address - self.memory.address)
        return self.module.ndarray(shape, self.module.dtype(dtype), at)

    def address_of(self, array):
        """Return the address of an array."""
        return array.data.ptr

    def transfer(self, to_gpu=(), to_host=()):
        """Copy pairs (to, from) of device and page-locked arrays both ways concurrently."""
        runtime = self.module.cuda.runtime
        into, out = self.copy_streams
        for device, host in to_gpu:
            runtime.memcpyAsync(device.data.ptr, host.ctypes.data, host.nbytes,
                                runtime.memcpyHostToDevice, into.ptr)  # fmt: skip
        for host, device in to_host:
            runtime.memcpyAsync(host.ctypes.data, device.data.ptr, host.nbytes,
                                runtime.memcpyDeviceToHost, out.ptr)  # fmt: skip
        into.synchronize()
        out.synchronize()


class Jax:
    """JAX: imports of torch's tensors or CuPy's arrays, by DLPack."""

    needs_gpu = True

    def __init__(self, memory, stream):
        # Otherwise it allocates three quarters of the GPU's memory.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax

        jax.config.update("jax_enable_x64", True)
        # With more devices, it makes another one than the first current in the thread.
        jax.config.update("jax_cuda_visible_devices", "0")
        if self.needs_gpu and not any(each.platform == "gpu" for each in jax.devices()):
            raise RuntimeError("jax finds no GPU")
        self.module = jax
        self.version = jax.__version__
        self.exporter = None  # set by open_libraries
        self.saxpy = jax.jit(lambda a, x, y: a * x + y)
        # The mode without any check of the bounds: JAX's fastest.
        self.take = jax.jit(lambda s, i: s.at[i].get(mode="promise_in_bounds"))
        self.take_along_axis = jax.jit(
            lambda s, i, axis: jax.numpy.take_along_axis(s, i, axis, mode="promise_in_bounds"),
            static_argnums=2,
        )
        self.put_along_axis = jax.jit(
            lambda t, i, v, axis: jax.numpy.put_along_axis(
                t, i, v, axis, inplace=False, mode="promise_in_bounds"
            ),
            static_argnums=3,
        )
        names = {None: "set", "add": "add", "max": "max", "min": "min"}
        self.scatter = jax.jit(
            lambda t, i, v, reduce: getattr(t.at[i], names[reduce])(v, mode="promise_in_bounds"),
            static_argnums=3,
        )
        self.bags = jax.jit(self.reduce_bags, static_argnums=(4, 5))
        self.compress = jax.jit(
            lambda mask, x, size: jax.numpy.compress(mask, x, axis=0, size=size), static_argnums=2
        )

    def reduce_bags(self, source, index, ids, weights, bags, reduce):
        """Reduce the rows of each bag, without checks; `ids` has the bag of each row."""
        mode = self.module.lax.GatherScatterMode.PROMISE_IN_BOUNDS
        rows = source if index is None else source.at[index].get(mode=mode)
        if weights is not None:
            rows = rows * weights[:, None]
        combine = getattr(self.module.ops, f"segment_{reduce}")
        return combine(rows, ids, bags, indices_are_sorted=True, mode=mode)

    def array(self, address, shape, dtype):
        """Return a JAX array at an address."""
        return self.module.dlpack.from_dlpack(self.exporter.array(address, shape, dtype))


class Numba:
    """Loops over all cores, compiled by Numba, without bounds checks."""

    def __init__(self, memory, stream):
        import numba

        self.version = f"{numba.__version__} ({numba.get_num_threads()} threads)"

        @numba.njit(parallel=True)
        def saxpy(a, x, y, out):
            for i in numba.prange(x.size):
                out[i] = a * x[i] + y[i]

        @numba.njit(parallel=True)
        def gather(source, index, out):
            for i in numba.prange(index.size):
                out[i] = source[index[i]]

        @numba.njit(parallel=True)
        def gather_rows(source, index, out):
            for i in numba.prange(index.size):
                for j in range(source.shape[1]):
                    out[i, j] = source[index[i], j]

        @numba.njit
        def scatter(target, index, values):
            for i in range(index.size):
                target[index[i]] = values[i]

        @numba.njit
        def scatter_add(target, index, values):
            for i in range(index.size):
                target[index[i]] += values[i]

        @numba.njit(parallel=True)
        def take_along_axis(source, index, axis, out):
            for i in numba.prange(index.shape[0]):
                for j in range(index.shape[1]):
                    at = index[i, j]
                    out[i, j] = source[at, j] if axis == 0 else source[i, at]

        @numba.njit(parallel=True)
        def put_along_axis(target, index, values, axis):
            if axis == 1:
                for i in numba.prange(index.shape[0]):
                    for j in range(index.shape[1]):
                        target[i, index[i, j]] = values[i, j]
            else:
                for i in range(index.shape[0]):
                    for j in range(index.shape[1]):
                        target[index[i, j], j] = values[i, j]

        @numba.njit(parallel=True)
        def gather_pairs(source, first, second, out):
            for i in numba.prange(first.size):
                out[i] = source[first[i], second[i]]

        @numba.njit
        def bincount(index, weights, out):
            out[:] = 0
            for i in range(index.size):
                out[index[i]] += 1 if weights is None else weights[i]

        # Every item is written, without a branch, so the results have room for one more.
        @numba.njit
        def compress(mask, x):
            out = np.empty(np.count_nonzero(mask) + 1, x.dtype)
            count = 0
            for i in range(mask.size):
                out[count] = x[i]
                count += mask[i]
            return out[:count]

        @numba.njit
        def nonzero(mask):
            out = np.empty(np.count_nonzero(mask) + 1, np.int64)
            count = 0
            for i in range(mask.size):
                out[count] = i
                count += mask[i]
            return out[:count]

        @numba.njit(parallel=True)
        def segments(x, offsets, out):
            for segment in numba.prange(offsets.size - 1):
                total = x.dtype.type(0)
                for i in range(offsets[segment], offsets[segment + 1]):
                    total += x[i]
                out[segment] = total

        @numba.njit(parallel=True)
        def bags(source, index, offsets, out):
            for bag in numba.prange(offsets.size - 1):
                out[bag] = 0
                for i in range(offsets[bag], offsets[bag + 1]):
                    for j in range(source.shape[1]):
                        out[bag, j] += source[index[i], j]

        self.saxpy = saxpy
        self.gather = gather
        self.bags = bags
        self.scatter = scatter
        self.scatter_add = scatter_add
        self.gather_rows = gather_rows
        self.take_along_axis = take_along_axis
        self.put_along_axis = put_along_axis
        self.gather_pairs = gather_pairs
        self.bincount = bincount
        self.segments = segments
        self.compress = compress
        self.nonzero = nonzero


LIBRARIES = {"torch": Torch, "cupy": Cupy, "jax": Jax, "numba": Numba}


def open_libraries(names, memory=None, stream=0, classes=None):
    """Return the usable libraries by name, and the reasons for the others."""
    found, missing = {}, {}
    for name, default in LIBRARIES.items():
        if name not in names:
            continue
        try:
            library = (classes or {}).get(name, default)(memory, stream)
            if name == "jax":
                library.exporter = found.get("torch") or found.get("cupy")
                if library.exporter is None:
                    raise RuntimeError("it takes arrays from torch or CuPy, which are not there")
            found[name] = library
        except ImportError as error:
            missing[name] = str(error)
        except Exception as error:  # continue without a peer that does not start
            missing[name] = f"{type(error).__name__}: {error}"
    return found, missing
