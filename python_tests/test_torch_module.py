# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gpukern.torch: PyTorch's operators with gradients and for torch.compile."""

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import gpukern  # noqa: E402
import gpukern.torch as gt  # noqa: E402

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
MODES = ["raise", "wrap", "clip", "fill"]


def whole_numbers(*shape, **options):
    """Random numbers whose sums are exact."""
    return torch.randint(-100, 100, shape).to(torch.float32).to(**options)


def random_index(shape, length, mode, device):
    most = length if mode == "raise" else 3 * length
    return torch.randint(-most, most, shape, device=device)


def by_indexing(source, index, axis, mode, fill_value=0):
    """Gather by PyTorch's own functions, which have gradients."""
    length = source.shape[axis]
    if mode == "fill":
        known = (index >= -length) & (index < length)
    index = {
        "raise": lambda: index,
        "wrap": lambda: index % length,
        "clip": lambda: index.clamp(0, length - 1),
        "fill": lambda: torch.where(known, index, 0),
    }[mode]()
    moved = source.movedim(axis, 0)[index]
    if mode == "fill":
        known = known[(..., *[None] * (moved.dim() - known.dim()))]
        moved = torch.where(known, moved, fill_value)
    axis %= source.dim()
    order = range(index.dim())
    return moved.movedim(tuple(order), tuple(axis + d for d in order)) if order else moved


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "axis"), [((7,), 0), ((7, 3), 0), ((2, 7, 3), 1), ((2, 7), -1)])
@pytest.mark.parametrize("index_shape", [(), (5,), (2, 4), (0,)])
def test_gather_and_its_gradient(device, mode, shape, axis, index_shape):
    source = whole_numbers(*shape, device=device).requires_grad_()
    index = random_index(index_shape, 7, mode, device)
    result = gt.gather(source, index, axis=axis, mode=mode, fill_value=-1)
    expected = by_indexing(source, index, axis, mode, -1)
    assert torch.equal(result, expected)
    weight = whole_numbers(*result.shape, device=device)
    (ours,) = torch.autograd.grad((result * weight).sum(), source)
    (theirs,) = torch.autograd.grad((expected * weight).sum(), source)
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("device", DEVICES)
def test_saxpy_and_its_gradients(device):
    x, y = whole_numbers(2, 5, 3, device=device).requires_grad_()
    result, expected = gt.saxpy(0.5, x, y), 0.5 * x + y
    assert torch.equal(result, expected)
    weight = whole_numbers(*result.shape, device=device)
    ours = torch.autograd.grad((result * weight).sum(), (x, y))
    theirs = torch.autograd.grad((expected * weight).sum(), (x, y))
    assert all(map(torch.equal, ours, theirs))
    (only_y,) = torch.autograd.grad(gt.saxpy(0.5, x.detach(), y).sum(), y)
    assert torch.equal(only_y, torch.ones_like(y))


def test_gradients_of_any_order_against_differences():
    source = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    index = torch.tensor([[0, -1], [3, 3]])
    function = lambda each: gt.gather(each, index).sin()  # noqa: E731
    assert torch.autograd.gradcheck(function, source)
    assert torch.autograd.gradgradcheck(function, source)
    x, y = torch.randn(2, 3, dtype=torch.complex128, requires_grad=True)
    function = lambda x, y: gt.saxpy(2 - 1j, x, y)  # noqa: E731
    assert torch.autograd.gradcheck(function, (x, y))
    assert torch.autograd.gradgradcheck(function, (x, y))


def test_scalars_and_flattened_sources():
    source = torch.tensor(3.0, requires_grad=True)
    gt.gather(source, torch.tensor([0, 0, -1])).sum().backward()
    assert source.grad == 3
    matrix = torch.arange(6.0).reshape(2, 3).requires_grad_()
    result = gt.gather(matrix, torch.tensor([5, 5, 0]), axis=None)
    assert result.tolist() == [5, 5, 0]
    result.sum().backward()
    assert matrix.grad.tolist() == [[1, 0, 0], [0, 0, 2]]


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # by opcheck itself
@pytest.mark.parametrize("device", DEVICES)
def test_rules_of_pytorch_for_operators(device):
    table = whole_numbers(50, 8, device=device)
    index = torch.randint(-50, 50, (4, 5), device=device)
    x, y = whole_numbers(2, 6, 7, device=device)
    leaf = table.clone().requires_grad_()
    for arguments in [(table, index), (table.t(), index, -1), (leaf, index + 90, 0, "fill", 1.5)]:
        torch.library.opcheck(torch.ops.gpukern.gather.default, arguments)
    for arguments in [(0.5, x, y), (2, x.t(), y.t()), (0.5, x.clone().requires_grad_(), y)]:
        torch.library.opcheck(torch.ops.gpukern.saxpy.default, arguments)


@pytest.mark.parametrize("device", DEVICES)
def test_compiled_training_step_without_a_graph_break(device):
    def loss(table, index, y):
        return gt.saxpy(0.5, gt.gather(table, index, mode="wrap") + 1, y).relu().sum()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for length in (20, 21, 22):  # from the second on, torch compiles for any length
        table = whole_numbers(30, 8, device=device).requires_grad_()
        index = torch.randint(-90, 90, (length,), device=device)
        y = whole_numbers(length, 8, device=device)
        expected = torch.autograd.grad(loss(table, index, y), table)
        assert torch.equal(torch.autograd.grad(compiled(table, index, y), table)[0], expected[0])
        assert compiled(table, index, y) == loss(table, index, y)


def test_a_module_trains():
    torch.manual_seed(0)
    table = torch.nn.Parameter(torch.randn(10, 4))
    target = torch.randn(20, 4)
    index = torch.randint(0, 10, (20,))
    optimizer = torch.optim.SGD([table], lr=0.5)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        error = gt.saxpy(-1, target, gt.gather(table, index)).square().mean()
        error.backward()
        optimizer.step()
        losses.append(error.item())
    assert losses[-1] < losses[0] / 1.2
    assert losses == sorted(losses, reverse=True)


def test_errors():
    source = torch.zeros(3, requires_grad=True)
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        gt.gather(source, torch.tensor([3]))
    with pytest.raises(IndexError, match="axis 1 is out of bounds"):
        gt.gather(source, torch.tensor([0]), axis=1)
    with pytest.raises(ValueError, match="mode must be"):
        gt.gather(source, torch.tensor([0]), mode="wraps")
    with pytest.raises(TypeError, match="must be of an integer dtype"):
        gt.gather(source, torch.tensor([0.5]))


def test_gradients_named_in_the_refusal():
    with pytest.raises(BufferError, match=r"use gpukern\.torch"):
        gpukern.gather(torch.zeros(3, requires_grad=True), [0])


def test_gpukern_does_not_import_torch():
    code = "import json, sys, gpukern; print(json.dumps('torch' in sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd="/")
    assert json.loads(run.stdout) is False


@pytest.mark.gpu
def test_cuda_graphs():
    table = whole_numbers(1000, 8, device="cuda")
    index = torch.zeros(50, dtype=torch.int64, device="cuda")
    y = whole_numbers(50, 8, device="cuda")
    gt.saxpy(0.5, gt.gather(table, index, mode="clip"), y)  # kernels are loaded at first use
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = gt.saxpy(0.5, gt.gather(table, index, mode="clip"), y)
    for _ in range(3):
        index.copy_(torch.randint(-100, 1100, (50,)))
        graph.replay()
        assert torch.equal(result, 0.5 * table[index.clamp(0, 999)] + y)
