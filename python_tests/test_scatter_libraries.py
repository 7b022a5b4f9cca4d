# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""scatter, put_along_axis and bincount on the arrays of every library."""

import numpy as np
import pytest
import scatter_oracle
from libraries import DTYPES, GPU, KINDS, opened, random_array, same_bits, why_absent
from ml_dtypes import bfloat16

import gpukern

# JAX's warning about types that it narrows.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

ROWS, WIDTH = 37, 3


@pytest.fixture(params=[name for name, kind in KINDS.items() if kind.writable])
def writable(request):
    """Each library whose arrays may be written to."""
    return opened(request.param)


def data(rng, dtype, shape=(ROWS, WIDTH), count=50):
    target = random_array(rng, shape, dtype)
    return (
        target,
        rng.integers(-ROWS, ROWS, count).astype("i4"),
        random_array(rng, (count, *shape[1:]), dtype),
    )


def reductions(dtype):
    return (None,) if dtype.kind == "b" else (None, *scatter_oracle.reductions_of(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_targets_in_place(writable, rng, dtype):
    if not writable.has(dtype):
        return
    for reduce in reductions(dtype):
        target, index, values = data(rng, dtype)
        expected = scatter_oracle.scatter(target, index, values, 0, "raise", reduce)
        for (_, at), (_, numbers) in zip(writable.layouts(target), writable.layouts(values),
                                         strict=True):  # fmt: skip
            for given in (writable.put(index), index):  # a host index goes to the device
                to = at if given is index else writable.put(target)
                assert gpukern.scatter(to, given, numbers, reduce=reduce) is to
                assert same_bits(writable.take(to), expected)


def test_new_arrays_of_jax(rng):
    jax = opened("jax")
    for dtype in filter(jax.has, DTYPES):
        target, index, values = data(rng, dtype)
        expected = scatter_oracle.scatter(target, index, values, 0, "raise", None)
        given = jax.put(target)
        result = gpukern.scatter(given, jax.put(index), jax.put(values))
        assert jax.is_own(result)
        assert result.dtype == given.dtype
        assert same_bits(jax.take(result), expected)
        assert same_bits(jax.take(given), target)
    order = np.argsort(target.astype("f4"), 1).astype("i4")
    result = gpukern.put_along_axis(given, jax.put(order), given)
    expected = target.copy()
    np.put_along_axis(expected, order, target, 1)
    assert same_bits(jax.take(result), expected)
    with pytest.raises(TypeError, match=r"^scatter: out must not be a JAX array"):
        gpukern.scatter(given, [0], given[0], out=given)


def test_outputs_of_another_library(theirs, rng):
    target, index, values = data(rng, np.dtype("f4"))
    expected = scatter_oracle.scatter(target, index, values, 0, "raise", "add")
    for name, kind in KINDS.items():
        if why_absent(name) is not None or name == "jax":
            continue
        other = kind()
        if other.on_gpu != theirs.on_gpu:
            continue
        out, given = other.put(np.zeros_like(target)), theirs.put(target)
        result = gpukern.scatter(
            given, theirs.put(index), theirs.put(values), reduce="add", out=out
        )
        assert result is out
        assert same_bits(other.take(out), expected)
        assert same_bits(theirs.take(given), target)


def test_host_values_go_to_the_target(writable):
    for values in (2.0, [1.0, 2.0], np.array([3.0, 4.0], "f4"), np.float32(5)):
        target = writable.put(np.zeros(3, "f4"))
        gpukern.scatter(target, [0, 2], values)
        expected = np.zeros(3, "f4")
        expected[[0, 2]] = values
        assert np.array_equal(writable.take(target), expected)
    gpukern.scatter(target, writable.put(np.array([1])), 7, mode="clip")
    assert writable.take(target).tolist() == [5, 7, 5]


def test_bfloat16_values_convert(writable):
    if not writable.has(bfloat16):
        return
    target = writable.put(np.ones(3, bfloat16))
    gpukern.scatter(target, [0, 1], [0.5, 2], reduce="add")
    assert writable.take(target).astype("f4").tolist() == [1.5, 3, 1]


def test_bincount(theirs, rng):
    index = rng.integers(0, 20, 1000).astype("i4")
    weights = rng.standard_normal(1000).astype("f4")
    counts = gpukern.bincount(theirs.put(index), size=25)
    assert theirs.is_own(counts)
    assert np.array_equal(theirs.take(counts), np.bincount(index, minlength=25))
    sums = gpukern.bincount(theirs.put(index), theirs.put(weights), size=25)
    expected = scatter_oracle.scatter(np.zeros(25, "f4"), index, weights, 0, "raise", "add")
    assert same_bits(theirs.take(sums), expected)


def test_streams(writable, rng):
    target, index, values = data(rng, np.dtype("f4"))
    expected = scatter_oracle.scatter(target, index, values, 0, "raise", "add")
    for mode in ("raise", "wrap"):
        for _, context, stream in writable.streams():
            with context:
                to = writable.put(target)
                gpukern.scatter(to, writable.put(index), writable.put(values), mode=mode,
                                reduce="add", stream=stream)  # fmt: skip
                assert same_bits(writable.take(to), expected)


# ---- what cannot come in ----


def test_tensors_that_require_gradients():
    torch = pytest.importorskip("torch")
    leaf, plain = torch.zeros(3, requires_grad=True), torch.zeros(3)
    for name, arguments, out in [
        ("target", (leaf, [0], 1.0), None),
        ("values", (plain, [0, 1, 2], leaf), None),
        ("out", (plain, [0], 1.0), leaf),
    ]:
        with pytest.raises(BufferError, match=rf"^scatter: {name} requires gradients.* detach\(\)"):
            gpukern.scatter(*arguments, out=out)
    with torch.no_grad():
        gpukern.scatter(leaf, [0], 1.0)
    assert leaf.tolist() == [1, 0, 0]


def test_torch_counts_a_written_target():
    torch = pytest.importorskip("torch")
    target, out = torch.zeros(3), torch.zeros(3)
    gpukern.scatter(target, [0], 1.0, out=out)
    assert (target._version, out._version) == (0, 1)
    gpukern.scatter(target, [0], 1.0)
    assert target._version == 1


def test_read_only_exports():
    jax = pytest.importorskip("jax")
    view = np.asarray(jax.numpy.zeros(3))  # NumPy's view of immutable memory
    with pytest.raises(ValueError, match=r"^scatter: target is read-only$"):
        gpukern.scatter(view, [0], np.float32(1))
    with pytest.raises(ValueError, match=r"^scatter: target is read-only$"):
        gpukern.scatter(memoryview(b"abc"), [0], 1)
    buffer = bytearray(b"abc")
    assert gpukern.scatter(buffer, [0], ord("x")) is buffer
    assert buffer == b"xbc"


@pytest.mark.skipif(not GPU, reason="no CUDA device")
def test_host_and_device_arrays_do_not_mix():
    host, pinned = np.zeros(3), gpukern.pinned_empty(3)
    device, index = gpukern.to_device(host), gpukern.to_device(np.array([0]))
    for arguments, words in [
        ((host, index, 1.0), "index must be on cpu like target, got cuda:0"),
        ((pinned, index, 1.0), "index must be on cpu like target, got cuda:0"),
        ((host, [0, 1, 2], device), "values must be on cpu like target, got cuda:0"),
        ((device, [0], 1.0, host), "out must be on cuda:0 like target, got cpu"),
    ]:
        out = arguments[3] if len(arguments) > 3 else None
        with pytest.raises(ValueError, match=f"^scatter: {words}$"):
            gpukern.scatter(*arguments[:3], out=out)
