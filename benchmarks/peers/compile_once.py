# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""From the text of element-wise functions to their results, once, in one process.

``compile_once.py NAME`` prints the seconds as JSON: ``first`` of a kernel that is the process's
first, ``second`` of another one, ``again`` of an equal function made once more, without waiting for
the GPU, and ``lookup`` of a call of a function that was called before. ``compile_once.py nvrtc
REQUEST`` opens NVRTC and compiles the two kernels that REQUEST, a JSON file, holds; no more.
"""

import json
import statistics
import sys
import time

N = 64
REPEATS = 200
# x y + 2 x and x y + 3 y, of float32.
TEXTS = ("x * y + x * 2", "x * y + y * 3")
NUMBERS = (1.5, 0.25)  # the values of x and y


def expected(turn):
    """The expected value of each element of a result."""
    x, y = NUMBERS
    return x * y + (2 * x, 3 * y)[turn]


def gpukern_c():
    """Make gpukern's functions, written in C."""
    import gpukern

    return gpukern_with([lambda text=text: gpukern.elementwise(text) for text in TEXTS])


def gpukern_python():
    """Make gpukern's functions, written in Python."""
    import gpukern

    def first(x, y):
        return x * y + x * 2

    def second(x, y):
        return x * y + y * 3

    return gpukern_with([lambda f=f: gpukern.elementwise(f) for f in (first, second)])


def gpukern_with(makers):
    """Return makers, a caller and what brings a result to the host, for gpukern."""
    import numpy as np

    import gpukern

    x, y, out = (gpukern.to_device(np.full(N, number, "f4")) for number in (*NUMBERS, 0))
    out.numpy()
    return makers, lambda f: f(x, y, out=out), out.numpy, REPEATS


def cupy_elementwise():
    """Make CuPy's ElementwiseKernel."""
    import cupy
    import numpy as np

    # By copies: cupy.full() would launch a kernel before the first one.
    x, y, out = (cupy.asarray(np.full(N, number, "f4")) for number in (*NUMBERS, 0))
    out.get()
    types = "float32 x, float32 y", "float32 z"
    makers = [
        lambda text=text: cupy.ElementwiseKernel(*types, f"z = {text}", "measured")
        for text in TEXTS
    ]
    return makers, lambda f: f(x, y, out), out.get, REPEATS


def numba_jit():
    """Make Numba's kernels, cached on disk."""
    import numpy as np
    from numba import cuda

    def first(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] * y[i] + x[i] * 2

    def second(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] * y[i] + y[i] * 3

    x, y, out = (cuda.to_device(np.full(N, number, "f4")) for number in (*NUMBERS, 0))
    out.copy_to_host()
    makers = [lambda f=f: cuda.jit(f, cache=True) for f in (first, second)]
    return makers, lambda f: f[1, N](x, y, out), out.copy_to_host, 3


def numba_vectorize():
    """Make Numba's ufuncs, which it does not cache."""
    import numpy as np
    from numba import cuda, vectorize

    two, three = np.float32(2), np.float32(3)

    def first(x, y):
        return x * y + x * two

    def second(x, y):
        return x * y + y * three

    x, y, out = (cuda.to_device(np.full(N, number, "f4")) for number in (*NUMBERS, 0))
    out.copy_to_host()
    signature = ["float32(float32, float32)"]
    makers = [lambda f=f: vectorize(signature, target="cuda")(f) for f in (first, second)]
    return makers, lambda f: f(x, y, out=out), out.copy_to_host, 3


WAYS = {
    "gpukern, C form": gpukern_c,
    "gpukern, Python form": gpukern_python,
    "CuPy ElementwiseKernel": cupy_elementwise,
    "Numba cuda.jit": numba_jit,
    "Numba vectorize": numba_vectorize,
}


def seconds_of(function):
    """Return the time of a call."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def measure(makers, call, to_host, repeats):
    """Return the four times."""
    took = {}
    for turn, (name, make) in enumerate(zip(("first", "second"), makers, strict=True)):
        started = time.perf_counter()
        call(make())
        values = to_host()
        took[name] = time.perf_counter() - started
        if any(abs(value - expected(turn)) > 1e-6 for value in values.tolist()):
            raise SystemExit(f"the result is wrong: {values[:4]}")
    made = makers[1]()
    for name, function in (
        ("again", lambda: call(makers[1]())),
        ("lookup", lambda: call(made)),
    ):
        function()
        took[name] = statistics.median(seconds_of(function) for _ in range(repeats))
        to_host()
    return took


def nvrtc_alone(request):
    """Return the times of opening NVRTC and compiling, and of the second kernel."""
    import ctypes

    with open(request, encoding="utf-8") as file:
        asked = json.load(file)
    took = {}
    library = None
    for name, source in zip(("first", "second"), asked["sources"], strict=True):
        started = time.perf_counter()
        if library is None:
            for path in asked["libraries"]:  # builtins first, then NVRTC
                library = ctypes.CDLL(path)
        compile_by(library, source, asked["headers"], asked["options"])
        took[name] = time.perf_counter() - started
    return took


def compile_by(nvrtc, source, headers, options):
    """Return the machine code of a source."""
    import ctypes

    def texts(values):
        return (ctypes.c_char_p * len(values))(*(value.encode() for value in values))

    def require(status):
        if status != 0:
            raise SystemExit(f"NVRTC: error {status}")

    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    names, contents = texts(list(headers)), texts(list(headers.values()))
    require(
        nvrtc.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"measured.cu", len(headers), contents, names
        )
    )
    require(nvrtc.nvrtcCompileProgram(program, len(options), texts(options)))
    require(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)))
    code = ctypes.create_string_buffer(size.value)
    require(nvrtc.nvrtcGetCUBIN(program, code))
    require(nvrtc.nvrtcDestroyProgram(ctypes.byref(program)))
    return code.raw


def main():
    """Print the times."""
    name = sys.argv[1]
    print(json.dumps(nvrtc_alone(sys.argv[2]) if name == "nvrtc" else measure(*WAYS[name]())))


if __name__ == "__main__":
    main()
