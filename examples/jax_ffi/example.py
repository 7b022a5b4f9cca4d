# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather and saxpy as XLA FFI calls inside jax.jit, on JAX's device.

gpukern_ffi.cpp passes XLA's buffers and stream to the C ABI of gpukern. A package would compile it
in its build; this program compiles it at the start.

Under jit, data on a GPU cannot raise an exception, so gather has the modes wrap, clip and fill
(with zeros). The calls have no derivative; jax.custom_vjp can define one.
"""

import ctypes
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

import gpukern

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    print("skipped: jax is not installed")
    sys.exit(0)

MODES = {"wrap": 1, "clip": 2, "fill": 3}  # as in gpukern.h
PLATFORMS = {"cpu": "cpu", "gpu": "CUDA"}  # suffixes of the symbols, and JAX's platform names


def build(folder):
    """Compile gpukern_ffi.cpp into a folder and return the loaded library."""
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    if shutil.which(compiler[0]) is None:
        print("skipped: there is no C++ compiler")
        sys.exit(0)
    source = Path(__file__).resolve().with_name("gpukern_ffi.cpp")
    library = Path(folder, "libgpukern_ffi.so")
    flags = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC"]
    headers = [f"-I{gpukern.get_include()}", "-isystem", jax.ffi.include_dir()]
    linked = [f"-L{gpukern.get_library_dir()}", "-lgpukern"]
    linked.append(f"-Wl,-rpath,{gpukern.get_library_dir()}")
    subprocess.run([*compiler, *flags, *headers, source, *linked, "-o", library], check=True)
    return ctypes.CDLL(str(library))


def register(library):
    """Register the calls with XLA."""
    for name in ("gather", "saxpy"):
        for ending, platform in PLATFORMS.items():
            handler = jax.ffi.pycapsule(library[f"gpukern_ffi_{name}_{ending}"])
            jax.ffi.register_ffi_target(f"gpukern_{name}", handler, platform=platform)


def gather(source, index, *, axis=0, mode="clip"):
    """Take items along an axis; as gpukern.gather, in the modes wrap, clip and fill."""
    axis = normalize_axis_index(axis, source.ndim)
    shape = source.shape[:axis] + index.shape + source.shape[axis + 1 :]
    result = jax.ShapeDtypeStruct(shape, source.dtype)
    call = jax.ffi.ffi_call("gpukern_gather", result, vmap_method="sequential")
    return call(source, index, axis=np.int32(axis), mode=np.int32(MODES[mode]))


def saxpy(a, x, y):
    """Compute a * x + y, rounded once; as gpukern.saxpy. `a` is a Python number."""
    result = jax.ShapeDtypeStruct(x.shape, x.dtype)
    call = jax.ffi.ffi_call("gpukern_saxpy", result, vmap_method="broadcast_all")
    return call(x, y, a=np.frombuffer(np.asarray(a, x.dtype).tobytes(), np.uint8))


def expect(result, expected, what):
    """Stop the program unless the arrays are equal, dtype and bits."""
    np.testing.assert_array_equal(np.asarray(result), expected, err_msg=what, strict=True)
    print(f"  {what}: right")


def check():
    """Run both under jit on JAX's default device, and compare with NumPy."""
    rng = np.random.default_rng()
    table = rng.integers(-100, 100, (1000, 64)).astype(np.float32)
    index = rng.integers(-2000, 2000, (200, 50)).astype(np.int32)
    y = rng.integers(-100, 100, (200, 50, 64)).astype(np.float32)

    @jax.jit
    def blend(table, index, y):
        return jax.nn.relu(saxpy(0.5, gather(table, index, mode="wrap") + 1, y))

    expected = np.maximum(0.5 * (table[index % 1000] + 1) + y, 0)
    # XLA may record the calls into a command buffer only after it has run them a few times.
    for _ in range(5):
        result = blend(table, index, y)
    expect(result, expected, "under jit")

    columns = jax.jit(lambda source, index: gather(source, index, axis=-1, mode="fill"))
    inside = (index >= -64) & (index < 64)
    expected = np.where(inside, table[:100][:, np.where(inside, index, 0)], 0)
    expect(columns(table[:100], index), expected, "gather of columns, filled")

    small = jnp.asarray(y[0], jnp.bfloat16)
    expect(jax.jit(saxpy, static_argnums=0)(-1, small, small), 0 * np.asarray(small), "bfloat16")

    one_by_one = jax.vmap(gather, in_axes=(None, 0))
    expect(one_by_one(table, index), table[index.clip(0, 999)], "under vmap")
    expect(saxpy(2, jnp.zeros((0, 3)), jnp.zeros((0, 3))), np.zeros((0, 3), np.float32), "empty")


def main():
    """Compile, register, run."""
    print(f"gpukern {gpukern.__version__} with jax {jax.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        register(build(folder))
    device = jax.devices()[0]
    print("CPU:" if device.platform == "cpu" else f"GPU {device.id}, {device.device_kind}:")
    check()


if __name__ == "__main__":
    main()
