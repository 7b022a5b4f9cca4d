# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""resize(refcheck=False) of an array during a call, which would free memory that is in use."""

import numpy as np
import pytest

import gpukern

COUNT = 1_000_000
INDEX = np.arange(COUNT)
ONES = np.ones(COUNT)
ROW = np.ones(1000)


def gather_fill(given, **options):
    """Rows of the fill value only."""
    return gpukern.gather(np.zeros((1, 1000)), INDEX[2000:4000], fill_value=given, **options)


def compress_fill(given, **options):
    return gpukern.compress([False], np.ones((1, 1000)), 0, size=2000, fill_value=given, **options)


#: An array, and a call in which it is an argument.
ARGUMENTS = {
    "gather source": (ONES, lambda a, **o: gpukern.gather(a, INDEX, mode="clip", **o)),
    "gather index": (INDEX, lambda a, **o: gpukern.gather(ONES, a, mode="clip", **o)),
    "gather out": (ONES, lambda a, **o: gpukern.gather(ONES, INDEX, mode="clip", out=a, **o)),
    "gather fill": (ROW, lambda a, **o: gather_fill(a, mode="fill", **o)),
    "scatter target": (ONES, lambda a, **o: gpukern.scatter(a, INDEX, 1.0, **o)),
    "scatter values": (ONES, lambda a, **o: gpukern.scatter(ONES.copy(), INDEX, a, **o)),
    "gather_reduce weights": (
        ONES,
        lambda a, **o: gpukern.gather_reduce(ONES, INDEX, INDEX, weights=a, **o),
    ),
    "segment_reduce offsets": (INDEX, lambda a, **o: gpukern.segment_reduce(ONES, a, **o)),
    "compress mask": (ONES, lambda a, **o: gpukern.compress(a, ONES, **o)),
    "compress fill": (ROW, compress_fill),
    "axpby b": (ONES, lambda a, **o: gpukern.axpby(1, ONES, a, ONES, **o)),
    "fma out": (ONES, lambda a, **o: gpukern.fma(ONES, ONES, ONES, out=a, **o)),
}


class Subclass(np.ndarray):
    pass


def subclass(array):
    """An array of which a call takes a view."""
    made = Subclass(array.shape, array.dtype)
    made[...] = array
    return made


@pytest.mark.parametrize("of_kind", [np.copy, subclass])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_array_is_not_resized_during_a_call(name, of_kind):
    array, call = ARGUMENTS[name]
    expected = call(array.copy())
    given = of_kind(array)
    tried = []

    def resize(done, total):
        tried.append(done)
        with pytest.raises(ValueError, match="resize"):
            given.resize(1, refcheck=False)

    assert np.array_equal(call(given, progress=resize), expected)
    assert tried
    given.resize(1, refcheck=False)  # nothing holds it after the call


def test_the_base_of_a_view_is_not_resized_during_a_call():
    base = np.ones(COUNT + 1)

    def resize(done, total):
        with pytest.raises(ValueError, match="resize"):
            base.resize(1, refcheck=False)

    assert gpukern.saxpy(1.0, base[1:][::-1], base[:-1], progress=resize).sum() == 2 * COUNT


class During:
    """An argument that runs code when it is read."""

    def __init__(self, array, run):
        self.array, self.run = array, run

    def __array__(self, dtype=None, copy=None):
        self.run()
        return self.array


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
@pytest.mark.parametrize(
    "call",
    [
        lambda field, reshape: gpukern.gather(field, During(np.arange(4), reshape)),
        lambda field, reshape: gpukern.copyto(field, During(np.ones(4, "f4"), reshape)),
    ],
)
def test_a_packed_field_is_not_reshaped_while_another_argument_is_read(call):
    """Its strides are no whole elements, and read from the array."""
    records = np.zeros(8, [("a", "u1"), ("f", "<f4")])
    field = records["f"][:4]
    with pytest.raises(ValueError, match=r"was reshaped while the other arguments were read$"):
        call(field, lambda: setattr(field, "shape", (2, 2)))
    assert not records["f"].any()


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
@pytest.mark.parametrize("size", [10, 40_000])
@pytest.mark.parametrize("with_out", [False, True])
def test_elementwise_reads_the_layout_that_an_array_had(size, with_out):
    x = np.ones((size, 1))
    reshaping = During(np.array(1.0), lambda: setattr(x, "shape", (2, size // 2)))
    out = np.zeros((size, 2))[:, :1] if with_out else None
    result = gpukern.elementwise("(a + b) * a")(x, reshaping, out=out)
    assert x.shape == (2, size // 2)
    assert result.shape == (size, 1)
    assert (result == 2).all()
