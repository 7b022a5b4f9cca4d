# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Formulas in Python, as NumPy computes them."""

import numpy as np


def same(result, expected):
    """Require the same dtype, shape and values."""
    expected = np.asarray(expected)
    result = np.asarray(result)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result, expected)


def evaluate(text, **values):
    """The result of a formula by NumPy."""
    with np.errstate(all="ignore"):
        return eval(text, {"np": np, **values})
