# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""``gpukern demo``: gather and saxpy at a size that matters, checked and timed.

It needs about 1 GiB of memory.
"""

import numpy as np

from gpukern._cli.bench import seconds_of
from gpukern._cli.progress_bar import Progress
from gpukern._memory.creation import empty, to_device
from gpukern._memory.device_array import DeviceArray
from gpukern._ops.copy import synchronize
from gpukern._ops.explain import explain
from gpukern._ops.indexing.gather import gather
from gpukern._ops.saxpy import saxpy
from gpukern._runtime.info import info

SOURCE_SIZE = 128 * 2**20
INDEX_SIZE = 2**20
SAXPY_SIZE = 16 * 2**20
CHUNK = 2**20
# Of the progress: data and result of each operation, and the calls on the host and on a GPU.
HOST_STEPS, GPU_STEPS = 7, 5
HOST, THROUGH = "gpukern, host arrays", "gpukern, through the GPU"


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


def report(progress, what, seconds, right, explanation=""):
    """Prints what a call took and where it ran, and passes on whether the result was right."""
    verdict = "equal" if right else "WRONG"
    line = f"  {what:<28} {seconds * 1e3:10.3f} ms   {verdict}"
    progress.print(line, *([f"      {explanation}"] if explanation else []))
    return right


def timed(progress, what, operation, *arguments, expected, **options):
    """Times a call of gpukern and reports it, with where it runs and why."""
    progress.step(f"{operation.__name__}: {what}")
    on_gpu = isinstance(arguments[-1], DeviceArray)
    result = operation(*arguments, **options)
    found = result.numpy() if on_gpu else result
    right = np.array_equal(found.view(np.int32), expected.view(np.int32))
    wait = synchronize if on_gpu else int
    seconds = seconds_of(lambda: operation(*arguments, **options), wait)
    return report(progress, what, seconds, right, explain(operation, *arguments, **options))


def demo_gather(progress, rng, gpu):
    """Gathers at random, on the host and on a GPU if there is one, against NumPy."""
    progress.print(f"gather: {INDEX_SIZE} random int32 indices into {SOURCE_SIZE} random float32")
    progress.step("random numbers")
    source = rng.random(SOURCE_SIZE, dtype=np.float32)
    index = rng.integers(0, SOURCE_SIZE, INDEX_SIZE, dtype=np.int32)
    progress.step("NumPy")
    expected = source[index]
    report(progress, "NumPy", seconds_of(lambda: source[index]), True)
    right = timed(progress, HOST, gather, source, index, expected=expected)
    if gpu:
        right &= timed(progress, THROUGH, gather, source, index, device="cuda", expected=expected)
        source, index = to_device(source), to_device(index)
        out = empty(INDEX_SIZE, np.float32)
        for mode in ("raise", "clip"):
            what = f"gpukern, device, '{mode}'"
            right &= timed(
                progress, what, gather, source, index, mode=mode, out=out, expected=expected
            )
    return right


def demo_saxpy(progress, rng, gpu):
    """Computes x / 3 + y, on the host and on a GPU if there is one, against exact arithmetic."""
    progress.print(
        f"saxpy: {SAXPY_SIZE} random float32, checked against the exact result rounded once"
    )
    a = 1 / 3
    progress.step("random numbers")
    x = rng.standard_normal(SAXPY_SIZE, dtype=np.float32)
    y = rng.standard_normal(SAXPY_SIZE, dtype=np.float32)
    progress.step("the exact result")
    exact = np.empty_like(x)
    for start in range(0, SAXPY_SIZE, CHUNK):
        part = slice(start, start + CHUNK)
        exact[part] = fused(np.float32(a), x[part], y[part])
    progress.step("NumPy")
    seconds = seconds_of(lambda: np.float32(a) * x + y)
    differ = np.count_nonzero(np.float32(a) * x + y != exact) / SAXPY_SIZE
    progress.print(f"  {'NumPy (rounds twice)':<28} {seconds * 1e3:10.3f} ms   {differ:.1%} differ")
    out = np.empty_like(x)
    right = timed(progress, HOST, saxpy, a, x, y, out=out, expected=exact)
    if gpu:
        right &= timed(progress, THROUGH, saxpy, a, x, y, out=out, device="cuda", expected=exact)
        x, y, out = to_device(x), to_device(y), empty(SAXPY_SIZE, np.float32)
        right &= timed(progress, "gpukern, device", saxpy, a, x, y, out=out, expected=exact)
    return right


def demo():
    """Runs the demonstration and returns whether every result was right."""
    found = info()
    gpu = bool(found["devices"])
    print(f"CPU: {found['num_threads']} threads")
    if gpu:
        print(f"GPU: {found['devices'][0]['name']}")
    else:
        print(f"No GPU: {found['cuda']['reason']}")
    progress = Progress(HOST_STEPS + (GPU_STEPS if gpu else 0))
    rng = np.random.default_rng()
    right = demo_gather(progress, rng, gpu)
    right &= demo_saxpy(progress, rng, gpu)
    print("All results are right." if right else "Some results are WRONG.")
    return right
