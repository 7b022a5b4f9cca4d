# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""saxpy, axpby and fma of gpukern.torch, beside gpukern's own and PyTorch's gradients."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import gpukern  # noqa: E402
import gpukern.torch as gt  # noqa: E402

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
SHAPES = [((5, 3), (5, 3), (5, 3)), ((3,), (5, 1), (1, 1, 3)), ((), (2, 0), ()), ((), (), ())]


def whole_numbers(*shape, **options):
    """Random numbers whose products are exact."""
    return torch.randint(-9, 9, shape).to(torch.float32).to(**options)


def same_gradients(ours, theirs, inputs):
    """Whether two results and their gradients are equal."""
    weight = whole_numbers(*ours.shape, device=ours.device)
    return torch.equal(ours, theirs) and all(
        map(
            torch.equal,
            torch.autograd.grad((ours * weight).sum(), inputs),
            torch.autograd.grad((theirs * weight).sum(), inputs),
        )
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shapes", SHAPES)
def test_results_and_gradients(device, shapes):
    x, y, z = (whole_numbers(*shape, device=device).requires_grad_() for shape in shapes)
    assert same_gradients(gt.axpby(0.5, x, -2, y), 0.5 * x - 2 * y, (x, y))
    assert same_gradients(gt.fma(x, y, z), x * y + z, (x, y, z))
    assert same_gradients(gt.fma(x, x, z), x * x + z, (x, z))
    (only_y,) = torch.autograd.grad(gt.axpby(0.5, x.detach(), 3, y).sum(), y)
    (only_z,) = torch.autograd.grad(gt.fma(x.detach(), y.detach(), z).sum(), z)
    assert torch.equal(only_y, torch.autograd.grad((x + 3 * y).sum(), y)[0])
    assert torch.equal(only_z, torch.autograd.grad((x * y + z).sum(), z)[0])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtypes", list(itertools.product(DTYPES, repeat=2)))
def test_dtypes_are_those_of_gpukern(device, dtypes):
    x, y = (torch.randn(4, 3, device=device).to(dtype) for dtype in dtypes)
    for z in (torch.tensor(0.3, dtype=torch.float64), torch.randn(3, device=device)):
        for ours, theirs, operands in [
            (gt.axpby, gpukern.axpby, (0.1, x, 3, y)),
            (gt.fma, gpukern.fma, (x, y, z)),
        ]:
            result, expected = ours(*operands), theirs(*operands)
            assert result.dtype == expected.dtype
            assert torch.equal(result, expected)
    x.requires_grad_()
    z.requires_grad_()
    gt.fma(x, y, z).sum().backward()
    assert (x.grad.dtype, z.grad.dtype) == (x.dtype, z.dtype)


@pytest.mark.parametrize("device", DEVICES)
def test_a_number_on_the_cpu_has_a_gradient(device):
    x, y = whole_numbers(2, 5, device=device)
    number = torch.tensor(2.0, requires_grad=True)
    gt.fma(number, x, y).sum().backward()
    assert number.grad.device.type == "cpu"
    assert number.grad == x.sum().item()


def test_gradients_of_any_order_against_differences():
    x, y = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    z = torch.randn(3, dtype=torch.float64, requires_grad=True)
    for function, inputs in [
        (lambda x, z: gt.axpby(0.3, x, -2, z).sin(), (x, z)),
        (gt.fma, (x, y, z)),
        (gt.fma, (z, x, y)),
    ]:
        assert torch.autograd.gradcheck(function, inputs)
        assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # by opcheck itself
@pytest.mark.parametrize("device", DEVICES)
def test_rules_of_pytorch_for_operators(device):
    x, y = whole_numbers(2, 6, 7, device=device)
    leaf, row = x.clone().requires_grad_(), x[0]
    number = torch.tensor(2.0, dtype=torch.float64)
    for arguments in [(0.5, x, 2, y), (2, x.t(), 1, y.t()), (0.5, leaf, 3, row.half())]:
        torch.library.opcheck(torch.ops.gpukern.axpby.default, arguments)
    for arguments in [
        (x, y, x),
        (x.t(), y.t(), x.t()),
        (row, leaf, y),
        (number, x[:, ::2], leaf[0, 0]),
    ]:
        torch.library.opcheck(torch.ops.gpukern.fma.default, arguments)


@pytest.mark.parametrize("device", DEVICES)
def test_compiled_without_a_graph_break(device):
    def loss(x, y, z):
        return gt.axpby(0.5, gt.fma(x, y, z), 2, z).relu().sum()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for length in (20, 21, 22):  # from the second on, torch compiles for any length
        shapes = (length, 8), (length, 8), (8,)
        x, y, z = (whole_numbers(*shape, device=device).requires_grad_() for shape in shapes)
        expected = torch.autograd.grad(loss(x, y, z), (x, y, z))
        found = torch.autograd.grad(compiled(x, y, z), (x, y, z))
        assert all(map(torch.equal, found, expected))


def test_errors():
    x, whole = torch.zeros(3, requires_grad=True), torch.zeros(3, dtype=torch.int64)
    with pytest.raises(TypeError, match=r"^axpby: y must have one of the dtypes float16"):
        gt.axpby(1, x, 1, whole)
    with pytest.raises(TypeError, match=r"^fma: z must have one of the dtypes float16"):
        gt.fma(x, x, x.to(torch.complex64))
    with pytest.raises(RuntimeError, match="broadcast"):
        gt.fma(x, x, torch.zeros(2))


def test_saxpy_broadcasts_and_promotes_as_the_function():
    x, y = torch.randn(3, requires_grad=True), torch.randn(2, 1, requires_grad=True)
    for first, second in [(x, y), (y, x), (x, y.double()), (x.half(), y)]:
        result = gt.saxpy(0.5, first, second)
        expected = gpukern.saxpy(0.5, first.detach(), second.detach())
        assert result.dtype == expected.dtype
        assert torch.equal(result, expected)
        ours = torch.autograd.grad(result.sum(), (x, y))
        theirs = torch.autograd.grad((0.5 * first + second).sum(), (x, y))
        assert all(map(torch.allclose, ours, theirs))
    assert gt.saxpy(1, torch.arange(3), torch.arange(3)).tolist() == [0, 2, 4]


@pytest.mark.parametrize("number", [np.float32(2), np.int64(2), np.float64(2), np.bool_(True)])
def test_numbers_of_numpy(number):
    x = torch.arange(3.0)
    assert torch.equal(gt.saxpy(number, x, x), (float(number) + 1) * x)
    assert torch.equal(gt.axpby(number, x, number, x), 2 * float(number) * x)
