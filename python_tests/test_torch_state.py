# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Calls amid torch's traces, forward-mode derivatives and saved tensors."""

import threading

import pytest

import gpukern

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

INDEX = torch.tensor([2, 0])
CALLS = {
    "saxpy": lambda x: gpukern.saxpy(2.0, x, x),
    "saxpy, out": lambda x: gpukern.saxpy(2.0, x, x, out=torch.empty(3)),
    "gather": lambda x: gpukern.gather(x, INDEX),
    "gather, long way": lambda x: gpukern.gather(x, [2, 0], device="cpu"),
}


def trace_by_fx(call):
    make_fx = pytest.importorskip("torch.fx.experimental.proxy_tensor").make_fx
    make_fx(call)(torch.ones(3))


def trace_by_jit(call):
    torch.jit.trace(call, torch.ones(3))


def run_in_mode(call):
    dispatch = pytest.importorskip("torch.utils._python_dispatch")

    class Mode(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    x = torch.ones(3)
    with Mode():
        call(x)


@pytest.mark.parametrize("trace", [trace_by_fx, trace_by_jit, run_in_mode])
@pytest.mark.parametrize("name", list(CALLS))
def test_no_trace_goes_on_without_the_call(name, trace):
    words = "a FakeTensor|would be missed by the trace.*use gpukern.torch|holds no plain memory"
    with pytest.raises(gpukern.errors.GpukernBufferError, match=words):
        trace(CALLS[name])
    CALLS[name](torch.ones(3))


def test_tangents_are_refused():
    forward_ad = torch.autograd.forward_ad
    x, tangent = torch.ones(3), torch.ones(3)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        for call in CALLS.values():
            with pytest.raises(gpukern.errors.GpukernBufferError, match="forward-mode tangent"):
                call(dual)
            call(x)
        with pytest.raises(
            gpukern.errors.GpukernBufferError, match=r"^saxpy: y has a forward-mode"
        ):
            gpukern.saxpy(1.0, x, dual)
    for call in CALLS.values():
        with pytest.raises(gpukern.errors.GpukernBufferError):
            torch.func.jvp(call, (x,), (tangent,))


@pytest.mark.parametrize("device", [None, "cpu"])
def test_outputs_count_as_written(device):
    x, index = torch.ones(3), torch.tensor([0, 2])
    for write in (
        lambda out: gpukern.saxpy(2.0, x, x, out=out, device=device),
        lambda out: gpukern.gather(x, index, out=out[:2], device=device),
    ):
        saved = torch.ones(3)
        version = saved._version
        product = (torch.ones(3, requires_grad=True) * saved).sum()
        write(saved)
        assert saved._version > version
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()
    with torch.inference_mode():
        out = torch.empty(3)
        assert gpukern.saxpy(2.0, x, x, out=out) is out
    assert gpukern.saxpy(2.0, x, x, out=out, device=device) is out


class Subclass(torch.Tensor):
    """A tensor with a say in what its attributes are."""


@pytest.mark.parametrize("kind", [torch.Tensor, Subclass])
def test_each_write_counts_once(kind):
    x, index = torch.ones(700), torch.arange(700)
    out = torch.empty(700).as_subclass(kind)
    for count in range(1, 4):
        gpukern.saxpy(2.0, x, x, out=out)
        gpukern.gather(x, index, mode="clip", out=out[1:699].new_empty(700))
        assert out._version == count
    gpukern.gather(x, index, mode="clip", out=out)
    assert out._version == 4
    assert torch.equal(out.as_subclass(torch.Tensor), x)


def test_integers_need_no_question_for_gradients():
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(gpukern.errors.GpukernBufferError, match="requires gradients"):
        gpukern.gather(x, INDEX)
    with pytest.raises(gpukern.errors.GpukernBufferError, match="requires gradients"):
        gpukern.gather(torch.arange(3), INDEX, out=torch.empty(2, requires_grad=True))
    assert gpukern.gather(torch.tensor([True, False, True]), INDEX).tolist() == [True, True]


def test_another_thread_may_trace():
    inside, done = threading.Event(), threading.Event()

    def trace(x):
        inside.set()
        assert done.wait(60)
        return x + 1

    thread = threading.Thread(target=lambda: torch.jit.trace(trace, torch.ones(3)))
    thread.start()
    try:
        assert inside.wait(60)
        for call in CALLS.values():
            call(torch.ones(3))
    finally:
        done.set()
        thread.join()
