# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""``python -m gpukern demo``: both operations at a size that matters, checked and timed.

It needs about 1 GiB of memory.
"""

import time

import numpy as np

from gpukern import _status
from gpukern._create import empty, to_device
from gpukern._gather import gather
from gpukern._info import info
from gpukern._saxpy import saxpy

SOURCE_SIZE = 128 * 2**20
INDEX_SIZE = 2**20
SAXPY_SIZE = 16 * 2**20
CHUNK = 2**20
REPEATS = 5
# Device calls are timed in batches, so that the wait at the end does not count.
BATCH = 20


def fused(a, x, y):
    """The correctly rounded ``a * x + y`` of float32 arrays, as an oracle.

    The product of two float32 numbers has at most 48 significant bits: float64 holds it exactly.
    Knuth's TwoSum gives the sum and, exactly, what rounding it to float64 lost. Where something
    was lost, the last bit of the sum is made odd, towards the true value ("rounding to odd"). By
    Boldo and Melquiond's theorem ("Emulation of FMA and correctly rounded sums", IEEE Transactions
    on Computers, 2008), rounding that to float32 is rounding the true value, since float64 has
    more than two bits more. Rounding the sum as it is would round twice, which can differ.
    """
    product = np.float64(a) * x.astype(np.float64)
    addend = y.astype(np.float64)
    total = product + addend
    part = total - product
    lost = (product - (total - part)) + (addend - part)
    bits = total.view(np.int64)
    even = (lost != 0) & (bits & 1 == 0)
    # Bits count magnitudes: a step of +1 leads away from zero.
    bits[even] += np.where((lost > 0) == (total > 0), 1, -1)[even]
    return total.astype(np.float32)


def best_time(call):
    """The result of a call, and its best time of a few, in seconds, after one to warm up."""
    result = call()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return result, min(times)


def best_device_time(call):
    """The best time of one call of a batch, in seconds, with the GPU's work done."""
    call()
    _status.synchronize(0)
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(BATCH):
            call()
        _status.synchronize(0)
        times.append((time.perf_counter() - start) / BATCH)
    return min(times)


def report(what, where, seconds, right):
    """Prints one line and passes on whether the result was right."""
    verdict = "equal" if right else "WRONG"
    print(f"  {what:<28} {where:<28} {seconds * 1e3:10.3f} ms   {verdict}")
    return right


def same_bits(left, right):
    return left.shape == right.shape and np.array_equal(left.view(np.int32), right.view(np.int32))


def demo_gather(rng, host, gpu):
    """Gathers at random, on the host and on a GPU if there is one, against NumPy."""
    print(f"gather: {INDEX_SIZE} random int32 indices into {SOURCE_SIZE} random float32")
    source = rng.random(SOURCE_SIZE, dtype=np.float32)
    index = rng.integers(0, SOURCE_SIZE, INDEX_SIZE, dtype=np.int32)
    expected, seconds = best_time(lambda: source[index])
    report("NumPy", "CPU", seconds, True)
    result, seconds = best_time(lambda: gather(source, index))
    right = report("gpukern, host arrays", host, seconds, same_bits(result, expected))
    if gpu:
        on_gpu, index = to_device(source), to_device(index)
        out = empty(INDEX_SIZE, np.float32)
        for mode in ("raise", "clip"):
            seconds = best_device_time(lambda mode=mode: gather(on_gpu, index, mode=mode, out=out))
            equal = same_bits(out.numpy(), expected)
            right &= report(f"gpukern, device, '{mode}'", gpu, seconds, equal)
    return right


def demo_saxpy(rng, host, gpu):
    """Computes x / 3 + y, on the host and on a GPU if there is one, against exact arithmetic."""
    print(f"saxpy: {SAXPY_SIZE} random float32, checked against the exact result rounded once")
    a = 1 / 3
    x = rng.standard_normal(SAXPY_SIZE, dtype=np.float32)
    y = rng.standard_normal(SAXPY_SIZE, dtype=np.float32)
    exact = np.empty_like(x)
    for start in range(0, SAXPY_SIZE, CHUNK):
        part = slice(start, start + CHUNK)
        exact[part] = fused(np.float32(a), x[part], y[part])
    twice, seconds = best_time(lambda: np.float32(a) * x + y)
    differ = np.count_nonzero(twice != exact) / SAXPY_SIZE
    print(
        f"  {'NumPy (rounds twice)':<28} {'CPU':<28} {seconds * 1e3:10.3f} ms   {differ:.1%} differ"
    )
    out = np.empty_like(x)
    _, seconds = best_time(lambda: saxpy(a, x, y, out=out))
    right = report("gpukern, host arrays", host, seconds, same_bits(out, exact))
    if gpu:
        x, y, out = to_device(x), to_device(y), empty(SAXPY_SIZE, np.float32)
        seconds = best_device_time(lambda: saxpy(a, x, y, out=out))
        right &= report("gpukern, device", gpu, seconds, same_bits(out.numpy(), exact))
    return right


def demo():
    """Runs the demonstration and returns whether every result was right."""
    found = info()
    gpu = found["devices"][0]["name"] if found["devices"] else None
    host = f"CPU, {found['cpu_count']} processors"
    if gpu and found["default_device"] == "cuda":
        host = gpu
    if not gpu:
        print(f"No GPU: {found['cuda']['reason']}")
    rng = np.random.default_rng()
    right = demo_gather(rng, host, gpu)
    right &= demo_saxpy(rng, host, gpu)
    print("All results are right." if right else "Some results are WRONG.")
    return right
