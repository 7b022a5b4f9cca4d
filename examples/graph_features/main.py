# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Sums of the features of all neighbours in a graph, over several hops: gather, then scatter.

An edge (a, b) carries the features of node a to node b. Each sum is taken in the order of the
edges, so that the result has the bits of a plain loop, on a GPU too, in every run.
"""

import sys

import numpy as np

import gpukern

try:
    import torch
except ImportError:
    torch = None

HOPS, NODES, EDGES, FEATURES = 3, 500, 4000, 16


def aggregate(features, start, end, zeros):
    """Return the features after each hop; any array library of gpukern serves."""
    hops = []
    for _ in range(HOPS):
        messages = gpukern.gather(features, start)
        features = gpukern.scatter(zeros(features), end, messages, reduce="add")
        hops.append(features)
    return hops


def aggregate_by_a_loop(features, start, end):
    """Return the same, by a loop over the edges."""
    hops = []
    for _ in range(HOPS):
        sums = np.zeros_like(features)
        for a, b in zip(start, end, strict=True):
            sums[b] += features[a]
        features = sums
        hops.append(features)
    return hops


def check(what, hops, expected):
    """Compare all bits."""
    for ours, theirs in zip(hops, expected, strict=True):
        if ours.tobytes() != theirs.tobytes():
            sys.exit(f"graph_features: {what}: wrong result")
    print(f"  {what}: {HOPS} hops over {EDGES} edges have the bits of a plain loop")


def main():
    """Aggregate NumPy arrays, and tensors of PyTorch if it is installed."""
    random = np.random.default_rng(1)
    features = random.standard_normal((NODES, FEATURES), np.float32)
    start, end = random.integers(0, NODES, (2, EDGES))
    expected = aggregate_by_a_loop(features, start, end)
    print("CPU:")
    check("NumPy", aggregate(features, start, end, np.zeros_like), expected)
    devices = gpukern.info()["devices"]
    if devices:
        print(f"GPU 0, {devices[0]['name']}:")
        arrays = map(gpukern.to_device, (features, start, end))
        hops = aggregate(*arrays, lambda like: gpukern.to_device(np.zeros_like(features)))
        check("device arrays", [each.numpy() for each in hops], expected)
    if torch is not None:
        on = "cuda" if devices and torch.cuda.is_available() else "cpu"
        tensors = (torch.from_numpy(each).to(on) for each in (features, start, end))
        hops = aggregate(*tensors, torch.zeros_like)
        check(f"torch, {on}", [each.cpu().numpy() for each in hops], expected)


if __name__ == "__main__":
    main()
