# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Kernels on streams and in CUDA graphs, with arrays of each library."""

import numpy as np
import pytest

import gpukern

pytestmark = pytest.mark.gpu

# Slow enough that a launch out of order would be seen.
SOURCE = """
extern "C" __global__ void step(float *x, float a, float b, int n) {
  long long start = clock64();
  while (clock64() - start < 200000) {}
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = a * x[i] + b;
}
extern "C" __global__ void early(float *x, int n) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
#endif
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = i < n ? x[i] : 0;
  long long start = clock64();
  while (clock64() - start < 20000) {}
  if (i < n) x[i] = value + 1;
}
namespace typed {
__global__ void copy(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
}
"""
SIZE = 4096


@pytest.fixture(scope="module")
def program():
    return gpukern.Program(SOURCE)


@pytest.fixture(scope="module")
def step(program):
    return program.kernel("step")


def test_device_arrays_follow_each_other(step):
    torch = pytest.importorskip("torch")
    streams = [torch.cuda.Stream() for _ in range(4)]
    x = gpukern.to_device(np.zeros(SIZE, np.float32))
    expected = 0
    for turn in range(40):
        step.for_size(SIZE, 256, stream=streams[turn % 4])(x, 2 if turn < 8 else 1, 1, SIZE)
        expected = expected * (2 if turn < 8 else 1) + 1
    assert (x.numpy() == expected).all()


def test_overlapping_kernels_wait_for_the_previous_one(program, step):
    early, x = program.kernel("early"), gpukern.to_device(np.zeros(SIZE, np.float32))
    for _ in range(20):
        early.launch(16, 256, x, SIZE, programmatic_launch=True)
        early.launch(16, 256, x, SIZE, programmatic_launch=True)
        step.for_size(SIZE, 256)(x, 1, 1, SIZE)
        early.launch(16, 256, x, SIZE, programmatic_launch=True)
    assert (x.numpy() == 80).all()


def test_code_for_older_gpus_does_not_come_early():
    """It has no way to wait."""
    older = gpukern.Program(SOURCE, architecture="compute_80").kernel("early")
    x, ones = (gpukern.to_device(np.full(SIZE, value, np.float32)) for value in (0, 1))
    for _ in range(20):
        gpukern.saxpy(1, x, ones, out=x)
        older.launch(16, 256, x, SIZE, programmatic_launch=True)
        older.launch(16, 256, x, SIZE, programmatic_launch=True)
    assert (x.numpy() == 60).all()


def test_elementwise_functions_wait_for_the_previous_one():
    add = gpukern.elementwise("a + b")
    many = gpukern.to_device(np.zeros(2**22, np.float32))
    few, total = (gpukern.to_device(np.zeros(100, np.float32)) for _ in range(2))
    last = gpukern.to_device(np.arange(2**22 - 100, 2**22))
    for _ in range(100):
        add(many, np.float32(1), out=many)
        gpukern.gather(many, last, mode="clip", out=few)
        add(total, few, out=total)
    assert (total.numpy() == 100 * 101 / 2).all()


def test_torch_tensors_run_on_the_current_stream(step):
    torch = pytest.importorskip("torch")
    side, given = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(side):
        x = torch.zeros(SIZE, device="cuda")
        for _ in range(10):
            step.for_size(SIZE)(x, 1, 1, SIZE)
            x.mul_(2)
            step.for_size(SIZE, stream=given)(x, 1, 1, SIZE)
        assert (x == sum(3 * 2**turn for turn in range(10))).all().item()


def test_cupy_arrays_run_on_the_current_stream(step):
    cupy = pytest.importorskip("cupy")
    given = cupy.cuda.Stream(non_blocking=True)
    with cupy.cuda.Stream(non_blocking=True):
        x = cupy.zeros(SIZE, np.float32)
        for _ in range(10):
            step.for_size(SIZE)(x, 1, 1, SIZE)
            x *= 2
            step.for_size(SIZE, stream=given)(x, 1, 1, SIZE)
        assert (x.get() == sum(3 * 2**turn for turn in range(10))).all()


def test_torch_is_told_of_writes():
    torch = pytest.importorskip("torch")
    copy = gpukern.Program(SOURCE).kernel("typed::copy")
    x, y = torch.ones(3, device="cuda"), torch.zeros(3, device="cuda")
    copy[1, 32](x, y, 3)
    assert (x._version, y._version) == (0, 1)
    with pytest.raises(BufferError, match=r"^typed::copy: argument 1 requires gradients"):
        copy[1, 32](x, torch.zeros(3, device="cuda", requires_grad=True), 3)


def test_torch_graphs(step):
    torch = pytest.importorskip("torch")
    x = torch.zeros(SIZE, device="cuda")
    step.for_size(SIZE)(x, 0, 1, SIZE)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(3):
            step.for_size(SIZE)(x, 2, 1, SIZE)
    assert (x == 1).all().item()
    for _ in range(2):
        graph.replay()
    assert (x == 127).all().item()


def test_cupy_graphs(step):
    cupy = pytest.importorskip("cupy")
    stream = cupy.cuda.Stream(non_blocking=True)
    x = cupy.ones(SIZE, np.float32)
    own = gpukern.to_device(np.ones(SIZE, np.float32))
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        step.for_size(SIZE)(x, 2, 1, SIZE)
        step.for_size(SIZE, stream=stream)(own, 2, 1, SIZE)
        with pytest.raises(ValueError, match="captures a CUDA graph"):
            step.for_size(SIZE, stream=stream)(gpukern.InOut(np.ones(SIZE, "f4")), 2, 1, SIZE)
        graph = stream.end_capture()
    for _ in range(3):
        graph.launch(stream=stream)
    stream.synchronize()
    assert (x.get() == 15).all()
    assert (own.numpy() == 15).all()


def test_many_threads(step):
    from concurrent.futures import ThreadPoolExecutor

    def work(seed):
        x = gpukern.to_device(np.full(SIZE, seed, np.float32))
        for _ in range(20):
            step.for_size(SIZE, stream=2)(x, 1, 1, SIZE)
        return (x.numpy() == seed + 20).all()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))
