# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The host cost of a launch with four arguments, compared with the driver's launch from C.

As in call_cost: alternating batches of calls that fit the launch queue, with waits between them.
"""

import ctypes

import numpy as np

import gpukern
from benchmarks import summary
from benchmarks.call_cost.calls import Call, measure, python_call
from benchmarks.libraries import Memory, open_libraries

N = 64
MEMORY = 1 << 20
BATCH = 400  # the launch queue of the driver holds 1024
BARE = "cuLaunchKernel"
SOURCE = """
extern "C" __global__ void scale(float a, const float *x, float *y, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
"""


class Description(ctypes.Structure):
    """``gpukern_program_desc``."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("source", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("architecture", ctypes.c_char_p),
        ("device", ctypes.c_int32),
        *(
            (f"{name}{kind}", type_)
            for name in ("options", "headers", "name_expressions")
            for kind, type_ in (("", ctypes.c_void_p), ("_count", ctypes.c_size_t))
        ),
    )


def loaded_by_c(native):
    """Compile the kernel by the C ABI and return its ``gpukern_kernel *``."""
    description = Description(ctypes.sizeof(Description), SOURCE.encode())
    program, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    library = native.gpukern
    compiled = library.gpukern_program_compile(ctypes.byref(description), ctypes.byref(program))
    native.check(compiled)
    native.check(
        library.gpukern_program_kernel(program, b"scale", ctypes.c_int32(0), ctypes.byref(kernel))
    )
    return kernel


def native_calls(native, memory):
    """Yield the launches from C, by the driver and by gpukern."""
    program = gpukern.Program(SOURCE)
    image = ctypes.create_string_buffer(program.cubin)
    function = native.get(ctypes.c_void_p, "load_kernel", image, ctypes.c_char_p(b"scale"))
    by_c = ctypes.cast(native.gpukern.gpukern_kernel_launch, ctypes.c_void_p)
    kernel = loaded_by_c(native)
    x, y = memory, memory + 4096

    def cost_of(name, first, *arguments):
        def cost(batch):
            return native.get(
                ctypes.c_double, f"cost_{name}", first, ctypes.c_int(batch), *arguments
            )

        return cost

    count = ctypes.c_int(N)
    stream = ctypes.c_void_p(native.stream)
    yield Call("C", BARE, cost_of("driver", ctypes.c_void_p(function), x, y, count, stream))
    arguments = (kernel, x, y, count, ctypes.byref(native.exec))
    yield Call("C", "gpukern_kernel_launch", cost_of("kernel", by_c, *arguments))


class Stream:
    """A stream as an object that owns it, unlike a handle."""

    def __init__(self, handle):
        self.protocol = 0, handle

    def __cuda_stream__(self):
        return self.protocol


def gpukern_calls(group, x, y, stream):
    """Yield gpukern's launches on the arrays of a library."""
    kernel = gpukern.Program(SOURCE).kernel("scale")
    names = {"kernel": kernel, "launcher": kernel[1, N], "N": N, "x": x, "y": y, "stream": stream}
    names |= {"two": np.float32(2), "count": np.int32(N)}
    for name, statement in (
        ("`kernel[grid, block](...)`", "kernel[1, N](2.0, x, y, N)"),
        ("`kernel[grid, block](...)`, NumPy scalars", "kernel[1, N](two, x, y, count)"),
        ("`kernel[grid, block, 0, stream](...)`", "kernel[1, N, 0, stream](2.0, x, y, N)"),
        ("kernel.launch(..., stream=)", "kernel.launch(1, N, 2.0, x, y, N, stream=stream)"),
        ("launcher reused", "launcher(2.0, x, y, N)"),
    ):
        yield Call(group, f"gpukern, {name}", python_call(statement, names))


def cupy_calls(cupy, x, y):
    """Yield CuPy's launches."""
    names = {"raw": cupy.RawKernel(SOURCE, "scale"), "N": N}
    names |= {"a": np.float32(2), "x": x, "y": y, "count": np.int32(N)}
    names["arguments"] = tuple(names[each] for each in ("a", "x", "y", "count"))
    for name, statement in (
        ("RawKernel", "raw((1,), (N,), (a, x, y, count))"),
        ("RawKernel, tuple reused", "raw((1,), (N,), arguments)"),
    ):
        yield Call("cupy", name, python_call(statement, names))


def numba_calls(cuda):
    """Yield Numba's launches, on Numba's arrays."""

    @cuda.jit
    def scale(a, x, y, n):
        i = cuda.threadIdx.x
        if i < n:
            y[i] = a * x[i]

    x, y = (cuda.to_device(np.ones(N, np.float32)) for _ in range(2))
    names = {"scale": scale, "launcher": scale[1, N], "N": N, "x": x, "y": y}
    names |= {"two": np.float32(2), "count": np.int32(N)}
    for name, statement in (
        ("kernel[grid, block]", "scale[1, N](two, x, y, count)"),
        ("launcher reused", "launcher(two, x, y, count)"),
    ):
        yield Call("numba", name, python_call(statement, names))


def all_calls(native):
    """Return the calls, the available peers, and the reasons for missing ones."""
    memory = Memory(native.allocate(MEMORY), MEMORY)
    native.enqueue("set_bytes", memory.address, 0, MEMORY)
    libraries, missing = open_libraries(("torch", "cupy"), memory, native.stream)
    native.synchronize()
    calls = list(native_calls(native, memory.address))
    own = [gpukern.to_device(np.ones(N, np.float32)) for _ in range(2)]
    stream = Stream(native.stream)
    calls += gpukern_calls("DeviceArray", *own, stream)
    for name, library in libraries.items():
        x, y = (library.array(memory.address + at, (N,), "float32") for at in (0, 4096))
        calls += gpukern_calls(name, x, y, stream)
        if name == "cupy":
            calls += cupy_calls(library.module, x, y)
    try:
        from numba import cuda

        calls += numba_calls(cuda)
    except Exception as error:  # continue without a peer that does not start
        missing["numba"] = f"{type(error).__name__}: {error}"[:200]
    return calls, libraries, missing


def run(native, repeats):
    """Measure; return the points, the available libraries, and the reasons for missing ones."""
    calls, libraries, missing = all_calls(native)
    return measure(calls, repeats, BATCH, native.synchronize), libraries, missing


def entries(points):
    """Return gpukern's launches for the summary, compared with the driver's launch from C."""
    bare = next((p.get("seconds") for p in points if p["name"] == BARE), None)
    return {
        f"{point['group']}: {point['name']}": summary.entry(
            1e6 * point["seconds"], "µs", *((BARE, bare / point["seconds"]) if bare else ())
        )
        for point in points
        if "seconds" in point and point["name"].startswith("gpukern")
    }


def markdown(points):
    """Write the points as a table."""
    bare = next((p.get("seconds") for p in points if p["name"] == BARE), None)
    yield "## Launch with four arguments, µs on the host"
    yield ""
    yield (
        f"Back to back, at most {BATCH} at a time, on {N} float32. The last column is what a call "
        "takes beyond the driver's launch from C."
    )
    yield ""
    yield "| arrays | call | µs | beyond the driver's |"
    yield "|---|---|---:|---:|"
    for point in points:
        start = f"| {point['group']} | {point['name']} |"
        if "error" in point:
            yield f"{start} {point['error']} | - |"
            continue
        took = point["seconds"]
        more = f"{(took - bare) * 1e6:+.2f}" if bare else "-"
        yield f"{start} {took * 1e6:.2f} | {more} |"
    yield ""
