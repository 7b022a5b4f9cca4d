# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Input library x output x dtype x layout x stream: the values, and the kind of what comes out."""

import itertools

import numpy as np
import pytest
from libraries import DTYPES, GPU, KINDS, SAXPY_DTYPES, opened, random_array, same_bits, why_absent

import gpukern

# JAX's warning about types that it narrows.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

ROWS, WIDTH = 37, 3


def outputs(theirs, out, expected):
    """None for a result of the caller's kind, else arrays of the output library to write to."""
    if out is None:
        yield None
    else:
        for _, array in out.layouts(np.zeros_like(expected)):
            yield array


def fits(first, second):
    """Whether the arrays of both libraries are on the same device."""
    return second is None or first.on_gpu == second.on_gpu


@pytest.fixture(params=["own kind", *KINDS])
def out(request):
    """The library of out=; None to let the call make the result."""
    if request.param == "own kind":
        return None
    found = opened(request.param)
    if not found.writable:
        pytest.skip(f"{found.name} arrays cannot be written to")
    return found


def checked(theirs, out, cases, operation, result, given, expected):
    if given is None:
        assert theirs.is_own(result)
        taken = theirs.take(result)
    else:
        assert result is given
        taken = out.take(result)
    assert same_bits(taken, expected), (operation, taken, expected)
    cases[f"interop {operation}", f"{theirs.name} to {out.name if out else 'own kind'}"] += 1


def test_gather(theirs, out, rng, cases):
    if not fits(theirs, out):
        pytest.skip("host and device arrays do not mix")
    modes = itertools.cycle(["raise", "wrap", "clip", "fill"])
    for dtype in DTYPES:
        if not (theirs.has(dtype) and (out is None or out.has(dtype))):
            continue
        for shape, index_shape in [((ROWS,), (50,)), ((ROWS, WIDTH), (4, 5)), ((ROWS,), ()),
                                   ((ROWS, 0), (3,)), ((ROWS,), (0,))]:  # fmt: skip
            array = random_array(rng, shape, dtype)
            numbers = rng.integers(0, ROWS, index_shape).astype(np.int32)
            expected = np.asarray(np.take(array, numbers, axis=0))
            for (_, source), index in itertools.product(
                theirs.layouts(array), [theirs.put(numbers), numbers]
            ):
                for _, context, stream in theirs.streams():
                    for given in outputs(theirs, out, expected):
                        with context:
                            result = gpukern.gather(
                                source, index, mode=next(modes), out=given, stream=stream
                            )
                            checked(theirs, out, cases, "gather", result, given, expected)


def test_saxpy(theirs, out, rng, cases):
    if not fits(theirs, out):
        pytest.skip("host and device arrays do not mix")
    for dtype in SAXPY_DTYPES:
        if not (theirs.has(dtype) and (out is None or out.has(dtype))):
            continue
        for shape in [(65,), (ROWS, WIDTH), (), (0, 3)]:
            x, y = random_array(rng, shape, dtype), random_array(rng, shape, dtype)
            expected = np.asarray(gpukern.saxpy(3, x, y))
            for (_, xs), (_, ys) in zip(theirs.layouts(x), theirs.layouts(y), strict=True):
                for _, context, stream in theirs.streams():
                    for given in outputs(theirs, out, expected):
                        with context:
                            result = gpukern.saxpy(3, xs, ys, out=given, stream=stream)
                            checked(theirs, out, cases, "saxpy", result, given, expected)


def test_mixed_libraries_in_one_call(rng, cases):
    present = [
        KINDS[name]() for name in KINDS if why_absent(name) is None and (name != "numpy" or not GPU)
    ]
    array = random_array(rng, (ROWS, WIDTH), np.dtype("f4"))
    numbers = rng.integers(0, ROWS, 50).astype(np.int32)
    expected = np.take(array, numbers, axis=0)
    for first, second, third in itertools.product(present, repeat=3):
        result = gpukern.gather(first.put(array), second.put(numbers))
        assert first.is_own(result)
        assert same_bits(first.take(result), expected)
        if third.writable:
            given = third.put(np.zeros_like(expected))
            gpukern.gather(first.put(array), second.put(numbers), mode="wrap", out=given)
            assert same_bits(third.take(given), expected)
        total = gpukern.saxpy(2.0, first.put(array), second.put(array))
        assert first.is_own(total)
        assert same_bits(first.take(total), gpukern.saxpy(2.0, array, array))
        cases["interop mixed", "three libraries"] += 3
