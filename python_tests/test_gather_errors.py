# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Errors of gather: the exception, its message, and an unchanged out."""

import numpy as np
import pytest
from numpy.exceptions import AxisError

import gpukern
from gpukern import gather


def raises_index_error(words):
    return pytest.raises(gpukern.errors.GpukernIndexError, match=f"^{words}$")


def test_out_is_unchanged_by_an_error(place):
    out = place.put(np.full(3, 7.0))
    with raises_index_error("index 5 is out of bounds for axis 0 with size 5"):
        gpukern.gather(
            place.put(np.zeros(5)), place.put(np.array([0, 5, 6])), out=out, **place.options
        )
    assert place.take(out).tolist() == [7, 7, 7]


def test_out_must_fit():
    source, index = np.zeros((3, 2)), np.array([0, 1])
    with pytest.raises(ValueError, match=r"out must have shape \(2, 2\), got \(3, 2\)"):
        gather(source, index, out=np.zeros((3, 2)))
    with pytest.raises(TypeError, match="out must have the source's dtype float64, got float32"):
        gather(source, index, out=np.zeros((2, 2), np.float32))
    with pytest.raises(TypeError, match="out must have the source's dtype >f8, got float64"):
        gather(source.astype(">f8"), index, out=np.zeros((2, 2)))
    with pytest.raises(TypeError, match=r"out must have .* dtype datetime64\[s\], got int64"):
        gather(source.astype("M8[s]"), index, out=np.zeros((2, 2), int))
    words = r"fill_value must be a number or have the shape of an item, \(2,\), .* got shape \(3,\)"
    with pytest.raises(ValueError, match=words) as caught:
        gather(source, index, mode="fill", fill_value=np.zeros(3))
    assert "contiguous" not in str(caught.value)
    readonly = np.zeros((2, 2))
    readonly.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        gather(source, index, out=readonly)
    with pytest.raises(TypeError, match="out must be an array"):
        gather(source, index, out=[0.0])


@pytest.mark.parametrize(
    ("index", "axis", "words"),
    [
        ([0, 5, 9], 0, "index 5 is out of bounds for axis 0 with size 5"),
        ([4, -5, -6], 0, "index -6 is out of bounds for axis 0 with size 5"),
        ([[0, 1], [4, 3]], -1, "index 4 is out of bounds for axis 1 with size 3"),
        ([15], None, "index 15 is out of bounds for axis 0 with size 15"),
        (np.array([2**63], "u8"), 0, f"index {2**63} is out of bounds for axis 0 with size 5"),
        ([-(2**63)], 0, f"index {-(2**63)} is out of bounds for axis 0 with size 5"),
    ],
)
def test_raise_names_the_first_bad_index(place, index, axis, words):
    with raises_index_error(words):
        place.gather(np.zeros((5, 3)), np.array(index), axis=axis)


def test_raise_names_the_first_of_many(place):
    index = np.zeros(100_000, np.int32)
    index[::-7] = 1000
    with raises_index_error("index 8 is out of bounds for axis 0 with size 5"):
        index[3] = 8
        index[:3] = 0
        place.gather(np.zeros(5), index)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "fill"])
def test_empty_axis(place, mode):
    with raises_index_error("cannot do a non-empty take from an empty axes."):
        place.gather(np.zeros((0, 3)), np.array([0]), mode=mode)
    assert place.gather(np.zeros((0, 3)), np.zeros(0, int), mode=mode).shape == (0, 3)


def test_axis_out_of_range(place):
    for axis in (2, -3, 2**40, -(2**31)):
        words = f"^axis {axis} is out of bounds for array of dimension 2$"
        with pytest.raises(AxisError, match=words) as raised:
            place.gather(np.zeros((2, 3)), np.array([0]), axis=axis)
        assert (raised.value.axis, raised.value.ndim) == (axis, 2)
    with pytest.raises(gpukern.errors.GpukernAxisError):
        gather(np.zeros(2), [0], axis=1)


@pytest.mark.parametrize("axis", [1.0, True, np.True_, "0", (0,)])
def test_axis_must_be_an_int(axis):
    with pytest.raises(TypeError, match="gather: axis must be an int or None"):
        gather(np.zeros((2, 3)), [0], axis=axis)


@pytest.mark.parametrize(
    "index",
    [[True, False], [0.0], ["0"], [1j], [None], np.array([], np.float32), np.array(0, "M8[s]")],
    ids=str,
)
def test_index_must_be_of_an_integer_dtype(index):
    with pytest.raises(TypeError, match="gather: index must be of an integer dtype, got "):
        gather(np.arange(3), index)


@pytest.mark.parametrize("mode", ["RAISE", "nearest", 0, None])
def test_mode_must_be_known(mode):
    with pytest.raises(ValueError, match="gather: mode must be 'raise', 'wrap', 'clip' or 'fill'"):
        gather(np.arange(3), [0], mode=mode)


def test_options_are_keywords():
    with pytest.raises(TypeError):
        gather(np.arange(3), [0], 0)


@pytest.mark.parametrize(
    ("device", "error"),
    [
        ("abacus", ValueError),
        ("cuda:99", RuntimeError),
        (1.5, TypeError),
    ],
)
def test_device_must_be_known(device, error):
    with pytest.raises(error):
        gather(np.arange(3), [0], device=device)


def test_errors_have_one_root():
    with pytest.raises(gpukern.GpukernError):
        gather(np.arange(3), [3])
