# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""A bad index on a GPU raises IndexError, and the context stays usable."""

import os

import numpy as np
import pytest

import gpukern

# A release runs 100000.
TIMES = int(os.environ.get("GPUKERN_TEST_BAD_INDICES", "10000"))
WORDS = r"^index (\d+|-\d+) is out of bounds for axis 0 with size 1000$"

pytestmark = pytest.mark.gpu


@pytest.fixture(params=["torch", "cupy", None])
def neighbour(request):
    """A function that computes on the GPU with another library and checks the result."""
    if request.param == "torch":
        torch = pytest.importorskip("torch")
        numbers = torch.arange(1000, device="cuda", dtype=torch.float64)
        return lambda: numbers.mul(2).sum().item() == 999_000
    if request.param == "cupy":
        cupy = pytest.importorskip("cupy")
        numbers = cupy.arange(1000, dtype=cupy.float64)
        return lambda: float((numbers * 2).sum()) == 999_000
    return lambda: True


def test_many_times(neighbour, rng):
    source = gpukern.to_device(np.arange(1000.0))
    good = gpukern.to_device(np.arange(1000)[::-1].copy())
    out = gpukern.to_device(np.full(300, 7.0))
    bad = np.zeros((20, 300), np.int64)
    for row in bad:
        row[rng.integers(300)] = rng.choice([1000, -1001, 2**40, -(2**63)])
    rows = [gpukern.to_device(row) for row in bad]
    firsts = [int(row[np.flatnonzero(row)[0]]) for row in bad]
    for turn in range(TIMES):
        with pytest.raises(IndexError, match=WORDS) as caught:
            gpukern.gather(source, rows[turn % 20], out=out)
        assert f"index {firsts[turn % 20]} " in str(caught.value)
        assert neighbour()
        if turn % 100 == 0:
            assert (out.numpy() == 7).all()
            assert np.array_equal(gpukern.gather(source, good).numpy(), np.arange(1000.0)[::-1])


def test_host_arrays_through_the_gpu(neighbour):
    source = np.arange(1000.0)
    for turn in range(TIMES // 100):
        with pytest.raises(IndexError, match=f"^index {1000 + turn} is out of bounds"):
            gpukern.gather(source, [0, 1000 + turn], device="cuda")
        assert neighbour()
