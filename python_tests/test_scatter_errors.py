# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Errors of scatter: bad indices, targets, options and dtypes; the target is unchanged then."""

import re

import numpy as np
import pytest
from numpy.exceptions import AxisError
from write_cases import put_at

import gpukern
from gpukern import scatter


def test_a_bad_index_leaves_everything_unchanged(place, rng):
    for bad, words in [(50, "50"), (-51, "-51")]:
        for out in (None, place.put(np.full(50, 7.0))):
            target = place.put(np.ones(50))
            index = rng.integers(0, 50, 100_000)
            index[[70_000, 90_000]] = bad, 99
            for reduce in (None, "add"):
                with pytest.raises(
                    gpukern.errors.GpukernIndexError,
                    match=f"^index {words} is out of bounds for axis 0 with size 50$",
                ):
                    scatter(target, place.put(index), place.put(np.zeros(100_000)), reduce=reduce,
                            out=out, **place.options)  # fmt: skip
            assert (place.take(target) == 1).all()
            assert out is None or (place.take(out) == 7).all()


def test_empty(place):
    for mode in ("raise", "wrap", "clip", "fill"):
        with pytest.raises(IndexError, match="cannot do a non-empty put to an empty axis"):
            put_at(place, np.zeros((0, 3)), [0], np.zeros(3), mode=mode)
        assert put_at(place, np.zeros((0, 3)), np.zeros(0, int), np.zeros(3), mode=mode).size == 0
        assert put_at(place, np.ones(3), np.zeros(0, int), 1.0, mode=mode).tolist() == [1, 1, 1]
    assert put_at(place, np.array(1.0), [0, -1], [2.0, 3.0], reduce="add") == 6


def test_targets_that_cannot_be_written():
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match=r"^scatter: target is read-only$"):
        scatter(fixed, [0], 1.0)
    assert scatter(fixed, [0], 1.0, out=np.ones(3)).tolist() == [1, 0, 0]
    with pytest.raises(ValueError, match=r"^scatter: out is read-only$"):
        scatter(np.ones(3), [0], 1.0, out=fixed)
    with pytest.raises(TypeError, match=r"^scatter: target must be an array, got list$"):
        scatter([0.0], [0], 1.0)
    assert scatter([0.0], [0], 1.0, out=np.ones(1)).tolist() == [1]
    for scalar in (np.float64(0), np.bytes_(b"a")):  # immutable, though they have a buffer
        with pytest.raises(TypeError, match=r"^scatter: target must be an array, got "):
            scatter(scalar, [0], scalar)
    with pytest.raises(TypeError, match=r"^gather: out must be an array, got float64"):
        gpukern.gather(np.ones(3), 2, out=np.float64(0))
    with pytest.raises(
        TypeError, match=r"^scatter: values: expected a number or an array, got None$"
    ):
        scatter(np.ones(3), [0], None)
    with pytest.raises(TypeError, match=r"^scatter: target must hold no Python objects"):
        scatter(np.array([None]), [0], None)
    repeated = np.lib.stride_tricks.as_strided(np.zeros(1), (3,), (0,))
    with pytest.raises(ValueError, match=r"^scatter: target must not have overlapping elements"):
        scatter(repeated, [0], 1.0)
    for width in (0, 65536):
        with pytest.raises(
            TypeError, match=f"target must have an itemsize of 1 to .*, got {width}"
        ):
            scatter(np.zeros(3, f"V{width}"), [0], np.zeros((), f"V{width}"))


def test_out_must_fit():
    target = np.zeros((2, 3))
    with pytest.raises(ValueError, match=r"^scatter: out must have shape \(2, 3\), got \(3, 2\)$"):
        scatter(target, [0], 1.0, out=np.zeros((3, 2)))
    words = r"^scatter: out must have the target's dtype float64, got float32$"
    with pytest.raises(TypeError, match=words):
        scatter(target, [0], 1.0, out=np.zeros((2, 3), "f4"))
    words = r"^scatter: out must have the target's dtype datetime64\[s\], got [|]V8$"
    with pytest.raises(TypeError, match=words):
        scatter(target.astype("M8[s]"), [0], np.datetime64(0, "s"), out=np.zeros((2, 3), "V8"))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (
            {"mode": "skip"},
            ValueError,
            "mode must be 'raise', 'wrap', 'clip' or 'fill', got 'skip'",
        ),
        ({"reduce": "sum"}, ValueError, "reduce must be None, 'add', 'multiply', 'min', 'max' or"),
        ({"reduce": ["add"]}, ValueError, "reduce must be None, 'add', .*, got "),
        ({"order": None}, ValueError, "order must be 'fixed' or 'any', got None"),
        ({"unique": "x"}, TypeError, "unique must be a bool, got str"),
        ({"unique": 1}, TypeError, "unique must be a bool, got int"),
        ({"unique": np.array([1, 2])}, TypeError, "unique must be a bool, got ndarray"),
        ({"axis": 1.0}, TypeError, "axis must be an int or None, got float"),
        ({"device": "gpu"}, ValueError, "device must be "),
        ({"out": bytes(24)}, TypeError, "out must be an array, got bytes"),
        ({"device_memory": 0}, ValueError, "device_memory must be a number of bytes, got 0"),
    ],
)
def test_options(options, error, words):
    with pytest.raises(error, match=f"^scatter: {words}"):
        scatter(np.zeros(3), [0], 1.0, **options)


def test_unique_may_be_numpys_bool():
    assert scatter(np.zeros(3), [1], 2.0, unique=np.True_).tolist() == [0, 2, 0]


def test_axes_out_of_range():
    for axis in (2, -3, 2**40):
        with pytest.raises(AxisError, match=f"axis {axis} is out of bounds for array of dimension"):
            scatter(np.zeros((2, 3)), [0], 1.0, axis=axis)


@pytest.mark.parametrize("index", [[0.5], [True], ["a"], [None], np.array([0.0])], ids=str)
def test_dtypes_of_the_index(index):
    with pytest.raises(TypeError, match=r"^scatter: index must be of an integer dtype, got "):
        scatter(np.zeros(3), index, 1.0)


@pytest.mark.parametrize(
    ("dtype", "reduce"),
    [
        ("?", "add"),
        ("M8[s]", "add"),
        ("S3", "max"),
        ("i4", "mean"),
        ("c8", "max"),
        ("c16", "multiply"),
        (np.longdouble, "add"),
    ],
)
def test_dtypes_without_the_reduction(dtype, reduce):
    target = np.zeros(3, dtype)
    words = f"scatter: target must be of a dtype that reduce '{reduce}' takes, got {target.dtype}"
    with pytest.raises(TypeError, match=re.escape(words)):
        scatter(target, [0], target[:1], reduce=reduce)
