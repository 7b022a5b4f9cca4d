# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Make PyTorch operators of gather and scatter, and train an embedding with those of gpukern.torch.

The gradient of gather is a scatter that adds, and that of such a scatter a gather: gradcheck
compares them with finite differences. gpukern.torch has these operators with more options.

The training is compiled by torch.compile without a graph break. Each word of a small vocabulary has
a vector; the mean of the vectors of a sentence is to be a given one. Trains twice: sums have a
fixed order, so that the results have the same bits. Runs on the first GPU, or on the CPU without a
GPU.
"""

import sys

import gpukern

try:
    import torch
except ImportError:
    print("skipped: torch is not installed")
    sys.exit(0)

import gpukern.torch  # its operators; gpukern itself does not import torch


@torch.library.custom_op("example::gather", mutates_args=())
def gather(source: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Return rows of a table."""
    return gpukern.gather(source.detach(), index)


@gather.register_fake
def _(source, index):
    return source.new_empty([*index.shape, *source.shape[1:]])


@torch.library.custom_op("example::scatter_add", mutates_args=())
def scatter_add(target: torch.Tensor, index: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Return a copy of a table, with values added to its rows."""
    out = target.new_empty(target.shape)
    return gpukern.scatter(target.detach(), index, values.detach(), reduce="add", out=out)


@scatter_add.register_fake
def _(target, index, values):
    return target.new_empty(target.shape)


def keep_index(ctx, inputs, output):
    """Keep what both gradients need."""
    table, index = inputs[:2]
    ctx.shape = table.shape
    ctx.save_for_backward(index)


def gather_backward(ctx, grad):
    """Add the gradients of the rows."""
    (index,) = ctx.saved_tensors
    return scatter_add(grad.new_zeros(ctx.shape), index, grad), None


def scatter_add_backward(ctx, grad):
    """Give each value the gradient of its row."""
    (index,) = ctx.saved_tensors
    return grad, None, gather(grad, index)


gather.register_autograd(gather_backward, setup_context=keep_index)
scatter_add.register_autograd(scatter_add_backward, setup_context=keep_index)


def check_gradients(device):
    """Compare first and second derivatives with finite differences; some rows repeat."""
    table = torch.randn(5, 3, dtype=torch.float64, device=device, requires_grad=True)
    values = torch.randn(2, 4, 3, dtype=torch.float64, device=device, requires_grad=True)
    index = torch.tensor([[0, 3, 3, -1], [2, 0, 3, 0]], device=device)
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        check(gather, (table, index))
        check(scatter_add, (table, index, values))


class Sentences(torch.nn.Module):
    """The mean of the vectors of each sentence's words, and an offset."""

    def __init__(self, words, width):
        super().__init__()
        self.table = torch.nn.Parameter(torch.zeros(words, width))
        self.offset = torch.nn.Parameter(torch.zeros(width))

    def forward(self, words, begins):
        """Return a vector for each sentence, words[begins[s]:begins[s + 1]]."""
        mean = gpukern.torch.gather_reduce(self.table, words, begins, reduce="mean")
        return gpukern.torch.saxpy(1, mean, self.offset.expand_as(mean))


def train(model, words, begins, targets, steps):
    """Return the losses of some steps of gradient descent, and the trained vectors."""
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(compiled(words, begins), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model.table.detach()


def main():
    """Train on the first GPU, or on the CPU."""
    torch.manual_seed(0)
    print(f"gpukern {gpukern.__version__} with torch {torch.__version__}")
    on_gpu = torch.cuda.is_available() and gpukern.info()["devices"]
    device = "cuda" if on_gpu else "cpu"
    print(f"GPU 0, {torch.cuda.get_device_name()}:" if on_gpu else "CPU:")
    check_gradients(device)
    print("  gather and scatter: the gradients are right")
    lengths = torch.randint(1, 15, (50,), device=device)
    begins = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    words = torch.randint(-1, 200, (int(begins[-1]),), device=device)
    targets = torch.randn(50, 16, device=device)
    runs = [
        train(Sentences(201, 16).to(device), words, begins, targets, steps=50) for _ in range(2)
    ]
    losses, vectors = runs[0]
    print(f"  loss: {losses[0]:.3f} at first, {losses[-1]:.3f} after {len(losses)} steps")
    if losses[-1] > losses[0] / 10:
        raise SystemExit("torch_autograd: the loss did not fall")
    if not torch.equal(vectors, runs[1][1]):
        raise SystemExit("torch_autograd: the second training gave other bits")
    print("  trained twice: the same bits")


if __name__ == "__main__":
    main()
