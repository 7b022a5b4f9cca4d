# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""``gpukern bench``: gather and saxpy, compared with the installed libraries.

A short form of the project's benchmark: gpukern, torch and CuPy on device arrays or, without a GPU,
gpukern and NumPy on host arrays. Calls are timed in batches by the host's clock, with one wait at
the end of each; what a GPU does in a few microseconds is therefore bound by the cost of a call.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gpukern._cli.bar_chart import svg
from gpukern._cli.progress_bar import Progress
from gpukern._memory.creation import to_device
from gpukern._memory.device_array import DeviceArray
from gpukern._ops.copy import synchronize
from gpukern._ops.indexing.gather import gather
from gpukern._ops.saxpy import saxpy
from gpukern._runtime.info import info

MI = 2**20
SAXPY_SIZES = (MI, 16 * MI, 128 * MI)
GATHER_SIZES = ((MI, 16 * MI), (128 * MI, 16 * MI), (128 * MI, 64 * MI))
HOST_SHRINK = 16  # on the CPU less is enough, and takes as long
SAMPLES = 7
SAMPLE_SECONDS = 5e-3
MOST_CALLS = 1000


class Library(NamedTuple):
    """An implementation of the operations, on arrays that it copies from NumPy and back."""

    name: str
    put: Callable[[np.ndarray], Any]
    get: Callable[[Any], np.ndarray]
    saxpy: Callable[[Any, Any, Any], Any]  # writes 2 x + y to the third array
    gather: Callable[[Any, Any, Any], Any]  # writes source[index] to the third array


def gpukern(put=np.asarray, get=np.asarray):
    """gpukern, by default on NumPy arrays."""
    return Library(
        "gpukern",
        put,
        get,
        lambda x, y, out: saxpy(2.0, x, y, out=out),
        lambda source, index, out: gather(source, index, mode="clip", out=out),
    )


def gpukern_on_gpu():
    """Gpukern on its own device arrays."""
    return gpukern(to_device, DeviceArray.numpy)


def numpy():
    """NumPy's expression, and its take."""
    return Library(
        "NumPy",
        np.asarray,
        np.asarray,
        lambda x, y, out: np.add(np.float32(2) * x, y, out=out),
        lambda source, index, out: np.take(source, index, mode="clip", out=out),
    )


def torch():
    """torch.add and torch.index_select."""
    import torch

    torch.zeros(1, device="cuda")
    return Library(
        "torch",
        lambda array: torch.from_numpy(array).cuda(),
        lambda tensor: tensor.cpu().numpy(),
        lambda x, y, out: torch.add(y, x, alpha=2, out=out),
        lambda source, index, out: torch.index_select(source, 0, index, out=out),
    )


def cupy():
    """An ElementwiseKernel, and cupy.take."""
    import cupy

    kernel = cupy.ElementwiseKernel("T a, T x, T y", "T z", "z = a * x + y", "saxpy")
    cupy.zeros(1)
    return Library(
        "CuPy",
        cupy.asarray,
        cupy.asnumpy,
        lambda x, y, out: kernel(np.float32(2), x, y, out),
        lambda source, index, out: cupy.take(source, index, out=out),
    )


def open_all(libraries):
    """Returns the libraries, and a line for each that is not there or fails."""
    found, missing = [], []
    for library in libraries:
        try:
            found.append(library())
        except Exception as error:  # gpukern is measured without this peer
            missing.append(f"without {library.__name__}: {type(error).__name__}: {error}")
    return found, missing


def seconds_of(call, wait=int):
    """The median time of a call over several batches, each with one wait at its end.

    On the host there is nothing to wait for.
    """

    def batch(count):
        start = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        return (time.perf_counter() - start) / count

    batch(1)
    count = max(1, min(int(SAMPLE_SECONDS / batch(1)), MOST_CALLS))
    return statistics.median(batch(count) for _ in range(SAMPLES))


def cases(shrink):
    """The cases: a title, the method's name, its unit, the work of a call, a maker of the data."""
    rng = np.random.default_rng()
    for n in SAXPY_SIZES:
        n = max(n // shrink, 1)
        title = f"saxpy of {n} float32"
        yield title, "saxpy", "GB/s", 12e-9 * n, lambda n=n: rng.random((2, n), np.float32)
    for m, n in GATHER_SIZES:
        m, n = max(m // shrink, 1), max(n // shrink, 1)
        title = f"gather of {n} from {m} float32, int32 indices at random"
        yield (
            title,
            "gather",
            "Gitem/s",
            1e-9 * n,
            lambda m=m, n=n: (rng.random(m, np.float32), rng.integers(0, m, n, np.int32)),
        )


def expected(operation, data):
    """The right result: the product with 2 is exact, so that NumPy's two roundings are one."""
    return 2 * data[0] + data[1] if operation == "saxpy" else data[0][data[1]]


def measure(each, operation, data, result, wait):
    """The time of one implementation, and the word on its result."""
    arrays = [each.put(array) for array in data]
    out = each.put(np.zeros_like(result))
    function = getattr(each, operation)

    def call():
        function(*arrays, out)

    call()
    wait()
    right = np.array_equal(each.get(out), result)
    return seconds_of(call, wait), "" if right else "  WRONG"


def bench(shrink=1, plot=None):
    """Measures, prints a table and returns whether every result of gpukern was right.

    `shrink` divides the sizes; `plot` is the path of an SVG picture.
    """
    found = info()
    devices = found["devices"]
    on_gpu = bool(devices)
    where = devices[0]["name"] if on_gpu else f"CPU, {found['cpu_count']} processors"
    everyone, missing = open_all((gpukern_on_gpu, torch, cupy) if on_gpu else (gpukern, numpy))
    # Before the first line: NumPy imports its random numbers here, which may lose a Ctrl-C.
    listed = list(cases(shrink * (1 if on_gpu else HOST_SHRINK)))
    heading = f"gpukern {found['version']} on {where}"
    print(heading, *missing, sep="\n")
    right = True
    rates = []
    progress = Progress(len(listed) * len(everyone))
    wait = synchronize if on_gpu else int
    for title, operation, unit, work, make in listed:
        data = make()
        result = expected(operation, data)
        progress.print(f"{title}, {unit}")
        rates.append((title, unit, {}))
        for each in everyone:
            progress.step(f"{title}: {each.name}")
            try:
                seconds, verdict = measure(each, operation, data, result, wait)
            except Exception as error:
                if each is everyone[0]:
                    raise
                progress.print(f"  {each.name:<10} {type(error).__name__}: {error}")
                continue
            right &= each is not everyone[0] or not verdict
            if not verdict:
                rates[-1][2][each.name] = work / seconds
            progress.print(f"  {each.name:<10} {work / seconds:10.2f}{verdict}")
    if plot is not None:
        with open(plot, "w", encoding="utf-8") as file:
            file.write(svg(heading, rates))
    return right
