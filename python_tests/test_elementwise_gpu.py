# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Element-wise functions on a GPU give what NumPy gives."""

import ml_dtypes
import numpy as np
import pytest
from libraries import KINDS, opened
from places import Interface, Window

import gpukern
from gpukern import elementwise

pytestmark = pytest.mark.gpu

SIZES = [0, 1, 3, 31, 32, 33, 65, 127, 128, 129, 1000, 4097, 100_003]
INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
FLOATS = ["f2", "f4", "f8", ml_dtypes.bfloat16]

# What has the same bits as in NumPy.
EXACT = [
    "(a * 10 + 2) * ((b + 2) * 10 - 5) * 5",
    "a - b",
    "a / b",
    "a < b ? a : b",
    "(a <= b) + (a == b) * 2 + (a > b) * 4",
    "max(a, b) - min(a, b)",
    "-a",
    "abs(a)",
    "a * a",
    "sign(a)",
]
OF_FLOATS = [
    "sqrt(abs(a))",
    "floor(a) + ceil(b) - trunc(a) + rint(b)",
    "copysign(a, b)",
    "fmod(a, b)",
    "a % b",
    "floor_divide(a, b)",
    "isnan(a / b) + isinf(a / b) * 2 + isfinite(a) * 4 + signbit(b) * 8",
    "fmax(a, b) + fmin(a, b)",
    "(float)a + int32_t(b)",
    "!a || a && b",
]
OF_INTEGERS = [
    "a & b | ~a ^ 1",
    "a << (b & 7) >> 2",
    "a % b",
    "floor_divide(a, b)",
    "fmod(a, b)",
    "pow(a, 3)",
    "pow(a, b & 7)",
    "a < 3",
]
CLOSE = ["sin(a)", "cos(a) * exp(b / 8)", "log(abs(a) + 1)", "atan2(a, b)", "hypot(a, b)",
         "pow(abs(a) + 1, b / 4)", "tanh(a) + cbrt(b)"]  # fmt: skip


def values(rng, dtype, size):
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        found = rng.integers(info.min, info.max, size, dtype, endpoint=True)
        found[::5] = rng.integers(0, 4, found[::5].shape).astype(dtype)
        return found
    found = rng.normal(0, 4, size).astype(dtype)
    if found.size > 8:
        found.flat[:4] = [0, -0.0, np.inf, np.nan]
    return found


def comparable(array):
    """NaNs of bfloat16, a dtype that NumPy does not know, are not equal to assert_array_equal."""
    return array.astype(np.float32) if array.dtype == ml_dtypes.bfloat16 else array


def check(f, *arrays, exact=True, tolerance=4):
    """The GPU's result beside the CPU's."""
    expected = f(*arrays)
    moved = [gpukern.to_device(x) if isinstance(x, np.ndarray) else x for x in arrays]
    result = f(*moved).numpy()
    assert result.dtype == expected.dtype
    if exact:
        np.testing.assert_array_equal(comparable(result), comparable(expected))
        return
    wide = np.float64 if expected.dtype.kind != "c" else np.complex128
    epsilon = float(ml_dtypes.finfo(expected.dtype).eps) * tolerance
    np.testing.assert_allclose(
        result.astype(wide), expected.astype(wide), rtol=epsilon, atol=epsilon, equal_nan=True
    )


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
def test_exact_operations(rng, dtype):
    for expression in EXACT + (OF_INTEGERS if dtype in INTEGERS else OF_FLOATS):
        if dtype is ml_dtypes.bfloat16 and "int32_t" in expression:
            continue
        f = elementwise(expression)
        arrays = [values(rng, dtype, 4099) for _ in f.inputs]
        check(f, *arrays)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("expression", CLOSE)
def test_transcendental_functions(rng, dtype, expression):
    f = elementwise(expression)
    check(f, *(rng.normal(0, 3, 5000).astype(dtype) for _ in f.inputs), exact=False)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_numbers(rng, dtype):
    a, b = (rng.normal(size=(2, 999)) + 1j * rng.normal(size=(2, 999))).astype(dtype)
    for expression in ("a + b - 2", "a * b", "a / b", "conj(a) * 2", "a == b ? a : -b"):
        check(elementwise(expression, inputs=("a", "b")), a, b, exact=False, tolerance=16)
    check(elementwise("abs(a)"), a, exact=False)
    for function in ("exp", "log", "sqrt", "sin", "cos", "tanh"):
        check(elementwise(f"{function}(a)"), a * 3, exact=False, tolerance=16)
    check(elementwise("real(a) - imag(a)"), a)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pair", [("f4", "f4"), ("i1", "f4"), ("f8", "u1"), ("i2", "i2"),
                                  ("c16", "f4"), ("?", "?")], ids=str)  # fmt: skip
def test_sizes(rng, size, pair):
    a, b = [rng.integers(0, 2 if dtype == "?" else 100, size).astype(dtype) for dtype in pair]
    check(elementwise("a + b"), a, b)


def test_pairs_of_dtypes(rng):
    f = elementwise("a * b + a")
    for first in [*INTEGERS, "f2", "f4", "f8", "?"]:
        for second in [*INTEGERS, "f2", "f4", "f8", "?"]:
            a, b = [rng.integers(0, 2, 300).astype(dtype) for dtype in (first, second)]
            check(f, a, b)


def test_mixed_signs_compare_as_numbers():
    a = np.array([-1, 0, 2**62], "i8")
    b = np.array([2**64 - 1, 0, 2**63], "u8")
    for expression in ("a < b", "a == b", "a >= b", "b > a", "a != b"):
        check(elementwise(expression, inputs=("a", "b")), a, b)
    check(elementwise("a < 300"), np.arange(256, dtype="u1"))


def test_numbers_as_arguments(rng):
    f = elementwise("a * x + y", inputs=("a", "x", "y"))
    x, y = rng.normal(size=(2, 1001)).astype("f4")
    for number in (2, 0.1, True, np.float32(0.3), np.int8(3), np.float64(0.1)):
        check(f, number, x, y)
    check(f, 2 + 3j, x, y, exact=False)
    with pytest.raises(
        gpukern.errors.GpukernOverflowError, match=r"b must be in \[0, 255\], got 300"
    ):
        elementwise("a + b")(gpukern.to_device(np.ones(3, "u1")), 300)
    device = gpukern.to_device(x)
    np.testing.assert_array_equal(f(np.array(0.5), device, device).numpy(), f(np.array(0.5), x, x))


@pytest.mark.parametrize(
    "shapes",
    [((64, 1000), (1000,)), ((63, 1), (1, 77)), ((64, 1), (64, 128)), ((5, 4, 3), (4, 1)),
     ((1000,), ()), ((), (3, 3)), ((7, 9, 64), (9, 1)), ((33, 1, 16), (1, 5, 1)), ((0, 4), (4,))],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("dtypes", [("f4", "f4"), ("i1", "f8")], ids=str)
def test_broadcasting(rng, shapes, dtypes):
    a, b = [
        rng.integers(-50, 50, shape).astype(dtype)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    ]
    check(elementwise("a * 2 + b"), a, b)
    check(elementwise("b - a"), b, a)


def on_interface(window, array):
    """A view of device memory with the layout of a window, holding the array."""
    memory = np.zeros(window.extent + 64, np.uint8)
    window.on(memory)[...] = array
    return Interface(gpukern.to_device(memory), window)


@pytest.mark.parametrize("offset", [0, 4, 8, 12, 16, 1, 2])
@pytest.mark.parametrize(
    ("shape", "strides"),
    [((1001,), (4,)), ((1001,), (8,)), ((1001,), (-4,)), ((40, 32), (256, 4)),
     ((40, 32), (4, 160)), ((6, 5, 12), (-240, 48, 4)), ((8, 8), (0, 4))],
    ids=str,
)  # fmt: skip
def test_layouts(rng, offset, shape, strides):
    start = -sum(min((n - 1) * s, 0) for n, s in zip(shape, strides, strict=True))
    window = Window(np.dtype("f4"), shape, strides, start + offset)
    a, b = rng.normal(size=(2, *shape)).astype("f4")
    if 0 in strides:
        a = np.broadcast_to(a[:1], shape)
    f = elementwise("a * 3 - b")
    expected = f(a, b)
    for arguments in ((on_interface(window, a), gpukern.to_device(b)),
                      (on_interface(window, a), on_interface(window, b))):  # fmt: skip
        if 0 in strides and isinstance(arguments[1], Interface):
            continue
        np.testing.assert_array_equal(f(*arguments).numpy(), expected)
    if 0 not in strides:
        out = on_interface(window, np.zeros(shape, "f4"))
        f(gpukern.to_device(a), gpukern.to_device(b), out=out)
        np.testing.assert_array_equal(window.on(out.memory.numpy()), expected)


@pytest.mark.parametrize("shift", [-1, 0, 1, 500])
def test_out_overlaps(rng, shift):
    host = rng.normal(size=4000).astype("f4")
    memory = gpukern.to_device(host)
    dtype = np.dtype("f4")
    x = Interface(memory, Window(dtype, (2000,), (4,), 4000))
    out = Interface(memory, Window(dtype, (2000,), (4,), 4000 + 4 * shift))
    elementwise("a * 2 + 1")(x, out=out)
    expected = host.copy()
    expected[1000 + shift : 3000 + shift] = host[1000:3000] * np.float32(2) + np.float32(1)
    np.testing.assert_array_equal(memory.numpy(), expected)


def test_no_byte_besides_is_written(rng):
    for size in (1, 5, 31, 64, 129):
        for offset in range(0, 32, 4):
            memory = gpukern.to_device(np.full(1024, 255, np.uint8))
            out = Interface(memory, Window(np.dtype("f4"), (size,), (4,), 128 + offset))
            elementwise("a * 0")(gpukern.to_device(np.ones(size, "f4")), out=out)
            expected = np.full(1024, 255, np.uint8)
            expected[128 + offset : 128 + offset + 4 * size] = 0
            np.testing.assert_array_equal(memory.numpy(), expected)


@pytest.mark.parametrize("name", KINDS)
def test_libraries(rng, name):
    library = opened(name)
    f, compare = elementwise("a * 2 + b"), elementwise("a < b")
    a, b = rng.normal(size=(2, 20, 30)).astype("f4")
    for (_, x), (_, y) in zip(library.layouts(a), library.layouts(b), strict=True):
        host = library.take(x), library.take(y)
        result = f(x, y)
        assert library.is_own(result)
        np.testing.assert_array_equal(library.take(result), f(*host))
        result = compare(x, y)
        assert library.is_own(result)
        np.testing.assert_array_equal(library.take(result), compare(*host))
        if library.writable:
            out = library.put(np.zeros(host[0].shape, "f4"))
            assert f(x, y, out=out) is out
            np.testing.assert_array_equal(library.take(out), f(*host))


def test_streams():
    torch = pytest.importorskip("torch")
    f = elementwise("a + 1")
    side = torch.cuda.Stream()
    x = torch.zeros(1 << 22, device="cuda")
    with torch.cuda.stream(side):
        for _ in range(10):
            x = f(x)
    y = f(x, stream=side)
    side.synchronize()
    assert y.unique().tolist() == [11]


def test_capture():
    torch = pytest.importorskip("torch")
    f = elementwise("a * 2")
    x = torch.ones(1000, device="cuda")
    out = torch.empty_like(x)
    f(x, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        f(x, out=out)
    x.fill_(3)
    graph.replay()
    torch.cuda.synchronize()
    assert out.unique().tolist() == [6]


def test_device_arrays_beside_each_other(rng):
    """All DeviceArrays, on streams that differ, in place, broadcast, of another dtype, empty."""
    f = elementwise("a * 2 + b")
    a, b = rng.normal(size=(2, 50, 60)).astype("f4")
    expected = f(a, b)
    x, y = gpukern.to_device(a), gpukern.to_device(b, stream=2)
    np.testing.assert_array_equal(f(x, y).numpy(), expected)
    row = gpukern.to_device(b[0])
    np.testing.assert_array_equal(f(x, row).numpy(), f(a, b[0]))
    np.testing.assert_array_equal(f(row, x).numpy(), f(b[0], a))
    wide = gpukern.empty(a.shape, "f8")
    assert f(x, y, out=wide) is wide
    np.testing.assert_array_equal(wide.numpy(), expected)
    assert f(x, y, out=x) is x
    np.testing.assert_array_equal(x.numpy(), expected)
    nothing = f(gpukern.empty((0, 60), "f4"), row)
    assert (nothing.shape, nothing.dtype) == ((0, 60), np.float32)
    deep = gpukern.to_device(a.reshape((1,) * 8 + a.shape))
    assert f(deep, y).shape == deep.shape
    assert elementwise("a < b")(y, row).dtype == bool


def test_functions_of_cuda(rng):
    a, b = rng.normal(size=(2, 500)).astype("f4")
    expected = (a.astype("f8") * b + 2).astype("f4")
    np.testing.assert_allclose(elementwise("fmaf(a, b, 2)")(a, b), expected, rtol=1e-6)
    preamble = "__device__ float mine(float a) { return a > 0 ? a : 0; }"
    result = elementwise("mine(a) + 1", preamble=preamble)(gpukern.to_device(a))
    np.testing.assert_array_equal(result.numpy(), np.maximum(a, 0) + 1)


def test_errors(rng):
    f = elementwise("a * 2 + b")
    a = gpukern.to_device(np.ones(3, "f4"))
    host = np.ones(3, "f4")
    with pytest.raises(ValueError, match="b must be on cuda:0 like a, got cpu"):
        f(a, host)
    with pytest.raises(ValueError, match="a must be on cuda:0 like b, got cpu"):
        f(host, a)
    with pytest.raises(ValueError, match="out must be on cuda:0"):
        f(a, a, out=host)
    with pytest.raises(ValueError, match="out must be on the host"):
        f(host, host, out=a)
    with pytest.raises(ValueError, match=r"out must have shape \(3,\), got \(4,\)"):
        f(a, a, out=gpukern.empty(4, "f4"))
    with pytest.raises(ValueError, match=r"shapes \(3,\), \(2,\) do not broadcast"):
        f(a, gpukern.empty(2, "f4"))
    with pytest.raises(ValueError, match="device must be that of the arrays, cuda:0, got cpu"):
        f(a, a, device="cpu")
    with pytest.raises(TypeError, match="out must be of a dtype that float32 converts to"):
        f(a, a, out=gpukern.empty(3, "i4"))
    stuck = Interface(a, Window(np.dtype("f4"), (3,), (0,), 0))
    with pytest.raises(ValueError, match="out must not have overlapping elements"):
        f(a, a, out=stuck)
    with pytest.raises(gpukern.CompileError):
        elementwise("absent(a)")(a)
    assert f(a, 1, device="cuda").numpy().tolist() == [3, 3, 3]
