# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The other array libraries: how to create, lay out, stream and read their arrays."""

import contextlib
import importlib
import importlib.util
import warnings

import ml_dtypes
import numpy as np
import pytest

import gpukern

GPU = gpukern.info()["cuda"]["device_count"] > 0


class Library:
    """NumPy, and what the libraries have in common."""

    name = "numpy"
    package = "numpy"
    writable = True  # whether its arrays can be out=
    needs_gpu = False
    missing_dtypes = ()

    def __init__(self):
        self.module = importlib.import_module(self.package)

    @property
    def on_gpu(self):
        return GPU and self.name != "numpy"

    def put(self, array):
        return array.copy()

    def take(self, array):
        return np.asarray(array)

    def is_own(self, array):
        return isinstance(array, (np.ndarray, np.generic))

    def has(self, dtype):
        return np.dtype(dtype).name not in self.missing_dtypes

    def layouts(self, array):
        """The array in the library, in each layout that its dimensions allow."""
        yield "plain", self.put(array)
        if array.ndim == 0 or array.size == 0:
            return
        yield "strided", self.put(np.repeat(array, 2, axis=0))[::2]
        yield "offset", self.put(np.concatenate([array[:1], array]))[1:]
        if array.ndim == 2:
            yield "transposed", self.transposed(array)

    def transposed(self, array):
        """The same values, in Fortran order."""
        return self.put(np.ascontiguousarray(array.T)).T

    def streams(self):
        """Names, contexts that set the library's current stream, and values of stream=."""
        yield "default", contextlib.nullcontext(), None


class Torch(Library):
    name = package = "torch"

    def put(self, array):
        # Through bytes: torch does not support NumPy's bfloat16.
        dtype = getattr(self.module, array.dtype.name)
        if array.size == 0:
            return self.module.empty(array.shape, dtype=dtype, device="cuda" if GPU else "cpu")
        flat = self.module.from_numpy(np.ascontiguousarray(array).reshape(-1).view(np.uint8).copy())
        return flat.to("cuda" if GPU else "cpu").view(dtype).reshape(array.shape)

    def take(self, array):
        dtype = np.dtype(str(array.dtype).partition(".")[2])
        if array.numel() == 0:
            return np.empty(tuple(array.shape), dtype)
        flat = array.cpu().contiguous().reshape(-1).view(self.module.uint8)
        return flat.numpy().view(dtype).reshape(tuple(array.shape))

    def is_own(self, array):
        return isinstance(array, self.module.Tensor)

    def streams(self):
        yield from super().streams()
        if GPU:
            cuda = self.module.cuda
            side, given = cuda.Stream(), cuda.Stream()
            yield "current", cuda.stream(side), None
            yield "given", contextlib.nullcontext(), given
            yield "given handle", contextlib.nullcontext(), given.cuda_stream
            yield "per thread", contextlib.nullcontext(), 2


class Cupy(Library):
    name = package = "cupy"
    needs_gpu = True

    def has(self, dtype):
        try:  # early releases of CuPy lack bfloat16
            self.put(np.zeros(1, dtype))
        except (TypeError, ValueError):
            return False
        return True

    def put(self, array):
        return self.module.asarray(array)

    def take(self, array):
        return self.module.asnumpy(array)

    def is_own(self, array):
        return isinstance(array, self.module.ndarray)

    def streams(self):
        yield from super().streams()
        cuda = self.module.cuda
        yield "current", cuda.Stream(non_blocking=True), None
        yield "given", contextlib.nullcontext(), cuda.Stream(non_blocking=True)
        yield "per thread", cuda.Stream.ptds, None


class Jax(Library):
    name = package = "jax"
    writable = False
    missing_dtypes = ("float64", "int64", "complex128")  # unless asked for

    def put(self, array):
        return self.module.numpy.asarray(array)

    def is_own(self, array):
        return isinstance(array, self.module.Array)


class Numba(Library):
    name = "numba"
    package = "numba.cuda"
    needs_gpu = True
    missing_dtypes = ("bfloat16", "float16")

    def put(self, array):
        return self.module.to_device(array)

    def transposed(self, array):
        return self.put(np.asfortranarray(array))  # .T copies, by a kernel that Numba compiles

    def take(self, array):
        return array.copy_to_host()

    def is_own(self, array):
        return type(array).__module__.startswith("numba")


class Own(Library):
    """gpukern's own DeviceArray."""

    name = "gpukern"
    package = "gpukern"

    def put(self, array):
        return gpukern.to_device(array, "cuda" if GPU else "cpu")

    def take(self, array):
        return array.numpy()

    def is_own(self, array):
        return isinstance(array, gpukern.DeviceArray)

    def layouts(self, array):
        yield "plain", self.put(array)


KINDS = {kind.name: kind for kind in (Library, Torch, Cupy, Jax, Numba, Own)}


def why_absent(name):
    """The reason why a library cannot be tested on this machine, or None."""
    kind = KINDS[name]
    if importlib.util.find_spec(kind.package.partition(".")[0]) is None:
        return f"{name} is not installed"
    if kind.needs_gpu and not GPU:
        return f"{name} needs a CUDA device"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numba-cuda with NumPy 2.5
            importlib.import_module(kind.package)
    except ImportError as error:
        return f"{name} cannot be imported: {error}"
    return None


def opened(name):
    """A library; skips the test where it cannot be tested."""
    if reason := why_absent(name):
        pytest.skip(reason)
    return KINDS[name]()


def same_bits(result, expected):
    """Whether two arrays are equal byte by byte, and by dtype unless plain bytes are expected."""
    return (
        (expected.dtype.kind == "V" or result.dtype == expected.dtype)
        and result.shape == expected.shape
        and result.tobytes() == expected.tobytes()
    )


def random_array(rng, shape, dtype):
    """Numbers of any of these dtypes."""
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    real = rng.standard_normal(shape)
    return (real + 1j * rng.standard_normal(shape) if dtype.kind == "c" else real).astype(dtype)


DTYPES = [
    np.dtype(dtype)
    for dtype in ("bool", "u1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", ml_dtypes.bfloat16)
]
SAXPY_DTYPES = [dtype for dtype in DTYPES if dtype.name not in ("bool", "uint8", "int16")]
