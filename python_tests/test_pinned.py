# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""pinned_empty: NumPy arrays whose memory is released with their last view."""

import gc
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest
from places import pinned

import gpukern

MI = 1 << 20
# Above the size from which pinned memory is mapped differently if there is a GPU.
LARGE = 80 * MI


def run(arguments):
    """Runs a program in a separate process."""
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    program = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert program.returncode == 0, program.stdout + program.stderr


@pytest.mark.parametrize("shape", [0, 1, 7, (), (3, 4), (2, 0, 3), [5, 1, 2], np.int64(3)])
@pytest.mark.parametrize(
    "dtype", [np.uint8, "<f4", ">i8", "S5", "S", "U", "c16", [("a", "i2"), ("b", "f8")]]
)
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
    assert not gpukern.pinned_empty(count, "U").flags.owndata


@pytest.mark.parametrize("rows", [100, LARGE // 40])
def test_the_last_view_frees_the_memory(rows):
    array = gpukern.pinned_empty((rows, 10), np.float32)
    numbers = (np.arange(10 * rows) % 1000).reshape(rows, 10)
    array[...] = numbers
    memory = weakref.ref(array.base)
    view = array[rows - 5 :, ::2]
    del array
    gc.collect()
    assert memory() is not None
    assert np.array_equal(view, numbers[rows - 5 :, ::2])
    del view
    assert memory() is None


# What the process holds: the pages it has touched, and the addresses it has taken, for memory of
# CUDA's own counts as no page of the process.
LEAK_PROGRAM = """
import sys
import numpy as np
import gpukern

size, times = int(sys.argv[1]), int(sys.argv[2])

def held():
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return [int(lines[name].split()[0]) << 10 for name in ("VmRSS", "VmSize")]

def come_and_go():
    gpukern.pinned_empty(size, np.uint8)[...] = 1

come_and_go()
before = held()
for _ in range(times):
    come_and_go()
grown = [now - then for now, then in zip(held(), before)]
assert max(grown) < size * times // 2, grown
"""


@pytest.mark.parametrize(("size", "times"), [(MI, 200), (LARGE, 12)])
def test_many_come_and_go(size, times):
    run([LEAK_PROGRAM, str(size), str(times)])


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
        (2**63, "S", ValueError),
        ((2**40, 2**40), "S", ValueError),
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
    run([program])


@pytest.mark.gpu
def test_cuda_knows_it_as_pinned():
    array = gpukern.pinned_empty(100)
    index = gpukern.to_device(np.array([7, 99]))
    array[...] = np.arange(100)
    assert np.array_equal(gpukern.gather(array, index).numpy(), [7, 99])


@pytest.mark.gpu
@pytest.mark.parametrize("put_index", [gpukern.to_device, pinned])
def test_pinned_values_go_to_a_target_on_a_gpu(put_index):
    target, index = gpukern.to_device(np.zeros(4)), put_index(np.array([3, 0, 3]))
    values = pinned(np.array([1.0, 2.0, 4.0]))
    assert gpukern.scatter(target, index, values, reduce="add") is target
    assert target.numpy().tolist() == [2, 0, 0, 5]
    rows = gpukern.to_device(np.zeros((2, 2)))
    columns = put_index(np.array([[1], [0]]))
    gpukern.put_along_axis(rows, columns, pinned(np.array([[7.0], [8.0]])))
    assert rows.numpy().tolist() == [[0, 7], [8, 0]]


@pytest.mark.gpu
def test_a_pinned_target_is_computed_on_a_gpu():
    target, index = pinned(np.zeros(4)), pinned(np.array([3, 0, 3]))
    for turn in (1, 2):
        found = gpukern.scatter(target, index, np.ones(3), reduce="add", device="cuda")
        assert found is target
        assert target.tolist() == [turn, 0, 0, 2 * turn]


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["index", "values", "out"])
def test_a_pinned_target_beside_arrays_on_a_gpu_is_an_error(name):
    """Or, with its parts exchanged, a pinned out beside a target on a GPU."""
    target, index, values = np.zeros(3), np.array([2, 0]), np.ones(2)
    given = {"index": index, "values": values}
    if name == "out":
        target, given["out"] = gpukern.to_device(target), pinned(target)
        words = "out must be on cuda:0 like target, got cpu"
    else:
        target, given[name] = pinned(target), gpukern.to_device(given[name])
        words = f"{name} must be on cpu like target, got cuda:0"
    for device in (None, "cuda"):
        with pytest.raises(ValueError, match=f"^scatter: {words}$"):
            gpukern.scatter(target, **given, device=device)
    written = target if name != "out" else given["out"]
    assert written.tolist() == [0, 0, 0]


# The child reads what was there at the fork; the parent goes on to write, and the GPU to read that.
FORK_PROGRAM = """
import os, sys
import numpy as np
import gpukern

gpu = gpukern.device_count() > 0
table = gpukern.pinned_empty((int(sys.argv[1]), 64), np.uint8)
table[...] = 1
rows = np.arange(0, len(table), 7)
index = gpukern.to_device(rows) if gpu else rows

def gathered():
    out = gpukern.gather(table, index, mode="clip")
    return out.numpy() if gpu else out

assert (gathered() == 1).all()
asked, told = os.pipe()
child = os.fork()
if child == 0:
    good = bool((table == 1).all())
    del table
    os.write(told, b"1" if good else b"0")
    os._exit(0)
assert os.read(asked, 1) == b"1"
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert (table == 1).all()
assert (gathered() == 1).all()
child = os.fork()
if child == 0:
    os.read(asked, 1)
    os._exit(0 if (table[:: len(table) - 1] == (2 if gpu else 1)).all() else 1)
table[...] = 2
assert (gathered() == 2).all()
os.write(told, b"1")
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert (gathered() == 2).all()
"""


@pytest.mark.parametrize("rows", [1000, LARGE // 64])
def test_a_child_reads_and_the_parent_goes_on(rows):
    run([FORK_PROGRAM, str(rows)])


# One process per GPU: this one must not use GPU 0.
RANK_PROGRAM = """
import ctypes
import cuda_driver
import gpukern

driver = cuda_driver.driver()

def is_active(device):
    flags, active = ctypes.c_uint(), ctypes.c_int()
    arguments = ctypes.c_int(device), ctypes.byref(flags), ctypes.byref(active)
    assert driver.cuDevicePrimaryCtxGetState(*arguments) == 0
    return bool(active.value)

assert not is_active(0) and not is_active(1)
context = ctypes.c_void_p()
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1) == 0
{current}
for count in (1000, 10 << 20):
    array = gpukern.pinned_empty(count)
    array[...] = 1
    assert gpukern.gather(array, gpukern.to_device([count - 1], "cuda:1")).numpy() == [1]
    del array
assert is_active(1) and not is_active(0)
"""
CURRENT = {"current": "assert driver.cuCtxSetCurrent(context) == 0", "active": ""}


@pytest.mark.gpu
@pytest.mark.parametrize("context", CURRENT)
def test_gpu_0_is_left_alone_by_who_works_on_another(context):
    if gpukern.device_count() < 2:
        pytest.skip("needs two CUDA devices")
    run([RANK_PROGRAM.replace("{current}", CURRENT[context])])


@pytest.mark.gpu
def test_a_process_without_a_context_pins():
    run(["import gpukern; a = gpukern.pinned_empty(1 << 24); a[-1] = 1; del a"])
