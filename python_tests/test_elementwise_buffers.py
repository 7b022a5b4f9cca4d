# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The steps of element-wise functions on the host share memory and match NumPy."""

import gc
import itertools
import signal
import time

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from gpukern import elementwise
from gpukern._elementwise import cpu_executor
from gpukern._elementwise.blocking import blocks, even_block
from gpukern._elementwise.frontend import type_resolution
from gpukern._elementwise.numpy_codegen import Writer
from gpukern._elementwise.temporaries import OUT, BufferAssignment, Scratch

NUMBERS = itertools.count()
POLYNOMIAL = "(a * 10 + 2) * ((b + 2) * 10 - 5) * 5"


def buffers_of(text, *types):
    """The buffers for a function of these types, whose result has its own type."""
    typed = type_resolution.typed(elementwise(text)._function, types)
    return BufferAssignment(typed, Writer(typed, typed.result).writers, typed.result)


def polynomial(a, b):
    return (a * 10 + 2) * ((b + 2) * 10 - 5) * 5


def meaning(a, b):
    """Steps of several dtypes, some of which write no array, and parts of arrays."""
    c = np.where(a < b, np.sqrt(a * a), b * np.float64(2))
    return (c + np.real(a - b) * 3 + (a > 1)) / (b * b + 1)


def small_blocks(monkeypatch):
    """Makes blocks so small that small arrays have several, in new functions."""
    monkeypatch.setattr(cpu_executor, "FEW", 10)
    monkeypatch.setattr(cpu_executor, "ALONE_BYTES", 8 * 40)
    monkeypatch.setattr(cpu_executor, "BLOCK_BYTES", 8 * 40)


def fresh(text, inputs=None):
    """A function that shares nothing with equal ones, which may have other blocks."""
    return elementwise(text, inputs=inputs, name=f"fresh{next(NUMBERS)}")


@pytest.mark.parametrize(
    ("aliased", "numbers", "scratch"),
    [
        ((), (OUT, OUT, 1, 1, 1, OUT), 1),
        ((0,), (OUT, OUT, 1, 1, 1, OUT), 1),  # a is read by the first step only
        ((1,), (1, 1, OUT, OUT, OUT, OUT), 1),  # b by the third
        ((0, 1), (1, 1, OUT, OUT, OUT, OUT), 1),
        (None, (1, 1, 2, 2, 2, 1), 2),
    ],
)
def test_steps_share_buffers(aliased, numbers, scratch):
    assigned = buffers_of(POLYNOMIAL, "float32", "float32").assign((-1, -1), -1, aliased)
    assert assigned == (numbers, (np.dtype("f4"),) * scratch)


def test_only_whole_steps_have_buffers():
    buffers = buffers_of(POLYNOMIAL, "float32", "float32")
    # a varies along the first axis, b along the second.
    assert buffers.assign((0b01, 0b10), 0b11, ()) == ((None, None, None, None, None, OUT), ())
    assert buffers.assign((-1, 0b10), 0b11, ())[0] == (OUT, OUT, None, None, None, OUT)


def test_a_buffer_is_kept_while_a_part_of_it_is_read():
    buffers = buffers_of("real(a + b) * 2 + (a - b) * 3", "float32", "float32")
    numbers, _ = buffers.assign((-1, -1), -1, ())
    assert numbers[0] not in numbers[1:]


def test_the_last_block_is_shorter():
    scratch = Scratch(((OUT, 1, None), (np.dtype("f4"),)), 12)
    out = np.empty((3, 4), "f4")
    first, second, own = scratch.beside(out)
    assert first is out
    assert own is None
    assert second.shape == (3, 4)
    shorter = scratch.beside(out[:2])[1]
    assert shorter.shape == (2, 4)
    assert np.shares_memory(shorter, second)


SHAPES = [
    [(1000,), (1000,)],
    [(1000,), ()],
    [(37, 27), (37, 27)],
    [(37, 27), (27,)],
    [(37, 1), (1, 27)],
    [(27,), (37, 1)],
    [(5, 6, 7), (6, 1)],
    [(3, 200), (3, 1)],
    [(1, 500), (500,)],
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_shapes_of_blocks(monkeypatch, rng, shapes, dtype, order):
    small_blocks(monkeypatch)
    a, b = (np.asarray(rng.integers(-9, 9, shape), dtype, order=order) for shape in shapes)
    for function in (polynomial, meaning):
        made = elementwise(function)
        expected = function(a, b)
        for out in (None, np.empty_like(expected), np.empty_like(expected.T).T):
            result = made(a, b, out=out)
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("function", ["isnan", "isinf", "isfinite", "signbit"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("size", [15, 1000, 3_000_000])
def test_predicates_write_all_of_strided_outputs(function, dtype, size):
    """Which NumPy's own do not on a CPU with AVX512."""
    x = np.resize(np.array([np.nan, np.inf, 1, -1], dtype), size)
    expected = getattr(np, function)(x)
    f = elementwise(f"{function}(x)")
    for out in (np.empty((size, 2), "?")[:, 0], np.empty(size, "?")[::-1]):
        out[...] = ~expected
        assert f(x, out=out) is out
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("step", [1, -1, 3])
@pytest.mark.parametrize("size", [39, 40, 41, 1000])
def test_in_place_and_overlapping(monkeypatch, rng, size, step):
    """An argument that shares memory with the output is read before that is written."""
    small_blocks(monkeypatch)
    for text in ("(b + 1) * (b - 2) + a", "a * (b * a + 3) - a", POLYNOMIAL):
        memory = rng.normal(size=size * abs(step) + 5)
        inside = memory[: size * abs(step)][::step]
        shifted = memory[5:][: size * abs(step)][::step]
        for a, b in ((inside, shifted), (shifted, inside), (inside, rng.normal(size=size))):
            expected = eval(text, {"a": a.copy(), "b": b.copy()})
            assert fresh(text, ("a", "b"))(a, b, out=inside) is inside
            np.testing.assert_array_equal(inside, expected)


def test_weak_numbers_among_the_steps(monkeypatch, rng):
    small_blocks(monkeypatch)
    a = rng.integers(-50, 50, 1000).astype("i1")
    made = fresh("(a + s * 2) / 3 + (s - 1) * a", ("a", "s"))
    for number in (5, 2.5, np.float32(0.1), np.array(7, "i2")):
        expected = (a + number * 2) / 3 + (number - 1) * a
        result = made(a, number)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("number", [0.1, 1 / 3, 1e300, -0.0, 2049, 2**53 + 1, 2**63, 1e-50])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i8", "u8", "c8"])
def test_numbers_are_converted_as_by_numpy(number, dtype):
    """A number in a function becomes an array of the dtype that it has beside its array."""
    a = np.array([0, 1, 3], dtype)
    with np.errstate(all="ignore"):
        try:
            expected = a * number + a
        except OverflowError:
            with pytest.raises(OverflowError):
                elementwise(lambda a: a * number + a)(a)
            return
    result = elementwise(lambda a: a * number + a)(a)  # without a warning
    assert result.dtype == expected.dtype
    assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("dtype", "text", "number"),
    [
        ("int8", "s", 128),
        ("int8", "s", -129),
        ("uint8", "s", -1),
        ("int8", "s * s", 100),
        ("uint8", "(-s)", 1),
        ("uint8", "(s - 2)", 1),
    ],
)
@pytest.mark.parametrize("size", [40, 100])
def test_nothing_is_written_before_a_number_is_refused(monkeypatch, size, dtype, text, number):
    small_blocks(monkeypatch)
    function = fresh(f"a * 2 * 3 + {text}", ("a", "s"))
    out = np.full(size, 7, dtype)
    for given in (np.ones(size, dtype), out):
        with pytest.raises(OverflowError, match=f"out of bounds for {dtype}"):
            function(given, number, out=out)
        assert (out == 7).all()


def test_dear_functions_have_a_block_for_each_thread():
    """However few elements are worth a second thread."""
    text = " + ".join(["sin(a)"] * 40)
    made = cpu_executor.HostFunction(
        type_resolution.typed(elementwise(text)._function, ("float64",)), "float64", (False,)
    )
    worth = 2 * cpu_executor.LEAST_FOR_THREAD // made.cost + 1
    assert worth > made.few
    assert worth > made.alone
    assert worth >= 2 * made.block


@pytest.mark.parametrize("shape", [(600_000,), (1000, 600), (7, 100_000), (2, 3, 90_000)])
@pytest.mark.parametrize("threads", [1, 2, 3, 16])
def test_each_thread_has_as_many_blocks(shape, threads):
    most = 1 << 18
    block = even_block(shape, most, threads)
    parts = list(blocks(shape, block))
    assert block < most + np.prod(shape[1:])
    if len(shape) == 1 and threads > 1:
        assert len(parts) % threads == 0
    whole = np.zeros(shape, "i1")
    for part in parts:
        whole[part] += 1
    assert (whole == 1).all()


def test_an_error_in_a_later_block_comes_out(monkeypatch):
    small_blocks(monkeypatch)
    blocks = []
    beside = Scratch.beside

    def failing(scratch, out):
        blocks.append(out.size)
        if len(blocks) > 1:
            raise MemoryError("of the second block")
        return beside(scratch, out)

    monkeypatch.setattr(Scratch, "beside", failing)
    out = np.zeros(100)
    with pytest.raises(MemoryError, match="of the second block"):
        fresh("a * 2 + 1")(np.ones(100), out=out)
    assert blocks == [40, 40]
    assert (out == [3] * 40 + [0] * 60).all()


def test_results_own_their_memory(rng):
    a = rng.normal(size=(300, 400)).astype("f4")
    result = elementwise(POLYNOMIAL)(a, a)
    assert result.base is None
    assert not np.shares_memory(result, a)
    assert elementwise("a * 2 + 1")(a.T).flags.f_contiguous


@pytest.mark.parametrize("expression", ["real(a)", "imag(a)", "real(real(a))", "a"])
@pytest.mark.parametrize("dtype", ["f4", "c8"])
@pytest.mark.parametrize("size", [3, 5000])
def test_parts_of_an_array_are_copied(expression, dtype, size):
    a = np.arange(size).astype(dtype)
    result = elementwise(expression)(a)
    assert not np.shares_memory(result, a)
    assert (elementwise(expression)(a[0]), *result[1:]) == tuple(result)


@pytest.mark.thread_unsafe(reason="has a handler of signals")
def test_an_error_of_a_signals_handler_comes_out():
    """And nothing is computed twice: the output may be an input."""
    f = elementwise("a + 1")
    x = np.zeros(20000)
    raised = 0

    def handler(*_):
        nonlocal raised
        raised += 1
        raise LookupError("of the handler")

    before = signal.signal(signal.SIGALRM, handler)
    came_out = returned = 0
    collected = gc.isenabled()
    gc.disable()  # JAX has a callback of it, out of which no error comes
    try:
        for _ in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 20e-6)
                f(x, out=x)
                returned += 1
                time.sleep(1e-4)
            except LookupError:
                came_out += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if collected:
            gc.enable()
    assert came_out == raised > 0
    assert returned <= x[0] <= returned + came_out


@hypothesis.given(
    size=st.integers(1, 400),
    shared=st.sampled_from(["none", "a", "b"]),
    dtype=st.sampled_from(["f4", "f8", "i2"]),
    seed=st.integers(0, 2**32),
)
def test_random_sizes(size, shared, dtype, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-9, 9, (2, size)).astype(dtype)
    expected = polynomial(a, b)
    out = {"none": np.empty_like(a), "a": a, "b": b}[shared]
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(patch)
        np.testing.assert_array_equal(elementwise(polynomial)(a, b, out=out), expected)
