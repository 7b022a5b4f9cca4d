# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Views of some fields of records: the other fields are not written."""

import numpy as np
import pytest

import gpukern

NAMES = ["f0", "f2"]
DTYPES = ["i1,f8,i1", ">i4,f8,>i4"]
OF_OBJECTS = "i4,O,i4"


def records(dtype, first=0):
    return np.array([(first + n, 7 + n, 20 + n) for n in range(4)], dtype)


# Each writes the records of `new` in reverse order.
WRITES = {
    "gather": lambda view, new: gpukern.gather(new, [3, 2, 1, 0], out=view),
    "gather raise": lambda view, new: gpukern.gather(new, [-1, -2, 1, 0], mode="raise", out=view),
    "take": lambda view, new: gpukern.take(new, [3, 2, 1, 0], out=view),
    "take_along_axis": lambda view, new: gpukern.take_along_axis(new, [3, 2, 1, 0], out=view),
    "scatter": lambda view, new: gpukern.scatter(view, [3, 2, 1, 0], new),
    "scatter, out=": lambda view, new: gpukern.scatter(new, [3, 2, 1, 0], new.copy(), out=view),
    "put_along_axis": lambda view, new: gpukern.put_along_axis(view, [3, 2, 1, 0], new, 0),
    "compress": lambda view, new: gpukern.compress([1, 1, 1, 1], new[::-1], out=view),
    "copyto": lambda view, new: gpukern.copyto(view, new[::-1]),
    "numpy": lambda view, new: gpukern.to_device(new[::-1], "cpu").numpy(out=view),
}
REFUSED_OBJECTS = [
    WRITES[name] for name in ("scatter", "scatter, out=", "put_along_axis", "copyto", "numpy")
]


@pytest.mark.parametrize("dtype", [*DTYPES, OF_OBJECTS])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_other_fields_are_not_written(write, dtype):
    if dtype == OF_OBJECTS and write in REFUSED_OBJECTS:
        with pytest.raises(TypeError, match="must hold no Python objects"):
            write(records(dtype)[NAMES], records(dtype)[NAMES])
        return
    target, new = records(dtype), records(dtype, 50)[NAMES]
    expected = records(dtype)
    expected[NAMES] = new[::-1]
    write(target[NAMES], new)
    assert target.tolist() == expected.tolist()
    twice = np.repeat(records(dtype), 2)
    write(twice[::2][NAMES], new)
    assert twice[::2].tolist() == expected.tolist()
    assert twice[1::2].tolist() == records(dtype).tolist()


def test_a_bad_index_leaves_all_fields():
    target = records("i1,f8,i1")
    with pytest.raises(IndexError):
        gpukern.gather(records("i1,f8,i1")[NAMES], [0, 1, 2, 9], out=target[NAMES])
    assert target.tolist() == records("i1,f8,i1").tolist()


def test_a_tuple_is_the_fields_of_the_view():
    target = records("i1,f8,i1")
    gpukern.scatter(target[NAMES], [1], (5, 6))
    assert target[1].tolist() == (5, 8, 6)
    assert target[[0, 2, 3]].tolist() == records("i1,f8,i1")[[0, 2, 3]].tolist()


def test_padding_is_no_field():
    aligned = np.dtype("i1,f8", align=True)
    target = np.zeros(4, aligned)
    gpukern.scatter(target[1:], [0], (1, 2.5))
    assert target.tolist() == [(0, 0), (1, 2.5), (0, 0), (0, 0)]
