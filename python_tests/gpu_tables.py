# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Tables in the memory of GPUs, for the tests of distributed arrays."""

import numpy as np

import gpukern
from gpukern import distributed

GPUS = gpukern.info()["cuda"]["device_count"]

DTYPES = ["u1", "f4", "i8", "c16", "S3", [("a", "i4"), ("b", "f8")], "M8[s]"]
MODES = ["raise", "wrap", "clip", "fill"]


def devices_of(count, first=0):
    """Devices of this machine in turn."""
    return [(first + i) % GPUS for i in range(count)]


def random_rows(rng, rows, count):
    """The numbers of rows of parts: uneven, some of them 0, or all on one part."""
    if rng.integers(5) == 0:
        return [rows if part == rows % count else 0 for part in range(count)]
    cuts = np.sort(rng.integers(0, rows + 1, count - 1))
    return np.diff([0, *cuts, rows]).tolist()


def random_table(rng, rows):
    dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
    trailing = [(), (3,), (2, 5), (0,), (1000,), (9000,)][rng.integers(6)]
    count = rows * int(np.prod(trailing, dtype=int))
    data = rng.integers(1, 127, count * dtype.itemsize, dtype=np.uint8)
    return data.view(dtype).reshape(rows, *trailing)


def random_index(rng, rows, mode):
    dtype = np.dtype(["i4", "i8", "u1", "u8"][rng.integers(4)])
    limits = np.iinfo(dtype)
    low, high = (-rows, rows) if mode == "raise" else (-3 * rows - 3, 3 * rows + 3)
    low, high = max(low, limits.min), min(high, limits.max + 1)
    shape = [(0,), (), (1,), (50,), (3, 11), (900,)][rng.integers(6)]
    return rng.integers(low, max(high, low + 1), shape, dtype=dtype)


def filled(array, table):
    """Write the rows of this rank, and wait for the others."""
    rows = array.row_range
    gpukern.copyto(array.local, table[rows.start : rows.stop])
    array.synchronize()
    return array


def shared(table, group=None, devices=(0,), rows=None):
    """A table as a distributed array."""
    made = distributed.empty(table.shape, table.dtype, group, devices=devices, rows=rows)
    return filled(made, table)


def require_equal(got, expected):
    # A scalar of NumPy does not keep the zeros at the end of a string.
    assert got.dtype == expected.dtype or (got.ndim == 0 and got.dtype.kind == "S")
    np.testing.assert_array_equal(got.numpy(), expected)


def gpu_parts(table, group, cuts, device=None):
    """The part of each rank, on a GPU."""
    device = devices_of(1, group.rank)[0] if device is None else device
    local = gpukern.to_device(table[cuts[group.rank] : cuts[group.rank + 1]], device)
    return distributed.from_local(local, group, staging_memory=100_000), device
