# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Masks for the tests of nonzero, count_nonzero and compress."""

import numpy as np
import oracle

MASK_DTYPES = [
    np.dtype(name)
    for name in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
] + [np.dtype(oracle.bfloat16)]
SWAPPED_DTYPES = [np.dtype(">i4"), np.dtype(">f8"), np.dtype(">c8")]


def fill_mask(mask, rng, density=None):
    """Writes zeros of both signs, and numbers, NaN among them, with a probability."""
    density = rng.choice([0, 0.1, 0.5, 1]) if density is None else density
    values = rng.integers(1, 100, mask.shape).astype(np.float32)
    if mask.dtype.kind not in "?biu":
        values[rng.random(mask.shape) < 0.2] = np.nan
    zeros = np.where(rng.random(mask.shape) < 0.5, np.float32(0), np.float32(-0.0))
    mask[...] = np.where(rng.random(mask.shape) < density, values, zeros).astype(mask.dtype)
    if mask.dtype.kind == "c" and mask.size and mask.flags.c_contiguous:
        mask.reshape(-1)[0] = complex(0, density)


def random_mask(rng, shape, dtype=bool, density=None):
    mask = np.empty(shape, dtype)
    fill_mask(mask, rng, density)
    return mask


def as_bool(mask):
    """Whether elements are not zero, by NumPy; ml_dtypes' too."""
    return np.array(mask, copy=True) != 0


def sized(coordinates, size, fill_value=0):
    """Coordinates for size=."""
    if size is None:
        return coordinates
    made = np.full(size, fill_value, np.int64)
    made[: min(size, len(coordinates))] = coordinates[:size]
    return made
