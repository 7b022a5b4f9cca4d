# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Host arrays that are larger than the device memory of a call: what NumPy gives, in chunks, with
progress, inside the limit."""

import ctypes
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cuda_driver
import numpy as np
import pytest
from large_arrays import Reports

import gpukern

pytestmark = [pytest.mark.alone, pytest.mark.gpu]  # progress is reported in time

MI = 1 << 20
LIMIT = 24 * MI  # the operands have 60 to 160 MiB


@dataclass
class Case:
    """A call on host arrays, and its result."""

    function: Any
    arguments: tuple
    options: dict
    expected: Any
    #: Bytes that progress counts besides those of the result: a source that is copied.
    copied: int = 0
    #: Bytes of host memory that the plan counts as well: the positions that a tuple stands for.
    on_host: int = 0

    def run(self, **options):
        arguments = self.arguments
        if self.function in (gpukern.scatter, gpukern.put_along_axis):  # which write to the target
            arguments = (arguments[0].copy(), *arguments[1:])
        found = self.function(*arguments, **self.options, **options)
        return np.stack(found) if self.function is gpukern.nonzero else found

    def explain(self):
        return gpukern.explain(
            self.function, *self.arguments, **self.options, device="cuda", device_memory=LIMIT
        )


def numbers(rng, shape, dtype=np.int32):
    return rng.integers(-50, 50, shape).astype(dtype)


def scattered(target, places, values, reduce):
    """The target after the write of values at places, a tuple of indices; by NumPy."""
    result = target.copy()
    if reduce is None:
        result[places] = values
    elif reduce == "mean":
        np.add.at(result, places, values)
        counts = np.ones(target.shape, target.dtype)
        np.add.at(counts, places, 1)
        result /= counts
    else:
        ufunc = {"min": np.minimum, "max": np.maximum}.get(reduce) or getattr(np, reduce)
        ufunc.at(result, places, values)
    return result


# ---- the operations ----


def scatter(rng, to_host, reduce):
    """Rows; the sums of whole numbers are exact in any order."""
    dtype = np.float64 if reduce == "mean" else np.int32
    target, values = numbers(rng, (600_000, 16), dtype), numbers(rng, (500_000, 16), dtype)
    index = rng.integers(-600_000, 600_000, 500_000)
    expected = scattered(target, (index,), values, reduce)
    arguments = to_host(target), to_host(index), to_host(values)
    return Case(gpukern.scatter, arguments, {"reduce": reduce}, expected)


def scatter_to_columns(rng, to_host):
    """Along the last axis, with one value for each column."""
    target, values = numbers(rng, (1000, 20_000)), numbers(rng, 30_000)
    index = rng.integers(0, 20_000, 30_000)
    expected = scattered(target, (slice(None), index), values, "max")
    arguments = to_host(target), to_host(index), to_host(values)
    return Case(gpukern.scatter, arguments, {"axis": 1, "reduce": "max"}, expected)


def scatter_by_a_tuple(rng, to_host):
    target, values = numbers(rng, (5000, 4000)), numbers(rng, 2_000_000)
    places = rng.integers(-5000, 5000, values.size), rng.integers(-4000, 4000, values.size)
    expected = scattered(target, places, values, "add")
    arguments = to_host(target), tuple(map(to_host, places)), to_host(values)
    on_host = 8 * values.size
    return Case(gpukern.scatter, arguments, {"reduce": "add"}, expected, on_host=on_host)


def put_along_axis(rng, to_host, axis):
    shape, sizes = ((4000, 5000), (900, 5000)) if axis == 0 else ((5000, 4000), (5000, 900))
    target, values = numbers(rng, shape), numbers(rng, sizes)
    index = rng.integers(-4000, 4000, sizes)
    places = list(np.indices(sizes, sparse=True))
    places[axis] = index
    expected = scattered(target, tuple(places), values, "add")
    arguments = to_host(target), to_host(index), to_host(values)
    return Case(gpukern.put_along_axis, arguments, {"axis": axis, "reduce": "add"}, expected)


def bincount(rng, to_host):
    index = rng.integers(0, 4_000_000, 8_000_000)
    expected = np.bincount(index, minlength=4_000_000)
    return Case(gpukern.bincount, (to_host(index),), {"size": 4_000_000}, expected)


def bags(rng, count):
    """Bounds of a thousand bags or more; none is empty, for reduceat()."""
    return np.unique(np.concatenate([[0, count], rng.integers(0, count, 5000)]))


def gather_reduce(rng, to_host, weighted):
    source = numbers(rng, (50_000, 300))
    index = rng.integers(-50_000, 50_000, 200_000)
    offsets = bags(rng, index.size)
    weights = numbers(rng, index.size) if weighted else None
    items = source[index] * weights[:, None] if weighted else source[index]
    expected = np.add.reduceat(items, offsets[:-1], axis=0, dtype=items.dtype)
    options = {"weights": weights} if weighted else {}
    arguments = to_host(source), to_host(index), to_host(offsets)
    return Case(gpukern.gather_reduce, arguments, options, expected, copied=source.nbytes)


def segment_reduce(rng, to_host, axis):
    x = numbers(rng, (1_000_000, 16) if axis == 0 else (16, 1_000_000))
    offsets = bags(rng, 1_000_000)
    expected = np.maximum.reduceat(x, offsets[:-1], axis=axis)
    options = {"axis": axis, "reduce": "max"}
    return Case(gpukern.segment_reduce, (to_host(x), to_host(offsets)), options, expected)


def compress(rng, to_host):
    x, mask = numbers(rng, 16_000_000), rng.random(16_000_000) < 0.7
    return Case(gpukern.compress, (to_host(mask), to_host(x)), {}, x[mask])


def compress_rows(rng, to_host, axis):
    x = numbers(rng, (500_000, 32) if axis == 0 else (32, 500_000))
    mask = rng.random(500_000) < 0.7
    expected = x[mask] if axis == 0 else x[:, mask]
    return Case(gpukern.compress, (to_host(mask), to_host(x)), {"axis": axis}, expected)


def nonzero(rng, to_host):
    mask = (rng.random((4000, 5000)) < 0.2) * np.float32(3)
    return Case(gpukern.nonzero, (to_host(mask),), {}, np.stack(np.nonzero(mask)))


def take_along_axis(rng, to_host):
    source = numbers(rng, (5000, 300))
    index = rng.integers(-300, 300, (5000, 6000), np.int32)
    expected = np.take_along_axis(source, index, 1)
    arguments = to_host(source), to_host(index)
    return Case(gpukern.take_along_axis, arguments, {"axis": 1}, expected, copied=source.nbytes)


def gather_by_a_tuple(rng, to_host):
    source, count = numbers(rng, (1000, 2000)), 28_000_000
    places = tuple(rng.integers(-size, size, count, np.int32) for size in source.shape)
    arguments, sizes = (to_host(source), tuple(map(to_host, places))), (source.nbytes, 8 * count)
    return Case(gpukern.gather, arguments, {}, source[places], *sizes)


CASES = {
    **{
        f"scatter {reduce}": (scatter, reduce)
        for reduce in (None, "add", "multiply", "min", "max", "mean")
    },
    "scatter to columns": (scatter_to_columns,),
    "scatter by a tuple": (scatter_by_a_tuple,),
    "put_along_axis 0": (put_along_axis, 0),
    "put_along_axis 1": (put_along_axis, 1),
    "bincount": (bincount,),
    "gather_reduce": (gather_reduce, False),
    "gather_reduce with weights": (gather_reduce, True),
    "segment_reduce 0": (segment_reduce, 0),
    "segment_reduce 1": (segment_reduce, 1),
    "compress": (compress,),
    "compress rows": (compress_rows, 0),
    "compress columns": (compress_rows, 1),
    "nonzero": (nonzero,),
    "take_along_axis": (take_along_axis,),
    "gather by a tuple": (gather_by_a_tuple,),
}
#: Their source is read in place or by the CPU, when that is faster than to copy it.
READS = {"take_along_axis", "gather by a tuple"}


def make(name, rng, to_host):
    maker, *arguments = CASES[name]
    return maker(rng, to_host, *arguments)


@pytest.mark.parametrize("name", CASES)
def test_the_result_is_numpys_and_progress_is_reported(name, rng, to_host):
    case, reports = make(name, rng, to_host), Reports()
    found = case.run(device="cuda", device_memory=LIMIT, progress=reports)
    assert found.dtype == case.expected.dtype
    assert np.array_equal(found, case.expected)
    copies = name not in READS or reports[0][1] > found.nbytes
    reports.require_all_of(found.nbytes, case.copied if copies else 0)


class Stop(Exception):  # noqa: N818
    """What a callback raises."""


@pytest.mark.parametrize("name", CASES)
def test_a_call_is_explained_and_stops_between_chunks(name, rng):
    case, seen = make(name, rng, np.asarray), []
    plan = case.explain()
    if name not in READS or plan.place != "cpu":
        assert plan.place == "cuda:0"
        assert plan.chunks > 2
        assert plan.bytes_allocated - case.on_host <= LIMIT
        assert plan.bytes_to_device > LIMIT

    def stop(done, total):
        seen.append((done, total))
        if len(seen) == 2:
            raise Stop
        time.sleep(0.1)

    with pytest.raises(Stop):
        case.run(device="cuda", device_memory=LIMIT, progress=stop)
    assert len(seen) == 2
    assert seen[-1][0] < seen[-1][1]
    assert np.array_equal(case.run(device="cuda", device_memory=LIMIT), case.expected)


def free_bytes():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    cuda_driver.cuda("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value


def taken_bytes(name, seed):
    """The most device memory that a call takes, as the driver reports it between the chunks; a
    call with less memory has loaded the kernels."""
    case, least = make(name, np.random.default_rng(seed), np.asarray), []
    case.run(device="cuda", device_memory=4 * MI)
    before = free_bytes()
    case.run(
        device="cuda",
        device_memory=LIMIT,
        progress=lambda *_: least.append(free_bytes()) or time.sleep(0.1),
    )
    return before - min(least)


@pytest.mark.parametrize("name", CASES)
def test_a_call_takes_no_more_device_memory_than_its_limit(name, rng):
    """In a new process, since a pool keeps what earlier calls have taken."""
    program = (
        "import sys, test_large_chunks as t; print(t.taken_bytes(sys.argv[1], int(sys.argv[2])))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, name, str(rng.integers(1 << 30))],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=Path(__file__).parent,
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) <= LIMIT + 40 * MI  # a pool grows in steps of up to 32 MiB


def test_count_nonzero_is_left_to_the_cpu(rng, to_host):
    """It copies its array as a whole, which does not fit."""
    mask = (rng.random((5000, 6000)) < 0.3) * np.float32(1)
    options = {"device": "cuda", "device_memory": LIMIT}
    assert gpukern.count_nonzero(to_host(mask), **options) == np.count_nonzero(mask)
    assert gpukern.explain(gpukern.count_nonzero, mask, **options).place == "cpu"
    fits = gpukern.explain(gpukern.count_nonzero, mask[:500], **options)
    assert fits.place == "cuda:0"
