# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Measures saxpy of operands in many layouts, beside ``torch.add`` on a GPU or NumPy on the CPU.

``python -m benchmarks.layouts`` uses the GPU if there is one; ``--cpu`` measures new results of
NumPy arrays on one core. The bytes are those of the elements that x, y and out hold, each once.
``--copies`` measures copyto instead, beside ``copy_`` of tensors or ``numpy.copyto``.
"""

import argparse
import math
import statistics
import time

import numpy as np

import gpukern

SIDE = 16384  # of square arrays on a GPU
HOST_SIDE = 1024


def layouts(make, n):
    """Return pairs of x and y by name; ``make`` gives an array of a shape."""
    k = n // 64
    return {
        "contiguous": lambda: (make(n, n), make(n, n)),
        "one element": lambda: (broadcast(make(1), (n * n,)), make(n * n)),
        "row broadcast": lambda: (broadcast(make(n), (n, n)), make(n, n)),
        "column broadcast": lambda: (broadcast(make(n, 1), (n, n)), make(n, n)),
        "transposed x": lambda: (make(n, n).T, make(n, n)),
        "both transposed": lambda: (make(n, n).T, make(n, n).T),
        "rows of a wider array": lambda: (make(n, n + 64)[:, :n], make(n, n)),
        "the same, of odd width": lambda: (make(n, n + 1)[:, :n], make(n, n)),
        "channels last": lambda: (permuted(make(n, n // 16, 4), 2, 0, 1), make(4, n, n // 16)),
        "permuted": lambda: (permuted(make(k, k, n), 1, 2, 0), make(k, n, k)),
        "every second": lambda: (make(2 * n * n)[::2], make(n * n)),
        "odd size, transposed": lambda: (make(n - 1, n - 3).T, make(n - 3, n - 1)),
    }


def host_layouts(make, n):
    """Return those that only NumPy has."""
    misaligned = np.zeros(4 * n * n + 1, np.uint8)[1:].view(np.float32)
    return {
        "reversed": lambda: (make(n * n)[::-1], make(n * n)),
        "misaligned": lambda: (misaligned, make(n * n)),
        "two columns": lambda: (make(n * n, 2)[:, 0], make(n * n, 2)[:, 1]),
    }


def copies(make, n):
    """Return pairs of a destination and a source by name."""
    k = n // 4
    return {
        "contiguous": lambda: (make(n, n), make(n, n)),
        "Fortran order to Fortran order": lambda: (make(n, n).T, make(n, n).T),
        "transposed": lambda: (make(n, n), make(n, n).T),
        "transposed, odd size": lambda: (make(n - 1, n - 3), make(n - 3, n - 1).T),
        "into rows of a wider array": lambda: (make(n, n + 3)[:, :n], make(n, n)),
        "channels last to first, 4": lambda: (make(4, n, k), permuted(make(n, k, 4), 2, 0, 1)),
        "the same, 3": lambda: (make(3, n, k), permuted(make(n, k, 3), 2, 0, 1)),
        "channels first to last, 3": lambda: (make(n, k, 3), permuted(make(3, n, k), 1, 2, 0)),
        "every second": lambda: (make(n * n // 2), make(n * n)[::2]),
        "into every second": lambda: (make(n * n)[::2], make(n * n // 2)),
        "column broadcast": lambda: (make(n, n), broadcast(make(n, 1), (n, n))),
        "row broadcast": lambda: (make(n, n), broadcast(make(n), (n, n))),
    }


def broadcast(array, shape):
    """Repeat an array without a copy."""
    if isinstance(array, np.ndarray):
        return np.broadcast_to(array, shape)
    return array.expand(shape)


def permuted(array, *axes):
    """Permute the axes of an array without a copy."""
    return array.transpose(axes) if isinstance(array, np.ndarray) else array.permute(axes)


def element_count(array):
    """Return the number of elements in memory."""
    strides = array.strides if isinstance(array, np.ndarray) else array.stride()
    return np.prod([n for n, stride in zip(array.shape, strides, strict=True) if stride])


def host_seconds(call):
    """Return the shortest time of a call in several batches."""
    calls, times = 1, []
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls)
        if times[-1] * calls > 2e-3 and len(times) > 10:
            return min(times)
        if times[-1] * calls < 2e-3:
            calls *= 4


def device_seconds(call, batches=7, calls=20, ahead=0):
    """Return the median time of a call on the GPU, of batches.

    Before each batch the GPU is busy for ``ahead`` cycles, in which the host enqueues the calls.
    """
    import torch

    call()
    times = []
    for _ in range(batches):
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        if ahead:
            torch.cuda._sleep(ahead)
        events[0].record()
        for _ in range(calls):
            call()
        events[1].record()
        torch.cuda.synchronize()
        times.append(events[0].elapsed_time(events[1]) / calls * 1e-3)
    return statistics.median(times)


def measure_on_device(side):
    """Print a line for each layout and dtype of CUDA tensors."""
    import torch

    source, copied = (torch.zeros(side * side, device="cuda") for _ in range(2))
    copy_rate = 8 * side * side / device_seconds(lambda: copied.copy_(source))
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, gpukern "
          f"{gpukern.__version__}, copy {copy_rate * 1e-9:.0f} GB/s")  # fmt: skip
    print("| dtype | layout | GB/s | of copy | of torch |\n|---|---|---:|---:|---:|")
    for dtype in (torch.float32, torch.float16, torch.float64):
        n = side // 2 if dtype == torch.float64 else side

        def make(*shape, dtype=dtype):
            return torch.randn(shape, device="cuda").to(dtype)

        for name, pair in layouts(make, n).items():
            x, y = pair()
            out = torch.empty(x.shape, dtype=dtype, device="cuda")
            peer = device_seconds(lambda: torch.add(y, x, alpha=2, out=out))  # noqa: B023
            expected = out.clone()
            out.zero_()  # the peer's result would pass for gpukern's
            ours = device_seconds(lambda: gpukern.saxpy(2.0, x, y, out=out))  # noqa: B023
            torch.testing.assert_close(out, expected)
            elements = element_count(x) + element_count(y) + x.numel()
            rate = elements * dtype.itemsize / ours
            print(f"| {str(dtype)[6:]} | {name} | {rate * 1e-9:.0f} | {rate / copy_rate:.2f} "
                  f"| {peer / ours:.2f} |", flush=True)  # fmt: skip


def measure_on_host(side):
    """Print a line for each layout of NumPy arrays of float32."""
    rng = np.random.default_rng(1)

    def make(*shape):
        return rng.random(shape, dtype=np.float32)

    print(f"NumPy {np.__version__}, gpukern {gpukern.__version__}, one thread, float32")
    print("| layout | ns an element | of NumPy |\n|---|---:|---:|")
    threads = gpukern.get_num_threads()
    gpukern.set_num_threads(1)
    try:
        for name, pair in {**layouts(make, side), **host_layouts(make, side)}.items():
            x, y = pair()
            assert np.allclose(gpukern.saxpy(2.0, x, y), np.float32(2) * x + y)
            peer = host_seconds(lambda: np.float32(2) * x + y)  # noqa: B023
            ours = host_seconds(lambda: gpukern.saxpy(2.0, x, y))  # noqa: B023
            print(f"| {name} | {ours * 1e9 / x.size:.2f} | {peer / ours:.2f} |", flush=True)
    finally:
        gpukern.set_num_threads(threads)


def measure_copies(side, on_host):
    """Print a line for each layout and size of an element."""
    if not on_host:
        import torch
    seconds = host_seconds if on_host else device_seconds
    print("| bytes | layout | GB/s | of the peer |\n|---:|---|---:|---:|")
    for size in (1, 2, 4, 8):
        n = side // 2 if size == 8 else side

        def make(*shape, size=size):
            if on_host:
                return np.arange(math.prod(shape)).astype(f"i{size}").reshape(shape)
            dtype = getattr(torch, f"int{8 * size}")
            return torch.arange(math.prod(shape), device="cuda").to(dtype).view(shape)

        for name, pair in copies(make, n).items():
            out, x = pair()
            out[...] = 0  # some destinations would equal their sources before the copy
            ours = seconds(lambda: gpukern.copyto(out, x))  # noqa: B023
            assert (out == x).all()
            copy = (lambda: np.copyto(out, x)) if on_host else (lambda: out.copy_(x))  # noqa: B023
            moved = (element_count(out) + element_count(x)) * size
            print(f"| {size} | {name} | {moved / ours * 1e-9:.1f} | {seconds(copy) / ours:.2f} |",
                  flush=True)  # fmt: skip


def main(argv=None):
    """Measure on the GPU, or on the CPU."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpu", action="store_true", help="NumPy arrays on one core")
    parser.add_argument("--copies", action="store_true", help="copyto in place of saxpy")
    parser.add_argument("--side", type=int, help="the side of square arrays")
    arguments = parser.parse_args(argv)
    on_host = arguments.cpu or not gpukern.info()["devices"]
    if arguments.copies:
        measure_copies(arguments.side or (4 * HOST_SIDE if on_host else SIDE), on_host)
    elif on_host:
        measure_on_host(arguments.side or HOST_SIDE)
    else:
        measure_on_device(arguments.side or SIDE)


if __name__ == "__main__":
    main()
