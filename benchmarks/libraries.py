# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""torch, CuPy and JAX, each if it is installed, looking at one piece of device memory.

Each works on the benchmark's stream but JAX, which has streams of its own.
"""

import os

NAMES = ("torch", "cupy", "jax")


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
    """PyTorch: views of the memory as tensors."""

    def __init__(self, memory, stream):
        import torch

        self.module = torch
        self.version = torch.__version__
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
    """CuPy: views of the memory as arrays."""

    def __init__(self, memory, stream):
        import cupy

        self.module = cupy
        self.version = cupy.__version__
        self.memory = memory
        self.owner = cupy.cuda.UnownedMemory(memory.address, memory.size, memory)
        cupy.cuda.ExternalStream(stream).use()
        self.saxpy = cupy.ElementwiseKernel("T a, T x, T y", "T z", "z = a * x + y", "bench_saxpy")

    def array(self, address, shape, dtype):
        """Return an array at an address."""
        at = self.module.cuda.MemoryPointer(self.owner, address - self.memory.address)
        return self.module.ndarray(shape, self.module.dtype(dtype), at)


class Jax:
    """JAX: imports of torch's tensors or CuPy's arrays, by DLPack."""

    def __init__(self, memory, stream):
        # Else it takes three quarters of the GPU's memory for itself.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax

        jax.config.update("jax_enable_x64", True)
        # With more devices it leaves another one than the first as the thread's current one.
        jax.config.update("jax_cuda_visible_devices", "0")
        if self.needs_gpu and not any(each.platform == "gpu" for each in jax.devices()):
            raise RuntimeError("jax finds no GPU")
        self.module = jax
        self.version = jax.__version__
        self.exporter = None  # set by open_libraries
        self.saxpy = jax.jit(lambda a, x, y: a * x + y)
        # The mode without any check of the bounds: JAX's fastest.
        self.take = jax.jit(lambda s, i: s.at[i].get(mode="promise_in_bounds"))

    needs_gpu = True

    def array(self, address, shape, dtype):
        """Return a JAX array at an address."""
        return self.module.dlpack.from_dlpack(self.exporter.array(address, shape, dtype))


LIBRARIES = {"torch": Torch, "cupy": Cupy, "jax": Jax}


def open_each(every, names, open_one):
    """Return the libraries that are there by name, and why the others are not.

    ``open_one`` gets a name of ``every`` that is in ``names``, and what has been opened before.
    """
    found, missing = {}, {}
    for name in every:
        if name not in names:
            missing[name] = "not asked for"
            continue
        try:
            found[name] = open_one(name, found)
        except ImportError as error:
            missing[name] = str(error)
        except Exception as error:  # a peer that does not start is no reason to stop
            missing[name] = f"{type(error).__name__}: {error}"
    return found, missing


def open_libraries(memory, stream, names=NAMES, classes=None):
    """Open the libraries on a piece of device memory; see :func:`open_each`."""

    def open_one(name, found):
        library = (classes or LIBRARIES)[name](memory, stream)
        if name == "jax":
            library.exporter = found.get("torch") or found["cupy"]
        return library

    return open_each(NAMES, names, open_one)
