# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""pinned_empty: plain NumPy arrays whose memory goes with their last view."""

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

import gpukern


@pytest.mark.parametrize("shape", [0, 1, 7, (), (3, 4), (2, 0, 3), [5, 1, 2], np.int64(3)])
@pytest.mark.parametrize("dtype", [np.uint8, "<f4", ">i8", "S5", "c16", [("a", "i2"), ("b", "f8")]])
def test_is_as_numpys_empty(shape, dtype):
    array = gpukern.pinned_empty(shape, dtype)
    like = np.empty(shape, dtype)
    assert type(array) is np.ndarray
    assert (array.shape, array.dtype, array.strides) == (like.shape, like.dtype, like.strides)
    assert array.flags.writeable
    assert array.flags.c_contiguous
    array[...] = np.zeros((), dtype)
    assert array.tobytes() == np.zeros(shape, dtype).tobytes()


def test_the_dtype_is_float64_by_default():
    assert gpukern.pinned_empty(3).dtype == np.float64


@pytest.mark.parametrize("count", [1, 100, 100_000])
def test_memory_is_aligned(count):
    assert gpukern.pinned_empty(count, np.uint8).ctypes.data % 64 == 0


def test_the_last_view_frees_the_memory():
    array = gpukern.pinned_empty((100, 10), np.float32)
    array[...] = np.arange(1000).reshape(100, 10)
    view = array[5:, ::2]
    memory = view.base if not isinstance(view.base, np.ndarray) else view.base.base
    count = sys.getrefcount(memory)
    alive = weakref.ref(array)
    del array
    gc.collect()
    # NumPy may keep the array for its view; either way the memory is there.
    assert alive() is None or sys.getrefcount(memory) == count
    assert np.array_equal(view, np.arange(1000.0).reshape(100, 10)[5:, ::2])


def test_many_come_and_go():
    for _ in range(200):
        gpukern.pinned_empty(1 << 20, np.uint8)[...] = 1


def test_works_as_operand_and_result():
    x, out = gpukern.pinned_empty(1000), gpukern.pinned_empty(1000)
    x[...] = np.arange(1000)
    assert gpukern.saxpy(2.0, x, x, out=out) is out
    assert np.array_equal(out, 3 * np.arange(1000.0))
    assert np.array_equal(gpukern.gather(x, [5, -1]), [5, 999])


@pytest.mark.parametrize(
    ("shape", "dtype", "error"),
    [
        (-1, float, ValueError),
        ((2, -3), float, ValueError),
        (2**62, float, ValueError),
        (1.5, float, TypeError),
        (3, object, TypeError),
        (3, "nonsense", TypeError),
    ],
)
def test_refuses_what_cannot_be(shape, dtype, error):
    with pytest.raises(error, match=r"^pinned_empty: "):
        gpukern.pinned_empty(shape, dtype)


def test_too_much_is_a_memory_error():
    with pytest.raises(MemoryError):
        gpukern.pinned_empty(2**60, np.uint8)


def test_an_array_may_outlive_everything():
    program = "import sys, gpukern; sys.keep = gpukern.pinned_empty(1000); sys.keep[...] = 1"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.gpu
def test_cuda_knows_it_as_pinned():
    array = gpukern.pinned_empty(100)
    index = gpukern.to_device(np.array([7, 99]))
    array[...] = np.arange(100)
    assert np.array_equal(gpukern.gather(array, index).numpy(), [7, 99])
