# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Train an embedding with gpukern.torch, compiled by torch.compile without a graph break.

Each word of a small vocabulary has a vector; the mean of the vectors of a sentence is to be a given
one. Runs on the first GPU, or on the CPU without a GPU.
"""

import sys

import gpukern

try:
    import torch
except ImportError:
    print("skipped: torch is not installed")
    sys.exit(0)

import gpukern.torch  # its operators; gpukern itself does not import torch


class Sentences(torch.nn.Module):
    """The mean of the vectors of each sentence's words, and an offset."""

    def __init__(self, words, width):
        super().__init__()
        self.table = torch.nn.Parameter(torch.zeros(words, width))
        self.offset = torch.nn.Parameter(torch.zeros(width))

    def forward(self, sentences):
        """Return a vector for each row of word numbers, of which -1 is the last word's."""
        vectors = gpukern.torch.gather(self.table, sentences)
        mean = vectors.sum(1)
        return gpukern.torch.saxpy(1 / sentences.shape[1], mean, self.offset.expand_as(mean))


def train(model, sentences, targets, steps):
    """Return the losses of some steps of gradient descent."""
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(compiled(sentences), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    """Train on the first GPU, or on the CPU."""
    torch.manual_seed(0)
    print(f"gpukern {gpukern.__version__} with torch {torch.__version__}")
    on_gpu = torch.cuda.is_available() and gpukern.info()["devices"]
    device = "cuda" if on_gpu else "cpu"
    print(f"GPU 0, {torch.cuda.get_device_name()}:" if on_gpu else "CPU:")
    sentences = torch.randint(-1, 200, (50, 8), device=device)
    targets = torch.randn(50, 16, device=device)
    losses = train(Sentences(201, 16).to(device), sentences, targets, steps=50)
    print(f"  loss: {losses[0]:.3f} at first, {losses[-1]:.3f} after {len(losses)} steps")
    if losses[-1] > losses[0] / 10:
        raise SystemExit("torch_autograd: the loss did not fall")


if __name__ == "__main__":
    main()
