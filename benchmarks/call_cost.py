# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.call_cost``: what a call costs on the host, beside a bare launch.

Small arrays, calls back to back: the time to issue one. Fewer calls than the GPU's queue holds make
a batch, and the GPU is waited for between batches, so that the host never waits inside one. The
calls take turns, a batch each; the medians are printed with their ratio to the bare launch. Without
a GPU only the calls on NumPy arrays are measured.
"""

import argparse
import ctypes
import json
import statistics
import sys
import timeit
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gpukern
from benchmarks.libraries import open_libraries
from benchmarks.machine import describe_machine
from benchmarks.native import BenchError, Native

N = 64
HOST_N = 10
BATCH = 400  # calls; the launch queue of the driver holds 1024
MEMORY = 1 << 20
MODES = {"wrap": 1, "clip": 2}
LAUNCH = "bare launch"


@dataclass
class Call:
    """One line of the table: ``cost(batch)`` gives the seconds of one call of a batch."""

    group: str
    name: str
    cost: object


def python_call(statement, names):
    """Return the cost of a Python statement: timed as timeit does, by nothing but a loop."""
    timer = timeit.Timer(statement, globals=names)
    return lambda batch: timer.timeit(batch) / batch


def native_calls(native, memory):
    """Yield the bare launch and the C functions, called by C."""
    x, y, out = (memory + 4096 * k for k in range(3))
    index = memory + 4 * 4096
    native.fill_index(index, 8, N, "uniform", N, 1)

    def cost_of(name, *arguments):
        def cost(batch):
            seconds = ctypes.c_double()
            before = (ctypes.c_int(batch),)
            if name != "launch":
                before = (arguments[0], ctypes.c_int(batch))
            rest = arguments if name == "launch" else arguments[1:]
            native.call(f"cost_{name}", *before, *rest, ctypes.byref(seconds))
            return seconds.value

        return cost

    stream = ctypes.c_void_p(native.stream)
    yield Call("C", LAUNCH, cost_of("launch", x, y, out, ctypes.c_int(N), stream))
    a = ctypes.create_string_buffer(np.float32(2).tobytes(), 16)
    tensors = [native.tensor(address, (N,), "float32") for address in (x, y, out)]
    pointers = [ctypes.byref(tensor) for tensor in tensors]
    where = ctypes.byref(native.exec)
    function = ctypes.cast(native.gpukern.gpukern_saxpy, ctypes.c_void_p)
    yield Call("C", "gpukern_saxpy", cost_of("saxpy", function, a, *pointers, where))
    positions = native.tensor(index, (N,), "int64")
    function = ctypes.cast(native.gpukern.gpukern_gather, ctypes.c_void_p)
    for mode, number in MODES.items():
        arguments = (pointers[0], ctypes.byref(positions), ctypes.c_int(number), pointers[2], where)
        yield Call("C", f"gpukern_gather, {mode}", cost_of("gather", function, *arguments))


def gpukern_calls(group, x, y, out, index):
    """Yield gpukern's functions on the arrays of a library, with and without out=."""
    names = {"saxpy": gpukern.saxpy, "gather": gpukern.gather}
    names |= {"x": x, "y": y, "out": out, "index": index}
    for name, statement in (
        ("saxpy(out=)", "saxpy(2.0, x, y, out=out)"),
        ("saxpy()", "saxpy(2.0, x, y)"),
        ("gather(out=), wrap", "gather(x, index, mode='wrap', out=out)"),
        ("gather(out=), clip", "gather(x, index, mode='clip', out=out)"),
        ("gather()", "gather(x, index, mode='clip')"),
    ):
        yield Call(group, f"gpukern.{name}", python_call(statement, names))


def arrays_of(library, memory):
    """Return x, y, out and index of a library."""
    x, y, out = (library.array(memory + 4096 * k, (N,), "float32") for k in range(3))
    return x, y, out, library.array(memory + 4 * 4096, (N,), "int64")


def torch_calls(library, memory):
    """Yield torch's calls and gpukern's on torch's tensors."""
    x, y, out, index = arrays_of(library, memory)
    torch = library.module
    names = {"add": torch.add, "index_select": torch.index_select}
    names |= {"x": x, "y": y, "out": out, "index": index}
    for name, statement in (
        ("torch.add(out=)", "add(y, x, alpha=2.0, out=out)"),
        ("torch.add()", "add(y, x, alpha=2.0)"),
        ("torch.index_select(out=)", "index_select(x, 0, index, out=out)"),
        ("torch.index_select()", "index_select(x, 0, index)"),
        ("torch x[i]", "x[index]"),
    ):
        yield Call("torch", name, python_call(statement, names))
    yield from gpukern_calls("torch", x, y, out, index)


RAW_SAXPY = """
extern "C" __global__ void saxpy(float a, const float* x, const float* y, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i] + y[i];
}
"""


def cupy_calls(library, memory):
    """Yield CuPy's calls and gpukern's on CuPy's arrays."""
    x, y, out, index = arrays_of(library, memory)
    cupy = library.module
    names = {"elementwise": library.saxpy, "raw": cupy.RawKernel(RAW_SAXPY, "saxpy")}
    names |= {"take": cupy.take, "a": np.float32(2), "count": np.int32(N)}
    names |= {"x": x, "y": y, "out": out, "index": index}
    for name, statement in (
        ("cupy.ElementwiseKernel(out)", "elementwise(a, x, y, out)"),
        ("cupy.ElementwiseKernel()", "elementwise(a, x, y)"),
        ("cupy.RawKernel", "raw((1,), (64,), (a, x, y, out, count))"),
        ("cupy.take(out=)", "take(x, index, out=out)"),
        ("cupy.take()", "take(x, index)"),
    ):
        yield Call("cupy", name, python_call(statement, names))
    yield from gpukern_calls("cupy", x, y, out, index)


def numpy_calls():
    """Yield NumPy's calls and gpukern's on NumPy's arrays."""
    x, y = np.ones((2, HOST_N), np.float32)
    names = {"saxpy": gpukern.saxpy, "gather": gpukern.gather, "take": np.take}
    names |= {"a": np.float32(2), "x": x, "y": y, "out": np.empty_like(x)}
    names["index"] = np.arange(HOST_N)[::-1].copy()
    for name, statement in (
        ("a * x + y", "a * x + y"),
        ("numpy.take()", "take(x, index)"),
        ("numpy.take(out=), clip", "take(x, index, out=out, mode='clip')"),
        ("gpukern.saxpy()", "saxpy(2.0, x, y)"),
        ("gpukern.saxpy(out=)", "saxpy(2.0, x, y, out=out)"),
        ("gpukern.gather()", "gather(x, index)"),
        ("gpukern.gather(out=), clip", "gather(x, index, mode='clip', out=out)"),
    ):
        yield Call("numpy", name, python_call(statement, names))


def gpu_calls(native):
    """Return the calls on the GPU, the peers that are there, and why the others are not."""
    native.open()
    from benchmarks.libraries import Memory

    memory = Memory(native.allocate(MEMORY), MEMORY)
    native.enqueue("set_bytes", memory.address, 0, MEMORY)
    libraries, missing = open_libraries(memory, native.stream, ("torch", "cupy"))
    native.synchronize()
    calls = list(native_calls(native, memory.address))
    for name, make in (("torch", torch_calls), ("cupy", cupy_calls)):
        if name in libraries:
            calls += make(libraries[name], memory.address)
    return calls, libraries, missing


def measure(calls, repeats, batch, synchronize):
    """Return the points: the median of each call's batches. One that fails says how."""
    points, working = [], []
    for call in calls:
        point = {"group": call.group, "name": call.name}
        points.append(point)
        try:
            call.cost(max(batch // 4, 1))
            synchronize()
            working.append((call, point))
        except Exception as error:
            point["error"] = f"{type(error).__name__}: {error}"[:300]
    for _, point in working:
        point["samples"] = []
    for _ in range(repeats):
        for call, point in working:
            point["samples"].append(call.cost(batch))
            synchronize()
    for _, point in working:
        point["seconds"] = statistics.median(point["samples"])
    return points


def markdown(results):
    """Write the points as a table."""
    points = results["points"]
    launch = next((p.get("seconds") for p in points if p["name"] == LAUNCH), None)
    machine = results["machine"]
    gpu = machine["gpu"]["name"] if machine["gpu"] else "no GPU"
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    lines = [
        "# Cost of a call",
        "",
        f"- {machine['cpu']}; {gpu}",
        f"- {versions}",
        f"- {machine['date']}, commit {machine['commit'] or 'unknown'}",
        "",
        f"Medians of {results['settings']['repeats']} batches of {results['settings']['batch']} "
        f"calls; {N} float32 on the GPU, {HOST_N} on NumPy arrays.",
        "",
        "| arrays | call | µs | less the launch | of the launch |",
        "|---|---|---:|---:|---:|",
    ]
    for point in points:
        start = f"| {point['group']} | {point['name']} |"
        if "error" in point:
            lines.append(f"{start} {point['error']} | - | - |")
            continue
        took = point["seconds"]
        beside = launch and point["group"] != "numpy"
        more = f"{(took - launch) * 1e6:+.2f} | {took / launch:.2f}" if beside else "- | -"
        lines.append(f"{start} {took * 1e6:.2f} | {more} |")
    return "\n".join([*lines, ""])


def main(arguments=None):
    """Measure, print, write, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.call_cost", description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="batches (default: 15)")
    parser.add_argument("--batch", type=int, default=BATCH, help="calls (default: %(default)s)")
    parser.add_argument("--out", type=Path, help="a folder for call_cost.json and call_cost.md")
    options = parser.parse_args(arguments)
    calls, libraries, missing = [], {}, {}
    synchronize = int
    if gpukern.info()["devices"]:
        try:
            native = Native()
            calls, libraries, missing = gpu_calls(native)
            synchronize = native.synchronize
        except BenchError as error:
            print(f"call_cost: without the GPU: {error}", file=sys.stderr)
    calls += numpy_calls()
    results = {
        "machine": describe_machine(libraries, missing),
        "settings": {"repeats": options.repeats, "batch": options.batch},
        "points": measure(calls, options.repeats, options.batch, synchronize),
    }
    text = markdown(results)
    print(text)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "call_cost.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
        (options.out / "call_cost.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
