# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Malformed streams, interfaces, scalars and indices: typed errors that name the argument."""

import numpy as np
import pytest

import gpukern

X = np.ones(3, "f4")
GOOD = {"shape": (3,), "typestr": "<f4", "data": (0, False), "version": 3}


class Speaker:
    """An object that implements a protocol with the given values."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


@pytest.mark.parametrize("spoken", [(0,), 3, None, (0, "x"), (1, 0), (0, 2**64), (0, -1)])
def test_malformed_streams(spoken):
    for stream in (Speaker(__cuda_stream__=lambda: spoken), Speaker(__cuda_stream__=spoken)):
        if spoken is None and stream.__cuda_stream__ is None:
            continue
        with pytest.raises((TypeError, ValueError), match=r"^saxpy: stream must ") as caught:
            gpukern.saxpy(1.0, X, X, stream=stream)
        assert isinstance(caught.value, gpukern.GpukernError)


@pytest.mark.parametrize("stream", [2**64, -1])
def test_streams_that_are_no_handles(stream):
    with pytest.raises(gpukern.errors.GpukernValueError, match=r"^gather: stream must be a handle"):
        gpukern.gather(X, [0], stream=stream)


def test_devices_are_named_by_function():
    with pytest.raises(gpukern.errors.GpukernValueError, match=r"^gather: device must be 'cpu'"):
        gpukern.gather(X, [0], device="gpu")
    with pytest.raises(
        gpukern.errors.GpukernTypeError, match=r"^to_device: device must be an int or"
    ):
        gpukern.to_device(X, None)


@pytest.mark.parametrize(
    "change",
    [{"shape": 3}, {"shape": ("a",)}, {"shape": (-3,)}, {"shape": (2**70,)}, {"typestr": "zz"},
     {"typestr": 5}, {"data": 5}, {"data": ("a", False)}, {"data": (2**70, False)},
     {"data": (-1, False)}, {"strides": 3}, {"strides": ("a",)}, {"strides": (2**70,)},
     {"descr": 5}, {"descr": [1, 2]}],
)  # fmt: skip
def test_malformed_interfaces(change):
    bad = Speaker(__cuda_array_interface__={**GOOD, **change})
    with pytest.raises(gpukern.GpukernError, match=r"^saxpy: x "):
        gpukern.saxpy(1.0, bad, bad)


@pytest.mark.parametrize(
    ("interface", "text"),
    [(None, "must be an array, got"), ([], "must be an array, got"), ({}, "has a malformed")],
)
def test_interfaces_without_members(interface, text):
    with pytest.raises(gpukern.errors.GpukernTypeError, match=f"^gather: source {text}"):
        gpukern.gather(Speaker(__cuda_array_interface__=interface), [0])


def test_indices_that_no_integer_dtype_holds():
    for index in (2**70, -(2**70), [2**70], [-1, 2**63]):
        with pytest.raises(gpukern.errors.GpukernIndexError, match="fits no integer dtype"):
            gpukern.gather(X, index)
    for call in (gpukern.segment_reduce, lambda x, offsets: gpukern.gather_reduce(x, [0], offsets)):
        with pytest.raises(gpukern.errors.GpukernValueError, match=f"offsets: {2**70} fits no"):
            call(X, [0, 2**70])


@pytest.mark.parametrize(
    "call",
    [
        lambda: gpukern.compress([1], np.zeros(1, "c16"), size=2**59),
        lambda: gpukern.gather(np.zeros((1, 2**20)), np.broadcast_to(0, 2**43)),
    ],
)
def test_results_that_no_memory_has(call):
    with pytest.raises(gpukern.errors.GpukernMemoryError, match=r"^no memory has 2\*\*63 bytes, "):
        call()


@pytest.mark.parametrize("sign", [1, -1])
def test_ints_with_more_digits_than_python_writes(sign):
    errors, huge = gpukern.errors, sign * 10**5000
    for error, words, call in [
        (errors.GpukernIndexError, "index", lambda: gpukern.gather(X, huge)),
        (errors.GpukernIndexError, "index", lambda: gpukern.gather(X, [0, huge])),
        (ValueError, "offsets:", lambda: gpukern.segment_reduce(X, [0, huge])),
        (errors.GpukernAxisError, "axis", lambda: gpukern.gather(X, [0], axis=huge)),
        (OverflowError, "size", lambda: gpukern.compress([1], X, size=huge)),
        (ValueError, "device", lambda: gpukern.gather(X, [0], device=huge)),
        (ValueError, "stream", lambda: gpukern.gather(X, [0], stream=huge)),
        (ValueError, "device_memory", lambda: gpukern.gather(X, [0], device_memory=huge)),
        (OverflowError, "seed", lambda: gpukern.fma(X, X, X, rounding="stochastic", seed=huge)),
        (OverflowError, "a must", lambda: gpukern.saxpy(huge, X, X)),
        (ValueError, "threads", lambda: gpukern.set_num_threads(huge)),
        (ValueError, "shape", lambda: gpukern.empty(huge, device="cpu")),
        (OverflowError, "a must", lambda: gpukern.elementwise("a + x")(huge, X)),
        (ValueError, "mode", lambda: gpukern.typed.gather_into(X, np.array([0]), X, huge)),
    ]:
        with pytest.raises(error, match=f"{words} .*an int of 16610 bits") as caught:
            call()
        assert isinstance(caught.value, gpukern.GpukernError)


def test_lists_of_numbers_that_only_uint64_holds():
    assert gpukern.gather(X, [2**63, 0], mode="clip").tolist() == [X[-1], X[0]]
    with pytest.raises(IndexError, match=f"index {2**63} is out of bounds"):
        gpukern.gather(X, [2**63, 0])
    with pytest.raises(IndexError, match=f"index {2**63} fits no integer dtype together with neg"):
        gpukern.gather(X, [2**63, -1])


def test_ragged_lists():
    with pytest.raises(gpukern.errors.GpukernValueError, match=r"^gather: source: "):
        gpukern.gather([[1], [1, 2]], [0])


def scalars_of_torch():
    torch = pytest.importorskip("torch")
    return {
        "requires gradients": torch.tensor(2.0, requires_grad=True),
        "is conjugated": torch.tensor(2j).conj(),
        "meta device": torch.ones((), device="meta"),
        "has the layout": torch.ones(1).to_sparse(),
        "torch.complex32": torch.ones((), dtype=torch.complex32),
    }


def refused(words, value):
    errors = (gpukern.errors.GpukernTypeError, gpukern.errors.GpukernBufferError)
    with pytest.raises(errors, match=f"^saxpy: a .*{words}"):
        gpukern.saxpy(value, X, X)
    with pytest.raises(gpukern.errors.GpukernTypeError, match=f"^gather: fill_value .*{words}"):
        gpukern.gather(X, [9], mode="fill", fill_value=value)


@pytest.mark.filterwarnings("ignore")
def test_scalars_of_torch():
    for words, value in scalars_of_torch().items():
        refused(words, value)
    torch = pytest.importorskip("torch")
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.int8):
        two = torch.tensor(2, dtype=dtype)
        assert np.array_equal(gpukern.saxpy(two, X, X), 3 * X)
        assert gpukern.gather(X, [9], mode="fill", fill_value=two)[0] == 2
    numbers = torch.ones(3, dtype=torch.complex32)
    with pytest.raises(
        gpukern.errors.GpukernTypeError, match="saxpy: x must have one of the dtypes"
    ):
        gpukern.saxpy(1.0, numbers, numbers)


def test_scalars_of_jax():
    jax = pytest.importorskip("jax")
    two = jax.numpy.asarray(2, "bfloat16")
    assert np.array_equal(gpukern.saxpy(two, X, X), 3 * X)
    assert gpukern.gather(X, [9], mode="fill", fill_value=two)[0] == 2
    two.delete()
    refused("has been deleted", two)
    with pytest.raises(gpukern.errors.GpukernTypeError, match=r"^saxpy: a is traced by JAX"):
        jax.jit(lambda a: gpukern.saxpy(a, X, X))(2.0)


def test_types_without_a_module():
    with pytest.raises(gpukern.errors.GpukernTypeError, match=r"^gather: source must be"):
        gpukern.gather(type("Odd", (), {"__module__": None})(), [0])


def test_what_is_made_by_others():
    with pytest.raises(
        gpukern.errors.GpukernTypeError, match=r"an Explanation is made by gpukern\.explain"
    ):
        gpukern.Explanation()
    for outer in (gpukern.In, gpukern.Out, gpukern.InOut):
        with pytest.raises(
            gpukern.errors.GpukernTypeError, match=r"a host array, got gpukern\.In\("
        ):
            outer(gpukern.In(X))
    with pytest.raises(gpukern.errors.GpukernTypeError, match="options must be a sequence of str"):
        gpukern.elementwise("a + 1", options={"-DN": 1})


def test_async_functions():
    async def f(a):
        return a

    with pytest.raises(
        gpukern.errors.GpukernValueError, match="expected a plain function, f is an async"
    ):
        gpukern.elementwise(f)


def resizing(array, result):
    """An argument whose conversion frees another argument's memory."""

    class Resizing:
        def __array__(self, dtype=None, copy=None):
            array.resize(16, refcheck=False)
            return result

    return Resizing()


RESIZED = {
    "saxpy": lambda x, ones, other: gpukern.saxpy(1.0, x, other(np.ones(len(x)))),
    "gather": lambda x, ones, other: gpukern.gather(x, other(ones)),
    "gather of few": lambda x, ones, other: gpukern.gather(x, other(ones[:10])),
    "gather fill": lambda x, ones, other: gpukern.gather(
        x, ones, mode="fill", fill_value=other(np.ones(()))
    ),
    "copyto": lambda x, ones, other: gpukern.copyto(x, other(np.ones(len(x)))),
    "take_along_axis": lambda x, ones, other: gpukern.take_along_axis(x, other(ones), axis=0),
    "scatter": lambda x, ones, other: gpukern.scatter(x, ones, other(np.ones(len(ones)))),
    "put_along_axis": lambda x, ones, other: gpukern.put_along_axis(x, ones, other(1.0 * ones), 0),
    "gather_reduce": lambda x, ones, other: gpukern.gather_reduce(x, ones, other(ones[:1] * 0)),
    "elementwise": lambda x, ones, other: gpukern.elementwise("a + b")(x, other(ones)),
}


@pytest.mark.parametrize("size", [1000, 1 << 20])
@pytest.mark.parametrize("name", RESIZED)
def test_an_array_that_another_argument_resizes(name, size):
    x = np.ones(size)
    ones = np.ones(min(size, 1000) if name == "gather" else size, np.int64)
    with pytest.raises(ValueError, match="was resized while the other arguments were read"):
        RESIZED[name](x, ones, lambda result: resizing(x, result))
