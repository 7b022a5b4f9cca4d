# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather and saxpy as PyTorch custom operators, tested with opcheck and torch.compile.

Runs on the first GPU, or on CPU tensors without a GPU. The results come from PyTorch's allocator,
on its current stream, so the operators can be captured into a CUDA graph (gather in the modes
wrap, clip and fill; raise waits for the stream).

The operators have no gradient. To add one, register a formula:

    torch.library.register_autograd("gpukern_example::saxpy", backward, setup_context=save_a)

where ``backward(context, grad)`` returns ``None, context.a * grad, grad`` for (a, x, y). That of
gather is ``torch.zeros(shape_of_source).index_add(axis, index, grad)`` for a 1-d index in range.
"""

import sys

import gpukern

try:
    import torch
    from torch import Tensor
except ImportError:
    print("skipped: torch is not installed")
    sys.exit(0)


def new_gathered(source: Tensor, index: Tensor, axis: int) -> Tensor:
    """Allocate the result of gather, for real and for traced tensors."""
    axis %= source.dim()
    return source.new_empty([*source.shape[:axis], *index.shape, *source.shape[axis + 1 :]])


@torch.library.custom_op("gpukern_example::gather", mutates_args=())
def gather(source: Tensor, index: Tensor, axis: int = 0, mode: str = "raise") -> Tensor:
    """Take items along an axis; as gpukern.gather."""
    out = new_gathered(source, index, axis)
    # gpukern does not accept tensors that require gradients. PyTorch records this operator, and a
    # backward pass through it is an error until a formula is registered.
    gpukern.gather(source.detach(), index, axis=axis, mode=mode, out=out)
    return out


@gather.register_fake
def _(source: Tensor, index: Tensor, axis: int = 0, mode: str = "raise") -> Tensor:
    return new_gathered(source, index, axis)


@torch.library.custom_op("gpukern_example::saxpy", mutates_args=())
def saxpy(a: float, x: Tensor, y: Tensor) -> Tensor:
    """Compute a * x + y, rounded once; as gpukern.saxpy."""
    out = x.new_empty(x.shape)
    gpukern.saxpy(a, x.detach(), y.detach(), out=out)
    return out


@saxpy.register_fake
def _(a: float, x: Tensor, y: Tensor) -> Tensor:
    return x.new_empty(x.shape)


def expect(result, expected, what):
    """Stop the program unless the tensors are equal, bit for bit."""
    torch.testing.assert_close(result, expected, rtol=0, atol=0, msg=what)
    print(f"  {what}: right")


def whole_numbers(*shape, device, high=100):
    """Random float32 whose sums and halves are exact."""
    return torch.randint(-high, high, shape, device=device).float()


def check_operators(device):
    """Compare both with PyTorch, and test them by its rules for operators."""
    table = whole_numbers(1000, 8, device=device)
    index = torch.randint(-1000, 1000, (4, 50), device=device)
    x, y = whole_numbers(2, 6, 7, device=device)
    expect(gather(table, index), table[index], "gather of rows")
    expect(gather(table.t(), index, axis=-1), table.t()[:, index], "gather of strided columns")
    expect(saxpy(0.5, x, y), 0.5 * x + y, "saxpy")
    weights = x.clone().requires_grad_()
    expect(saxpy(0.5, weights, y).detach(), 0.5 * x + y, "saxpy of a tensor with gradients")
    try:
        gather(table, index + 2000)
    except IndexError as error:
        print(f"  gather refused: {error}")
    else:
        raise SystemExit("gather: an index from 1000 on was not refused")

    for arguments in [(table, index), (table.t(), index, -1), (table, index + 2000, 0, "clip")]:
        torch.library.opcheck(gather, arguments)
    for arguments in [(0.5, x, y), (2.0, x.t(), y.t())]:
        torch.library.opcheck(saxpy, arguments)
    print("  opcheck: passed")


def check_compile(device):
    """Use both in a compiled function, without a graph break."""

    def blend(table, index, y):
        return saxpy(0.5, gather(table, index, mode="wrap") + 1, y).relu()

    compiled = torch.compile(blend, fullgraph=True)
    for length in (50, 51, 52):  # from the second on, torch compiles for any length
        table = whole_numbers(1000, 8, device=device)
        index = torch.randint(-3000, 3000, (length,), device=device)
        y = whole_numbers(length, 8, device=device)
        expected = (0.5 * (table[index % 1000] + 1) + y).relu()
        expect(compiled(table, index, y), expected, f"torch.compile, {length} rows")


def check_cuda_graph(device):
    """Capture both, then replay with new data in the same tensors."""
    table = whole_numbers(1000, 8, device=device)
    index = torch.zeros(50, dtype=torch.int64, device=device)
    y = whole_numbers(50, 8, device=device)
    saxpy(0.5, gather(table, index, mode="clip"), y)  # kernels are loaded at first use
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = saxpy(0.5, gather(table, index, mode="clip"), y)
    for _ in range(3):
        index.copy_(torch.randint(-100, 1100, (50,)))
        table.copy_(whole_numbers(1000, 8, device=device))
        graph.replay()
        expect(result, 0.5 * table[index.clamp(0, 999)] + y, "replayed CUDA graph")


def main():
    """Run everything on the first GPU, or on the CPU."""
    print(f"gpukern {gpukern.__version__} with torch {torch.__version__}")
    on_gpu = torch.cuda.is_available() and gpukern.info()["devices"]
    device = "cuda" if on_gpu else "cpu"
    print(f"GPU 0, {torch.cuda.get_device_name()}:" if on_gpu else "CPU:")
    check_operators(device)
    check_compile(device)
    if on_gpu:
        check_cuda_graph(device)


if __name__ == "__main__":
    main()
