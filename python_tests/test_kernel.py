# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Kernels on a GPU: arguments of every kind, wrong ones, host arrays, launches."""

import ml_dtypes
import numpy as np
import pytest
from libraries import opened

import gpukern
from gpukern import In, InOut, Out

pytestmark = pytest.mark.gpu

SOURCE = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
struct Pair { int a; float b; };
extern "C" __global__ void saxpy(float a, const float *x, const float *y, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i] + y[i];
}
namespace typed {
__global__ void saxpy(float a, const float *x, const float *y, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i] + y[i];
}
__global__ void values(double *out, bool b, signed char c, unsigned short s, int i,
                       unsigned long long u, float f, double d, __half h, __nv_bfloat16 g, Pair p,
                       float2 z, const int *null) {
  double found[] = {(double)b, (double)c, (double)s, (double)i, (double)u, f, d, __half2float(h),
                    __bfloat162float(g), (double)p.a, p.b, z.x, z.y, (double)(null == nullptr)};
  for (int k = 0; k < 14; ++k) out[k] = found[k];
}
}
template <class T> __global__ void scale(T *x, T a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= a;
}
extern "C" __global__ void nothing() {}
extern "C" __global__ void shape(int *out) {
  if (threadIdx.x + threadIdx.y + threadIdx.z + blockIdx.x + blockIdx.y + blockIdx.z == 0) {
    out[0] = gridDim.x; out[1] = gridDim.y; out[2] = gridDim.z;
    out[3] = blockDim.x; out[4] = blockDim.y; out[5] = blockDim.z;
  }
}
extern "C" __global__ void shared(int *out, int n) {
  extern __shared__ int memory[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) memory[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) out[0] = memory[n - 1];
}
struct Padded { signed char a; double b; };
extern "C" __global__ void add_one(Padded *x, int n) {
  for (int i = 0; i < n; ++i) x[i].b += 1;
}
struct Many { int values[20]; };
extern "C" __global__ void many(int *out, Many a, Many b, Many c, int d) {
  out[0] = a.values[19] + b.values[0] + c.values[19] + d;
}
"""
INSTANCES = ("scale<float>", "scale<double>", "scale<int>", "scale<unsigned>")
SIZE = 1000


@pytest.fixture(scope="module")
def program():
    return gpukern.Program(SOURCE, name_expressions=INSTANCES)


@pytest.fixture(params=["saxpy", "typed::saxpy"])
def saxpy(program, request):
    return program.kernel(request.param)


@pytest.fixture
def xy(rng):
    # Whole numbers: exact in every step.
    return rng.integers(-1000, 1000, (2, SIZE)).astype(np.float32)


@pytest.mark.parametrize("library", ["torch", "cupy", "numba", "gpukern"])
@pytest.mark.parametrize("a", [3, 3.0, np.float32(3)])
def test_arrays_of_every_library(saxpy, xy, library, a):
    kind = opened(library)
    x, y, out = kind.put(xy[0]), kind.put(xy[1]), kind.put(np.zeros_like(xy[0]))
    saxpy.for_size(SIZE)(a, x, y, out, SIZE)
    np.testing.assert_array_equal(kind.take(out), 3 * xy[0] + xy[1])


@pytest.mark.parametrize("library", ["torch", "cupy", "numba", "jax", "gpukern"])
def test_arrays_of_mixed_libraries(saxpy, xy, library):
    x, y = opened(library).put(xy[0]), gpukern.to_device(xy[1])
    out = gpukern.to_device(np.zeros_like(xy[0]))
    for first, second in ((x, y), (y, x)):
        saxpy.for_size(SIZE)(np.float32(1), first, second, out, SIZE)
        np.testing.assert_array_equal(out.numpy(), xy[0] + xy[1])


def test_values_of_every_type(program):
    out = gpukern.empty(14, np.float64)
    pair = np.array((7, 0.5), [("a", "i4"), ("b", "f4")])[()]
    values = [True, -100, 65535, -(2**31), 2**63, 0.5, 1 / 3, 1.5, 2.5, pair, 3 - 4j, None]
    expected = [1, -100, 65535, -(2**31), 2**63, 0.5, 1 / 3, 1.5, 2.5, 7, 0.5, 3, -4, 1]
    kernel = program.kernel("typed::values")
    kernel[1, 1](out, *values)
    np.testing.assert_array_equal(out.numpy(), expected)
    kinds = [np.bool_, np.int8, np.uint16, np.int32, np.uint64, np.float32, np.float64]
    kinds += [np.float16, ml_dtypes.bfloat16, lambda pair: pair.tobytes(), np.complex64]
    scalars = [kind(value) for kind, value in zip(kinds, values[:-1], strict=True)]
    out = gpukern.empty(14, np.float64)
    kernel[1, 1](out, *scalars, np.uintp(0))
    np.testing.assert_array_equal(out.numpy(), expected)


@pytest.mark.parametrize("name", INSTANCES)
def test_template_instances(program, name):
    dtype = {"unsigned": "uint32", "float": "float32", "double": "float64", "int": "int32"}[
        name[6:-1]
    ]
    x = gpukern.to_device(np.arange(SIZE, dtype=dtype))
    program.kernel(name).for_size(SIZE, 128)(x, 3, SIZE)
    np.testing.assert_array_equal(x.numpy(), 3 * np.arange(SIZE, dtype=dtype), strict=True)


def test_many_and_large_arguments(program):
    out = gpukern.empty(1, np.int32)
    numbers = np.arange(20, dtype=np.int32).tobytes()
    program.kernel("many")[1, 1](out, numbers, numbers, numbers, 4)
    assert out.numpy()[0] == 19 + 0 + 19 + 4


def test_shapes_of_a_launch(program):
    kernel, out = program.kernel("shape"), gpukern.empty(6, np.int32)
    for grid, block, expected in [
        (2, 64, (2, 1, 1, 64, 1, 1)),
        ((2, 3), (8, 4), (2, 3, 1, 8, 4, 1)),
        ([2, 3, 4], np.array([2, 3, 4]), (2, 3, 4, 2, 3, 4)),
        (np.int64(2), np.array(32), (2, 1, 1, 32, 1, 1)),
    ]:
        kernel[grid, block](out)
        assert tuple(out.numpy()) == expected
        kernel.launch(grid, block, out)
        assert tuple(out.numpy()) == expected
        assert kernel[grid, block].grid + kernel[grid, block].block == expected
    assert kernel.for_size(1000, 256).grid == (4, 1, 1)
    assert kernel.for_size(1024, 256).grid == (4, 1, 1)
    assert kernel.for_size(1).block == (kernel.preferred_block, 1, 1)
    before = out.numpy()
    kernel.for_size(0)(out)
    kernel[0, 1](out)
    np.testing.assert_array_equal(out.numpy(), before)


@pytest.mark.parametrize("count", [1000, 12_288, 50_000])
def test_shared_memory(program, count):
    kernel, out = program.kernel("shared"), gpukern.empty(1, np.int32)
    assert 4 * count <= kernel.max_dynamic_shared_bytes
    kernel[1, 32, 4 * count](out, count)
    assert out.numpy()[0] == count - 1
    kernel.launch(1, 32, out, count - 1, shared=4 * count, cooperative=True)
    assert out.numpy()[0] == count - 2


def test_properties(program):
    kernel = program.kernel("saxpy")
    assert program.kernel("saxpy") is kernel
    assert kernel.name == "saxpy"
    assert kernel.device == "cuda:0"
    assert kernel.parameter_sizes == (4, 8, 8, 8, 4)
    assert kernel.parameters[0] == "float"
    typed = program.kernel("typed::saxpy")
    assert typed.parameters == ("float", "float const*", "float const*", "float*", "int")
    assert 32 <= kernel.preferred_block <= kernel.max_threads_per_block <= 1024
    assert kernel.registers > 0
    assert kernel.static_shared_bytes == kernel.local_bytes == 0
    assert "saxpy(float, " in repr(kernel)


def test_a_kernel_outlives_its_program(xy):
    kernel = gpukern.Program(SOURCE, name_expressions=INSTANCES).kernel("nothing")
    gpukern.clear_cache()
    kernel[1, 1]()


def test_host_arrays(saxpy, xy):
    x, y = xy
    out = np.full(SIZE, 7, np.float32)
    saxpy.for_size(SIZE)(2, In(x), In(y), Out(out), SIZE)
    np.testing.assert_array_equal(out, 2 * x + y)
    both = y.copy()
    saxpy.for_size(SIZE)(2, In(x), InOut(both), InOut(both), SIZE)
    np.testing.assert_array_equal(both, 2 * x + y)
    on_gpu = gpukern.to_device(x)
    saxpy.for_size(SIZE)(2, on_gpu, In(y), Out(out), SIZE)
    np.testing.assert_array_equal(out, 2 * x + y)
    saxpy.for_size(SIZE)(2, on_gpu, In(y), on_gpu, SIZE)
    np.testing.assert_array_equal(on_gpu.numpy(), 2 * x + y)


def test_host_arrays_of_any_layout(saxpy, xy):
    wide = np.zeros((SIZE, 3), np.float32)
    packed = np.zeros(SIZE, [("c", "u1"), ("x", "f4")])
    read_only = xy[0].copy()
    read_only.flags.writeable = False
    backwards = xy[1][::-1]
    for out in (wide[:, 1], packed["x"], np.zeros(SIZE, np.float32)[::-1]):
        saxpy.for_size(SIZE)(2, In(read_only), In(backwards), Out(out), SIZE)
        np.testing.assert_array_equal(out, 2 * xy[0] + backwards)
    assert not wide[:, ::2].any()
    assert not packed["c"].any()
    out, ones = np.zeros(3, np.float32), memoryview(np.ones(3, np.float32))
    saxpy.for_size(3)(1, In(np.float32([1, 2, 3])), In(ones), Out(memoryview(out)), 3)
    assert out.tolist() == [2, 3, 4]


def test_host_arrays_of_padded_records(program):
    dtype = np.dtype("i1,f8", align=True)
    pinned, buffer = gpukern.pinned_empty(3, dtype), np.frombuffer(bytearray(48), dtype)
    others = np.zeros(3, {"names": ["a", "b", "c"], "formats": ["i1", "i1", "f8"],
                          "offsets": [0, 4, 8]})  # fmt: skip
    others["b"] = 7
    for records in (pinned, buffer, others[["a", "c"]]):
        first, second = records.dtype.names
        records[first], records[second] = 5, 2
        program.kernel("add_one")[1, 1](InOut(records), 3)
        assert records.tolist() == [(5, 3)] * 3
    assert (others["b"] == 7).all()


def wrong_arguments():
    """(case, arguments of saxpy, error, words); f is a float array on the GPU, h on the host."""
    f = gpukern.to_device(np.zeros(SIZE, np.float32))
    h = np.zeros(SIZE, np.float32)
    fixed = np.zeros(SIZE, np.float32)
    fixed.flags.writeable = False
    n = SIZE
    return [
        ("none", (), TypeError, r"takes 5 arguments .*, got 0"),
        ("too few", (1, f, f, f), TypeError, r"takes 5 arguments .*, got 4"),
        ("too many", (1, f, f, f, n, n), TypeError, r"takes 5 arguments .*, got 6"),
        ("a double", (np.float64(1), f, f, f, n), TypeError, "argument 0 .*4 bytes.*float64"),
        ("a half", (np.float16(1), f, f, f, n), TypeError, "argument 0 .*4 bytes.*2 bytes"),
        ("an int32 for float", (np.int32(1), f, f, f, n), TypeError, "argument 0"),
        ("a complex", (1j, f, f, f, n), TypeError, "argument 0 .*complex"),
        ("a str", ("1", f, f, f, n), TypeError, "argument 0 .*str"),
        ("None for float", (None, f, f, f, n), TypeError, "argument 0 .*NoneType"),
        ("a huge int", (10**50, f, f, f, n), OverflowError, "argument 0"),
        ("an array for a float", (f, f, f, f, n), TypeError, "argument 0 .*DeviceArray"),
        ("a host array for a float", (h, f, f, f, n), TypeError, "argument 0 .*ndarray"),
        ("In for a float", (In(h), f, f, f, n), TypeError, "argument 0 .*In"),
        ("bytes for a float", (b"1234", f, f, f, n), TypeError, "argument 0 .*4 bytes"),
        ("an int for x", (1, 5, f, f, n), TypeError, "argument 1 .*int"),
        ("a float for x", (1, 5.0, f, f, n), TypeError, "argument 1 .*float"),
        ("a str for x", (1, "x", f, f, n), TypeError, "argument 1 .*str"),
        ("a host array", (1, h, f, f, n), TypeError, "argument 1 .*gpukern.In"),
        ("a list", (1, [1.0], f, f, n), TypeError, "argument 1 .*gpukern.In"),
        ("a 0-d array", (1, np.array(1.0), f, f, n), TypeError, "argument 1"),
        ("an int32 scalar", (1, np.int32(1), f, f, n), TypeError, "argument 1"),
        ("a float64 scalar", (1, np.float64(1), f, f, n), TypeError, "argument 1"),
        ("a host DeviceArray", (1, gpukern.empty(3, "f4", "cpu"), f, f, n), TypeError, "CPU"),
        ("an object", (1, object(), f, f, n), TypeError, "argument 1 .*object"),
        ("Out read-only", (1, f, f, Out(fixed), n), ValueError, "argument 3 is read-only"),
        ("InOut read-only", (1, f, f, InOut(fixed), n), ValueError, "argument 3 is read-only"),
        ("Out of bytes", (1, f, f, Out(b"1234"), n), ValueError, "argument 3 is read-only"),
        ("Out of a list", (1, f, f, Out([1.0]), n), TypeError, "argument 3 must be an array"),
        ("Out of a DeviceArray", (1, f, f, Out(f), n), TypeError, "Out is for host arrays"),
        ("In of a DeviceArray", (1, In(f), f, f, n), TypeError, "In is for host arrays"),
        ("In of objects", (1, In(np.array([None])), f, f, n), TypeError, "argument 1"),
        ("a float for n", (1, f, f, f, 3.0), TypeError, "argument 4 .*float"),
        ("a float32 for n", (1, f, f, f, np.float32(3)), TypeError, "argument 4"),
        ("an int64 for n", (1, f, f, f, np.int64(3)), TypeError, "argument 4 .*4 bytes.*8 bytes"),
        ("an int16 for n", (1, f, f, f, np.int16(3)), TypeError, "argument 4 .*4 bytes.*2 bytes"),
        ("a large n", (1, f, f, f, 2**32), OverflowError, "argument 4 .*4294967296"),
        ("a small n", (1, f, f, f, -(2**31) - 1), OverflowError, "argument 4"),
        ("None for n", (1, f, f, f, None), TypeError, "argument 4"),
        ("an array for n", (1, f, f, f, f), TypeError, "argument 4"),
    ]


CASES = 39


@pytest.mark.parametrize("case", range(CASES))
def test_wrong_arguments(saxpy, xy, case):
    every = wrong_arguments()
    assert len(every) == CASES
    _, arguments, error, words = every[case]
    with pytest.raises(error, match=words) as caught:
        saxpy.for_size(SIZE)(*arguments)
    assert isinstance(caught.value, gpukern.GpukernError)
    assert str(caught.value).startswith(saxpy.name)
    x, y, out = (gpukern.to_device(each) for each in (*xy, np.zeros_like(xy[0])))
    saxpy.for_size(SIZE)(2, x, y, out, SIZE)
    np.testing.assert_array_equal(out.numpy(), 2 * xy[0] + xy[1])


@pytest.mark.parametrize("dtype", ["f8", "i4", "f2", "c8", "u1"])
@pytest.mark.parametrize("wrap", [gpukern.to_device, In])
def test_dtypes_of_typed_kernels(program, dtype, wrap):
    f = gpukern.empty(SIZE, np.float32)
    with pytest.raises(TypeError, match=r"^typed::saxpy: argument 1 .*'float const\*'"):
        program.kernel("typed::saxpy")[1, 1](1, wrap(np.zeros(9, dtype)), f, f, 0)
    # The sign of an integer is not asked for.
    x = gpukern.to_device(np.ones(3, np.uint32))
    program.kernel("scale<int>")[1, 32](x, 3, 3)
    assert x.numpy().tolist() == [3, 3, 3]


def test_jax_arrays_are_not_written_to(program):
    jax = pytest.importorskip("jax")
    f = gpukern.empty(3, np.float32)
    with pytest.raises(ValueError, match="argument 3 is read-only"):
        program.kernel("typed::saxpy")[1, 1](1, f, f, jax.numpy.zeros(3), 0)


@pytest.mark.parametrize(
    ("launch", "error", "words"),
    [
        (lambda k: k[1], TypeError, r"kernel\[grid, block\]"),
        (lambda k: k[1, 1, 0, None, 1], TypeError, r"kernel\[grid, block\]"),
        (lambda k: k[1.0, 1], TypeError, "grid must be an int"),
        (lambda k: k["1", 1], TypeError, "grid must be an int"),
        (lambda k: k[1, None], TypeError, "block must be an int"),
        (lambda k: k[(1, 1, 1, 1), 1], ValueError, "grid must have 1 to 3 sizes, got 4"),
        (lambda k: k[(), 1], ValueError, "grid must have 1 to 3 sizes, got 0"),
        (lambda k: k[-1, 1], ValueError, "grid must be from 0"),
        (lambda k: k[2**31, 1](), ValueError, "grid.x must be at most"),
        (lambda k: k[(1, 2**16), 1](), ValueError, "grid.y must be at most 65535"),
        (lambda k: k[1, 0](), ValueError, "block.x must be in"),
        (lambda k: k[1, 1025](), ValueError, "block.x must be in"),
        (lambda k: k[1, (1, 1, 65)](), ValueError, "block.z must be in"),
        (lambda k: k[1, (64, 64)](), ValueError, "block must have at most"),
        (lambda k: k[1, 1, -1], ValueError, "shared must be from 0"),
        (lambda k: k[1, 1, 1.5], TypeError, "shared must be an int"),
        (lambda k: k[1, 1, 2**20](), ValueError, "shared_bytes must be at most"),
        (lambda k: k[1, 1, 0, "s"], TypeError, "stream must be"),
        (lambda k: k[1, 1, 0, -1], ValueError, "stream must be"),
        (lambda k: k.for_size(-1), ValueError, "for_size takes a size from 0"),
        (lambda k: k.for_size(1.5), TypeError, "for_size"),
        (lambda k: k.for_size(1, 0), ValueError, "for_size takes"),
        (
            lambda k: k.launch(1, 1, cooperative=True, programmatic_launch=True),
            ValueError,
            "programmatic_launch must be 0",
        ),
        (lambda k: k.launch(1, 1, cooperative=1), TypeError, "cooperative must be a bool, got int"),
        (
            lambda k: k.launch(1, 1, programmatic_launch="no"),
            TypeError,
            "programmatic_launch must be a bool, got str",
        ),
        (lambda k: gpukern.Kernel(), TypeError, "made by Program.kernel"),
        (lambda k: type(k[1, 1])(), TypeError, "made by kernel"),
    ],
)
def test_wrong_launches(program, launch, error, words):
    kernel = program.kernel("nothing")
    with pytest.raises(error, match=words) as caught:
        launch(kernel)
    assert isinstance(caught.value, gpukern.GpukernError)
    kernel[1, 1]()


def test_another_device(program):
    if len(gpukern.info()["devices"]) < 2:
        pytest.skip("needs two CUDA devices")
    f, g = gpukern.empty(3, "f4", 0), gpukern.empty(3, "f4", 1)
    with pytest.raises(ValueError, match=r"argument 2 must be on cuda:0 like argument 1, got "):
        program.kernel("saxpy")[1, 1](1, f, g, f, 3)
    other = program.kernel("saxpy", device=1)
    assert other.device == "cuda:1"
    other[1, 32](1, g, g, g, 3)
