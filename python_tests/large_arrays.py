# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Arrays of more than 2^31 elements, and of more bytes than a GPU has: memory, data, comparisons.

They take gigabytes and minutes, so the tests run only if GPUKERN_TEST_LARGE=1 is set, as those of
host arrays in tests/large_test.cpp.
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from places import Place

import gpukern

GIB = 1 << 30
MANY = (1 << 31) + 12345
THIRD = MANY // 3 + 1  # of an axis beside one of 3
#: Positions around the powers of two that a narrow offset would confuse, and both ends.
FAR = np.array([0, 1, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, MANY - 2, MANY - 1, -1, -MANY])
STEP = 1 << 24

if_requested = pytest.mark.skipif(
    os.environ.get("GPUKERN_TEST_LARGE") != "1",
    reason="takes gigabytes of memory: set GPUKERN_TEST_LARGE=1",
)
at_large_places = pytest.mark.parametrize(
    "place",
    [
        pytest.param(Place(name), id=name, marks=[pytest.mark.gpu] if "cuda" in name else [])
        for name in ("cpu", "cuda", "cuda-array")
    ],
)


# ---- memory ----


def number_in(path, name=None):
    """The number after a name in a file, or the first one; without one, the largest int64."""
    try:
        words = Path(path).read_text().split()
    except OSError:
        words = []
    found = words[words.index(name) + 1 :] if name in words else words
    return int(found[0]) if found and found[0].isdigit() else 2**63 - 1


def available_bytes():
    """Of host memory, which this process may take."""
    kibibytes = number_in("/proc/meminfo", "MemAvailable:")
    return min(kibibytes * 1024, number_in("/sys/fs/cgroup/memory.max"))


def gpu_bytes():
    """The memory of the first GPU."""
    return gpukern.info()["devices"][0]["memory_bytes"]


def require_host_memory(needed):
    """Skips a test where this number of bytes, and a margin, is not available."""
    available = available_bytes()
    if available < needed + GIB:
        pytest.skip(f"needs {needed / GIB:.0f} GiB of host memory, has {available / GIB:.1f} GiB")


def require_memory(place, host, device):
    """Skips a test that takes more GiB than there are: `host` with arrays on the host, `device` on
    a GPU, where the host has a copy of the arrays."""
    require_host_memory(GIB * (host if not place.on_device else min(host, 24)))
    if place.on_device and gpu_bytes() < (device + 2) * GIB:
        pytest.skip(f"needs {device} GiB of GPU memory, has {gpu_bytes() / GIB:.0f} GiB")


# ---- data ----


def tiled(rng, shape, dtype=np.uint8, low=0, high=256):
    """Random integers in [low, high), which recur with a prime period: positions that are 2^31 or
    2^32 apart differ."""
    block = rng.integers(low, high, 1_000_003).astype(dtype)
    count = int(np.prod(shape))
    made = np.empty(count, dtype)
    for begin, end in parts(count, block.size):
        made[begin:end] = block[: end - begin]
    return made.reshape(shape)


def far_positions(rng, count):
    """Random positions in [-MANY, MANY), and those of FAR, which recur often."""
    positions = rng.integers(-MANY, MANY, count)
    positions[::3] = np.resize(FAR, len(positions[::3]))
    return positions


def far_bounds(rng, count):
    """Sorted, distinct numbers in [0, MANY], among them the ends and 2^31."""
    return np.unique(np.concatenate([rng.integers(0, MANY, count), FAR[FAR >= 0], [MANY]]))


# ---- progress ----


class Reports(list):
    """What a call reports; a pause lets the first few come one after another."""

    def __call__(self, done, total):
        self.append((done, total))
        if len(self) < 4:
            time.sleep(0.1)

    def require_all_of(self, *sizes):
        """Several reports, of which the last one is of all bytes: those of some sizes."""
        done, totals = zip(*self, strict=True)
        assert set(totals) == {sum(sizes)}
        assert done[-1] == totals[0]
        assert list(done) == sorted(set(done))
        assert len(self) > 2


# ---- comparisons ----


def parts(count, step=STEP):
    """The bounds of parts of [0, count)."""
    return ((begin, min(begin + step, count)) for begin in range(0, count, step))


def require_equal(found, expected):
    """Two arrays of one shape and dtype, in parts: a whole mask would take as much memory."""
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    require_parts(found.reshape(-1), lambda begin, end: expected.reshape(-1)[begin:end])


def require_parts(found, expected, step=STEP):
    """An array, whose elements from `begin` to `end` are expected(begin, end)."""
    for begin, end in parts(len(found), step):
        part, wanted = found[begin:end], expected(begin, end)
        if not np.array_equal(part, wanted):
            first = np.argwhere(part != wanted)[0]
            at = (begin + first[0], *first[1:])
            raise AssertionError(f"{part[tuple(first)]} at {at}, expected {wanted[tuple(first)]}")


def on_threads(visit, count, step):
    """Calls visit(begin, end) for parts of [0, count) on all cores; true if all calls are."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return all(pool.map(lambda bounds: visit(*bounds), list(parts(count, step))))
