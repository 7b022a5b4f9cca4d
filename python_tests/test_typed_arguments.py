# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What the functions of gpukern.typed for Python make of their arguments."""

import numpy as np
import pytest

from gpukern import typed


def test_bytes_keep_their_dtype():
    index, seconds = np.array([0]), np.zeros(1, "M8[s]")
    with pytest.raises(TypeError, match=r"^gather: out must have the source's dtype"):
        typed.gather_into(seconds, index, np.zeros(1, "m8[s]"))
    with pytest.raises(TypeError, match=r"^scatter: values must have the target's "):
        typed.scatter_into(seconds, index, np.zeros(1, "M8[ns]"))


def test_conversions_may_not_resize_the_other_arguments():
    x, y, out = np.ones(1000), np.zeros(1000), np.zeros(1000)

    class Resizing:
        def __array__(self, dtype=None, copy=None):
            x.resize(1, refcheck=False)
            return np.array(2.0)

    with pytest.raises(ValueError, match=r"^saxpy: x was resized while the other "):
        typed.saxpy_into(Resizing(), x, y, out)


def test_methods_of_subclasses_are_not_called():
    class Longer(np.ndarray):
        def __len__(self):
            return 5

        def __setitem__(self, key, value):
            raise AssertionError

    x, counts = np.ones(3).view(Longer), np.zeros(2, np.int64).view(Longer)
    with pytest.raises(IndexError, match="beyond the 3 items of x"):
        typed.compress_into(np.ones(5, bool), x, np.zeros(5))
    typed.bincount_into(np.array([1, 1]), counts)
    assert counts.tolist() == [0, 2]
