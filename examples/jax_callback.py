# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather and saxpy inside jax.jit by jax.pure_callback, in a few lines and with no compiler.

JAX passes the arguments of a callback in host memory, so gpukern computes on the CPU, even if the
rest of the program runs on a GPU. This suits small arrays and first experiments; jax_ffi/ keeps
the data on the GPU. Unlike there, mode="raise" can raise.

A callback has no derivative; wrap the function in jax.custom_vjp to define one.
"""

import functools
import sys

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

import gpukern

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    print("skipped: jax is not installed")
    sys.exit(0)


def gather(source, index, *, axis=0, mode="raise"):
    """Take items along an axis; as gpukern.gather."""
    axis = normalize_axis_index(axis, source.ndim)
    shape = source.shape[:axis] + index.shape + source.shape[axis + 1 :]

    def on_host(source, index):
        # A callback must not call JAX: arguments and results are NumPy arrays.
        return gpukern.gather(np.asarray(source), np.asarray(index), axis=axis, mode=mode)

    result = jax.ShapeDtypeStruct(shape, source.dtype)
    return jax.pure_callback(on_host, result, source, index, vmap_method="sequential")


def saxpy(a, x, y):
    """Compute a * x + y, rounded once; as gpukern.saxpy. `a` may be traced."""

    def on_host(a, x, y):
        return gpukern.saxpy(np.asarray(a)[()], np.asarray(x), np.asarray(y))

    result = jax.ShapeDtypeStruct(x.shape, x.dtype)
    a = jnp.asarray(a, x.dtype)
    return jax.pure_callback(on_host, result, a, x, y, vmap_method="sequential")


def expect(result, expected, what):
    """Stop the program unless the arrays are equal, dtype and bits."""
    np.testing.assert_array_equal(np.asarray(result), expected, err_msg=what, strict=True)
    print(f"  {what}: right")


def whole_numbers(rng, shape, dtype=np.float32):
    """Random numbers whose sums and halves are exact in float32."""
    return rng.integers(-100, 100, shape).astype(dtype)


def main():
    """Run both under jit on JAX's default device, and compare with NumPy."""
    print(f"gpukern {gpukern.__version__} with jax {jax.__version__} on {jax.devices()[0]}")
    print("CPU:")  # where gpukern computes, see above
    rng = np.random.default_rng()
    table = whole_numbers(rng, (1000, 64))
    index = rng.integers(-1000, 1000, (200, 50)).astype(np.int32)
    y = whole_numbers(rng, (200, 50, 64))

    @jax.jit
    def blend(a, table, index, y):
        return jax.nn.relu(saxpy(a, gather(table, index) + 1, y))

    expect(blend(0.5, table, index, y), np.maximum(0.5 * (table[index] + 1) + y, 0), "under jit")

    columns = jax.jit(functools.partial(gather, axis=1, mode="wrap"))
    expected = np.take(table, index[0] * 3, axis=1, mode="wrap")
    expect(columns(table, index[0] * 3), expected, "gather of columns")

    small = whole_numbers(rng, (4, 33), jnp.bfloat16)
    expect(jax.jit(saxpy)(0.0, small, small), small, "saxpy of bfloat16")

    one_by_one = jax.vmap(gather, in_axes=(None, 0))
    expect(one_by_one(table, index), table[index], "under vmap")

    try:
        jax.block_until_ready(jax.jit(gather)(table, index + 2000))
    except jax.errors.JaxRuntimeError as error:
        if "is out of bounds for axis 0 with size 1000" not in str(error):
            raise
        print("  gather refused an index from 1000 on")
    else:
        raise SystemExit("gather: an index from 1000 on was not refused")


if __name__ == "__main__":
    main()
