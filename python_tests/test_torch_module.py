# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gpukern.torch: PyTorch's operators with gradients and for torch.compile."""

import itertools

import numpy as np
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


def scattered(target, index, values, axis, mode, reduce):
    """Scatter by gathers of PyTorch, which have gradients; the last value wins."""
    length = target.shape[axis]
    rows, written = target.movedim(axis, 0), values.broadcast_to(new_shape(target, index, axis))
    written = written.movedim(tuple(range(axis, axis + index.dim())), tuple(range(index.dim())))
    written = written.reshape(index.numel(), *rows.shape[1:])
    rows = list(rows)
    for i, value in zip(index.reshape(-1).tolist(), written, strict=True):
        if mode == "fill" and not -length <= i < length:
            continue
        i = min(max(i, 0), length - 1) if mode == "clip" else i % length
        rows[i] = rows[i] + value if reduce else value
    return torch.stack(rows).movedim(0, axis)


def new_shape(target, index, axis):
    return (*target.shape[:axis], *index.shape, *target.shape[axis + 1 :])


def same_gradients(ours, theirs, inputs):
    """Whether two results and their gradients are equal."""
    weight = whole_numbers(*ours.shape, device=ours.device)
    ours_of, theirs_of = (
        torch.autograd.grad((result * weight).sum(), inputs, materialize_grads=True)
        for result in (ours, theirs)
    )
    return torch.equal(ours, theirs) and all(map(torch.equal, ours_of, theirs_of))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("reduce", [None, "add"])
@pytest.mark.parametrize(("shape", "axis"), [((7,), 0), ((7, 3), 0), ((2, 7, 3), 1), ((2, 7), 1)])
@pytest.mark.parametrize("index_shape", [(), (9,), (3, 4)])
def test_scatter_and_its_gradients(device, mode, reduce, shape, axis, index_shape):
    target = whole_numbers(*shape, device=device).requires_grad_()
    index = random_index(index_shape, 7, mode, device)
    for values_shape in [new_shape(target, index, axis), ()]:
        values = whole_numbers(*values_shape, device=device).requires_grad_()
        ours = gt.scatter(target, index, values, axis=axis, mode=mode, reduce=reduce)
        theirs = scattered(target, index, values, axis, mode, reduce)
        assert same_gradients(ours, theirs, (target, values))
    assert torch.equal(
        gt.scatter(target, index, 2, axis=axis, mode=mode, reduce=reduce),
        scattered(target, index, torch.full_like(values, 2), axis, mode, reduce),
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("reduce", ["sum", "mean", "weighted"])
@pytest.mark.parametrize(("shape", "axis"), [((7,), 0), ((7, 3), 0), ((2, 7, 3), 1)])
def test_gather_reduce_and_its_gradients(device, mode, reduce, shape, axis):
    source = whole_numbers(*shape, device=device).requires_grad_()
    index = random_index((12,), 7, mode, device)
    offsets = torch.tensor([1, 3, 3, 7, 11], device=device)  # items before and after them
    weights = whole_numbers(12, device=device).requires_grad_() if reduce == "weighted" else None
    kind = "mean" if reduce == "mean" else "sum"
    ours = gt.gather_reduce(
        source, index, offsets, reduce=kind, weights=weights, axis=axis, mode=mode
    )
    rows = by_indexing(source, index, axis, mode).movedim(axis, 0)
    if weights is not None:
        rows = rows * weights.reshape(-1, *[1] * (rows.dim() - 1))
    known = torch.ones(12, device=device)
    if mode == "fill":
        known = ((index >= -7) & (index < 7)).float()
    bags = []
    for begin, end in itertools.pairwise(offsets):
        number = known[begin:end].sum().clamp(min=1) if reduce == "mean" else 1
        bags.append(rows[begin:end].sum(0) / number)
    theirs = torch.stack(bags).movedim(0, axis)
    inputs = (source,) if weights is None else (source, weights)
    weight = whole_numbers(*ours.shape, device=device)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(
        torch.autograd.grad((ours * weight).sum(), inputs),
        torch.autograd.grad((theirs * weight).sum(), inputs),
    )


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.uint64])
@pytest.mark.parametrize("device", DEVICES)
def test_gradients_by_every_index_dtype(device, dtype):
    source = whole_numbers(5, 2, device=device).requires_grad_()
    index = torch.tensor([4, 0, 4], device=device).to(dtype)
    gt.gather(source, index).sum().backward()
    assert source.grad[:, 0].tolist() == [1, 0, 0, 0, 2]


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_have_the_same_bits_in_every_run(device):
    source = torch.randn(50, 8, device=device, requires_grad=True)
    index = torch.randint(0, 50, (20000,), device=device)
    weight = torch.randn(20000, 8, device=device)
    first, *others = [
        torch.autograd.grad((gt.gather(source, index, mode=mode) * weight).sum(), source)[0]
        for mode in MODES
        for _ in range(5)
    ]
    assert all(torch.equal(first, other) for other in others)


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
    values = torch.randn(2, 2, 3, dtype=torch.float64, requires_grad=True)
    for reduce in (None, "add"):
        function = lambda *each: gt.scatter(each[0], index, each[1], reduce=reduce).sin()  # noqa: B023, E731
        assert torch.autograd.gradcheck(function, (source, values))
        assert torch.autograd.gradgradcheck(function, (source, values))
    table = torch.randn(4, 3, dtype=torch.complex128, requires_grad=True)
    weights = torch.randn(4, dtype=torch.complex128, requires_grad=True)
    offsets = torch.tensor([0, 3, 3, 4])
    function = lambda *each: gt.gather_reduce(  # noqa: E731
        each[0], index.reshape(-1), offsets, weights=each[1]
    ).sin()
    assert torch.autograd.gradcheck(function, (table, weights))
    assert torch.autograd.gradgradcheck(function, (table, weights))
    function = lambda each: gt.gather_reduce(  # noqa: E731
        each, index.reshape(-1), offsets, reduce="mean"
    ).sin()
    assert torch.autograd.gradcheck(function, source)
    x, y = torch.randn(2, 3, dtype=torch.complex128, requires_grad=True)
    function = lambda x, y: gt.saxpy(2 - 1j, x, y)  # noqa: E731
    assert torch.autograd.gradcheck(function, (x, y))
    assert torch.autograd.gradgradcheck(function, (x, y))


def test_scalars_and_flattened_sources():
    source = torch.tensor(3.0, requires_grad=True)
    gt.gather(source, torch.tensor([0, 0, -1])).sum().backward()
    assert source.grad == 3
    result = gt.scatter(source, torch.tensor([0, -1]), torch.tensor([1.0, 2.0]), reduce="add")
    assert result == 6
    assert gt.gather_reduce(source, torch.tensor([0, 0]), torch.tensor([0, 2])).tolist() == [6]
    matrix = torch.arange(6.0).reshape(2, 3).requires_grad_()
    flat = gt.scatter(matrix, torch.tensor([1, 5]), torch.tensor([7.0, 8.0]), axis=None)
    assert flat.tolist() == [[0, 7, 2], [3, 4, 8]]
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
    for arguments in [
        (table, index, table[:20].reshape(4, 5, 8)),
        (leaf, index + 90, leaf[0], 0, "fill", "add"),
    ]:
        torch.library.opcheck(torch.ops.gpukern.scatter.default, arguments)
    bags = torch.tensor([0, 3, 20], device=device)
    for arguments in [
        (table, index.reshape(-1), bags),
        (leaf, index[0], bags, leaf[:5, 0], 0, "wrap"),
    ]:
        torch.library.opcheck(torch.ops.gpukern.gather_reduce.default, arguments)
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


def test_a_number_is_written_without_a_graph_break():
    table, index = torch.zeros(4), torch.tensor([1, 3])
    write = torch.compile(
        lambda table: gt.scatter(table, index, 1.5), fullgraph=True, backend="aot_eager"
    )
    assert write(table).tolist() == [0, 1.5, 0, 1.5]


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


def test_bags_without_items_and_items_without_bags():
    for index, offsets in [([], [0, 0]), ([0, 1, 2], [0])]:
        index, offsets = torch.tensor(index, dtype=torch.int64), torch.tensor(offsets)
        for reduce, weights in [
            ("sum", torch.ones(len(index), requires_grad=True)),
            ("mean", None),
        ]:
            source = torch.ones(4, 3, requires_grad=True)
            gt.gather_reduce(
                source, index, offsets, reduce=reduce, weights=weights
            ).sum().backward()
            assert not source.grad.any()
            assert weights is None or weights.grad.tolist() == [0] * len(index)
    scalar = torch.tensor(3.0, requires_grad=True)
    gt.gather_reduce(scalar, torch.tensor([0, -1]), torch.tensor([0, 2]), reduce="mean").backward()
    assert scalar.grad == 1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_of_many_short_numbers_are_rounded_once(dtype):
    for items in (257, 70000):
        source = torch.ones(2, dtype=dtype, requires_grad=True)
        index = torch.ones(items, dtype=torch.int64)
        index[0] = 0
        gt.gather_reduce(source, index, torch.tensor([0, items]), reduce="mean").sum().backward()
        assert source.grad[0] == torch.tensor(1 / items).to(dtype)
    source = torch.tensor([[300, -300]], dtype=dtype)
    weights = torch.ones(1, dtype=dtype, requires_grad=True)
    bags = gt.gather_reduce(source, torch.tensor([0]), torch.tensor([0, 1]), weights=weights)
    (bags * 300).sum().backward()
    assert weights.grad == 0


def test_items_in_no_bag_have_no_part_in_gradients():
    source = torch.tensor([1.0, float("nan"), 3.0], requires_grad=True)
    weights = torch.tensor([1.0, float("inf"), float("nan")], requires_grad=True)
    offsets = torch.tensor([0, 1])
    gt.gather_reduce(source, torch.arange(3), offsets, weights=weights).sum().backward()
    assert source.grad.tolist() == weights.grad.tolist() == [1, 0, 0]
    source = torch.ones(3, requires_grad=True)
    offsets = torch.tensor([0, 2**63 + 5], dtype=torch.uint64)
    gt.gather_reduce(source, torch.tensor([0, 1]), offsets, mode="clip").sum().backward()
    assert source.grad.tolist() == [1, 1, 0]


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
    with pytest.raises(ValueError, match="scatter: reduce must be None or 'add', got 'max'"):
        gt.scatter(source, torch.tensor([0]), 1, reduce="max")
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        gt.scatter(source, torch.tensor([3]), 1)
    with pytest.raises(
        ValueError, match="gather_reduce: reduce must be 'sum' or 'mean', got 'max'"
    ):
        gt.gather_reduce(source, torch.tensor([0]), torch.tensor([0, 1]), reduce="max")
    with pytest.raises(TypeError, match=r"^gather_reduce: index must be a torch.Tensor, got list"):
        gt.gather_reduce(source, [0], torch.tensor([0, 1]))
    with pytest.raises(TypeError, match=r"^gather_reduce: offsets must be a torch.Tensor"):
        gt.gather_reduce(source, torch.tensor([0]), [0, 1])
    with pytest.raises(TypeError, match=r"^gather_reduce: weights must be a torch.Tensor"):
        gt.gather_reduce(source, torch.tensor([0]), torch.tensor([0, 1]), weights=[1.0])
    for shape in [(), (0,)]:
        with pytest.raises(ValueError, match="offsets must have one dimension"):
            gt.gather_reduce(source, torch.tensor([0]), torch.zeros(shape, dtype=torch.int64))
    with pytest.raises(TypeError, match=r"scatter: values must convert to torch.int64, got"):
        gt.scatter(torch.zeros(3, dtype=torch.int64), torch.tensor([0]), 2.5)
    with pytest.raises(ValueError, match="offsets must be in"):
        gt.gather_reduce(source, torch.tensor([0]), torch.tensor([0, 2]))


def test_errors_are_those_of_gpukern():
    source, index, offsets = torch.zeros(3), torch.tensor([0]), torch.tensor([0, 1])
    whole = torch.zeros(3, dtype=torch.int64)
    wrong = [
        lambda: gt.gather(source, torch.tensor([3])),
        lambda: gt.gather(source, index, axis=1),
        lambda: gt.gather([1.0], index),
        lambda: gt.scatter(source, index, 1, reduce="max"),
        lambda: gt.scatter(source, index, 1, axis=-2),
        lambda: gt.scatter(whole, index, 2.5),
        lambda: gt.scatter([1.0], index, 2),
        lambda: gt.gather_reduce(source, index, offsets, reduce="max"),
        lambda: gt.gather_reduce([1.0], index, offsets),
        lambda: gt.gather_reduce(source, [0], offsets),
        lambda: gt.gather_reduce(source, index, torch.tensor(0)),
        lambda: gt.gather_reduce(source, index, offsets, axis=1),
    ]
    for call in wrong:
        with pytest.raises(gpukern.GpukernError):
            call()
    with pytest.raises(np.exceptions.AxisError) as caught:
        gt.gather(source, index, axis=1)
    assert (caught.value.axis, caught.value.ndim) == (1, 1)


def test_gradients_named_in_the_refusal():
    with pytest.raises(BufferError, match=r"use gpukern\.torch"):
        gpukern.gather(torch.zeros(3, requires_grad=True), [0])


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
