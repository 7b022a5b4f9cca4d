# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Each allocation of Python's memory fails in turn, in calls with each kind of array on the host.

The failed call raises MemoryError, or does without the memory; no reference to an array is kept,
and the next call is right. `make torture` does the same for the C library.
"""

import array
import gc
import sys

import numpy as np
import pytest

import gpukern

_testcapi = pytest.importorskip("_testcapi", reason="CPython's module of tests is not installed")
pytestmark = [
    pytest.mark.thread_unsafe(reason="fails allocations of the whole process"),
    pytest.mark.skipif(
        not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="hooks need the GIL"
    ),
]

# The loop ends after this number of calls in a row without a failure.
LAST_ONES = 30
VALUES = np.arange(40, dtype=np.float64)
INDEX = np.array([3, 1, -1, 39], dtype=np.int64)


class Exporter:
    """An array that only a protocol describes."""

    def __init__(self, **protocol):
        self.__dict__.update(protocol)


class DLPackExporter:
    def __init__(self, values):
        self.values = values

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)


def interface(values):
    return Exporter(__array_interface__=values.__array_interface__, values=values)


KINDS = {
    "ndarray": np.copy,
    "strided": lambda values: np.repeat(values, 2)[::2],
    "list": np.ndarray.tolist,
    "array.array": lambda values: array.array("d" if values.dtype.kind == "f" else "q", values),
    "memoryview": memoryview,
    "array interface": interface,
    "dlpack": DLPackExporter,
}
CALLS = {
    "gather": lambda x, i: gpukern.gather(x, i),
    "gather, fill": lambda x, i: gpukern.gather(x, i, mode="fill", fill_value=0),
    "scatter": lambda x, i: gpukern.scatter(np.zeros(40), i, gpukern.gather(x, i), reduce="add"),
    "saxpy": lambda x, _: gpukern.saxpy(2, x, np.ones(40)),
    # Not nonzero: Cython 3.3 releases an item twice if the list that it extends cannot grow.
}


@pytest.mark.alone
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("made", KINDS.values(), ids=KINDS)
def test_each_allocation_fails(made, call):
    x, index = made(VALUES), made(INDEX)
    expected = call(x, index)
    gc.collect()
    references = sys.getrefcount(x), sys.getrefcount(index)
    failures, number, since = 0, 0, 0
    while since < LAST_ONES:
        number += 1
        result = None
        _testcapi.set_nomemory(number - 1, number)
        try:
            result = call(x, index)
        except MemoryError:
            pass
        finally:
            _testcapi.remove_mem_hooks()
        if result is None:
            failures, since = failures + 1, 0
        else:
            since += 1
            np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(call(x, index), expected)
    del result
    gc.collect()
    assert failures > 0
    if made is not interface:  # NumPy 2.5 keeps a reference
        assert (sys.getrefcount(x), sys.getrefcount(index)) == references
