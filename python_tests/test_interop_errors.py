# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Arrays that cannot come in are refused with a reason and a way out, in every argument."""

import itertools

import numpy as np
import pytest
from libraries import KINDS, opened, why_absent

import gpukern

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def refused(cases, bad, words, good, index, error=gpukern.errors.GpukernBufferError):
    """The bad array as each argument; `good` and `index` fit it otherwise."""
    calls = {
        "gather: source": lambda: gpukern.gather(bad, index),
        "gather: index": lambda: gpukern.gather(good, bad),
        "gather: out": lambda: gpukern.gather(good, index, out=bad),
        "saxpy: x": lambda: gpukern.saxpy(2.0, bad, good),
        "saxpy: y": lambda: gpukern.saxpy(2.0, good, bad),
        "saxpy: out": lambda: gpukern.saxpy(2.0, good, good, out=bad),
    }
    for what, call in calls.items():
        with pytest.raises(error, match=f"^{what} .*{words}"):
            call()
        cases["interop errors", "all libraries"] += 1


def tensors():
    """Ways to make a tensor that cannot come in, and words of the refusal."""
    torch = pytest.importorskip("torch")
    fake_tensor = pytest.importorskip("torch._subclasses.fake_tensor")

    def fake():
        with fake_tensor.FakeTensorMode():
            return torch.ones(3)

    complex_numbers = torch.tensor([1 + 2j, 3 - 1j, 0j])
    return {
        "requires_grad": (torch.ones(3, requires_grad=True), r"pass its detach\(\)"),
        "parameter": (torch.nn.Parameter(torch.ones(3)), r"pass its detach\(\)"),
        "meta": (torch.ones(3, device="meta"), "meta device"),
        "sparse": (torch.ones(3).to_sparse(), r"pass its to_dense\(\)"),
        "conjugated": (complex_numbers.conj(), "resolve_conj"),
        "negated": (complex_numbers.conj().imag, "resolve_neg"),
        "negated, of one element": (complex_numbers[:1].conj().imag, "resolve_neg"),
        "fake": (fake(), "custom operator to trace it"),
    }


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_parameters_without_gradients(mode):
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.arange(6.0).reshape(3, 2))
    with getattr(torch, mode)():
        result = gpukern.gather(weight, torch.tensor([2, 0]))
        gpukern.saxpy(1.0, weight, weight, out=weight)
    assert not result.requires_grad
    assert result.tolist() == [[4, 5], [0, 1]]
    assert weight.tolist() == [[0, 2], [4, 6], [8, 10]]
    with pytest.raises(BufferError, match=r"pass its detach\(\)"):
        gpukern.gather(weight, torch.tensor([2, 0]))


NAMES = ["requires_grad", "parameter", "meta", "sparse", "conjugated", "negated",
         "negated, of one element", "fake"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_tensors_that_cannot_come_in(name, cases):
    torch = pytest.importorskip("torch")
    bad, words = tensors()[name]
    refused(cases, bad, words, torch.ones(3), torch.tensor([0, 1, 2]))


def test_tensors_of_a_transform(cases):
    torch = pytest.importorskip("torch")
    index = torch.tensor([0, 1, 2])
    for transform in (torch.func.vmap, lambda f: torch.func.grad(lambda x: f(x).sum())):
        call = transform(lambda x: gpukern.gather(x, index))
        with pytest.raises(gpukern.errors.GpukernBufferError, match=r"^gather: source "):
            call(torch.ones(3, 3) if transform is torch.func.vmap else torch.ones(3))
        cases["interop errors", "all libraries"] += 1


def test_traced_jax_arrays(cases):
    jax = pytest.importorskip("jax")
    index = jax.numpy.array([0, 1, 2])
    for transform, shape in [(jax.jit, 3), (jax.vmap, (3, 3))]:
        for operation in (lambda x: gpukern.gather(x, index), lambda x: gpukern.saxpy(1.0, x, x)):
            with pytest.raises(gpukern.errors.GpukernBufferError, match="is traced by JAX"):
                transform(operation)(jax.numpy.ones(shape))
            cases["interop errors", "all libraries"] += 1


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "bfloat16"])
def test_jax_dtypes_that_numpy_lacks(name):
    jax = pytest.importorskip("jax")
    source = jax.numpy.arange(4).astype(name)
    result = gpukern.gather(source, [3, 1])
    assert result.dtype == source.dtype
    assert result.astype("float32").tolist() == [3, 1]


def test_deleted_jax_arrays(cases):
    jax = pytest.importorskip("jax")
    gone = jax.numpy.arange(3.0) + 1
    gone.delete()
    with pytest.raises(gpukern.errors.GpukernBufferError, match="gather: source has been deleted"):
        gpukern.gather(gone, [0])
    cases["interop errors", "all libraries"] += 1


def test_jax_arrays_are_no_outputs(cases):
    jax = pytest.importorskip("jax")
    x = jax.numpy.arange(3.0)
    for call in (
        lambda: gpukern.gather(x, [0], out=x),
        lambda: gpukern.saxpy(1.0, x, x, out=x),
        lambda: gpukern.saxpy(1.0, np.ones(3, "f4"), np.ones(3, "f4"), out=x),
    ):
        with pytest.raises(gpukern.errors.GpukernTypeError, match="out must not be a JAX array"):
            call()
        cases["interop errors", "all libraries"] += 1


@pytest.mark.parametrize(
    "name", [name for name in KINDS if name not in ("jax", "numpy")], ids=lambda name: name
)
def test_outputs_that_do_not_fit(name, cases):
    theirs = opened(name)
    x, index = theirs.put(np.ones(3, "f4")), theirs.put(np.arange(3))
    for out, error in [(np.ones(4, "f4"), ValueError), (np.ones(3, "i4"), TypeError)]:
        for call in (
            lambda out: gpukern.gather(x, index, out=out),
            lambda out: gpukern.saxpy(2.0, x, x, out=out),
        ):
            with pytest.raises(error, match="out must have") as caught:
                call(theirs.put(out))
            assert isinstance(caught.value, gpukern.GpukernError)
            cases["interop errors", "all libraries"] += 1


@pytest.mark.parametrize("name", list(KINDS))
def test_wrong_dtypes(name, cases):
    theirs = opened(name)
    x, small = theirs.put(np.ones(3, "f4")), theirs.put(np.ones(3, "u1"))
    with pytest.raises(TypeError, match="index must be of an integer dtype, got float32"):
        gpukern.gather(x, x)
    with pytest.raises(TypeError, match="saxpy: x must have one of the dtypes"):
        gpukern.saxpy(2, small, small)
    with pytest.raises(TypeError, match="saxpy: y must have the dtype of x"):
        gpukern.saxpy(2, x, small)
    with pytest.raises(TypeError, match="without changing kind"):
        gpukern.saxpy(2j, x, x)
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        gpukern.gather(x, theirs.put(np.array([0, 3])))
    cases["interop errors", "all libraries"] += 5


@pytest.mark.gpu
def test_host_and_device_arrays_do_not_mix(cases):
    present = [name for name in KINDS if why_absent(name) is None and name != "numpy"]
    host = np.ones(3, "f4")
    for name in present:
        x = KINDS[name]().put(host)
        calls = [
            lambda x=x: gpukern.saxpy(1.0, x, host),
            lambda x=x: gpukern.saxpy(1.0, host, x),
            lambda x=x: gpukern.gather(x, [0, 1, 2], out=host.copy()),
            lambda x=x: gpukern.gather(x, [0], device="cpu"),
        ]
        for call in calls:
            with pytest.raises(
                gpukern.errors.GpukernValueError, match=r"must be on|must be that of"
            ):
                call()
            cases["interop errors", "all libraries"] += 1


@pytest.mark.gpu
def test_arrays_of_two_devices_do_not_mix(cases):
    if gpukern.info()["cuda"]["device_count"] < 2:
        pytest.skip("needs two CUDA devices")
    torch = pytest.importorskip("torch")
    cupy = pytest.importorskip("cupy")
    with cupy.cuda.Device(1):
        other = cupy.ones(3, "f4")
    arrays = {0: torch.ones(3, device="cuda:0"), 1: other}
    for first, second in itertools.permutations(arrays):
        with pytest.raises(gpukern.errors.GpukernValueError, match=f"must be on cuda:{first}"):
            gpukern.saxpy(1.0, arrays[first], arrays[second])
        assert torch.cuda.current_device() == 0
        assert cupy.cuda.runtime.getDevice() == 0
        cases["interop errors", "all libraries"] += 1
