# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Element-wise functions on device arrays: gpukern's two forms beside its saxpy and the peers'.

All move the same bytes: two operands read, one written. The tables are of the form that
``python -m benchmarks`` has.
"""

from dataclasses import asdict, dataclass
from types import SimpleNamespace

import numpy as np

import gpukern
from benchmarks.cases import MI, size_text
from benchmarks.implementations import CEILING, OURS, PEER, VARIANT, Implementation, library
from benchmarks.measure import Bench, Layout, aligned, failure, set_count, summary
from benchmarks.native import scalar_two
from benchmarks.timing import make_timer

SIZES = (MI, 16 * MI, 128 * MI, 320_000_000)
CHECKED = 4096  # elements at either end
# NumPy's float32, so that a peer's compiler computes in float32 as well.
TEN, TWO, FIVE = np.float32(10), np.float32(2), np.float32(5)


def add(a, b):
    """The sum of two vectors."""
    return a + b


def polynomial(a, b):
    """The polynomial of examples/polynomial.py."""
    return (a * TEN + TWO) * ((b + TWO) * TEN - FIVE) * FIVE


@dataclass(frozen=True)
class Form:
    """A function of two vectors of float32, in Python and in C."""

    title: str
    function: object
    text: str


FORMS = {
    "add": Form("vector add", add, "a + b"),
    "polynomial": Form("polynomial", polynomial, "(a * 10 + 2) * ((b + 2) * 10 - 5) * 5"),
}


@dataclass(frozen=True)
class FormCase:
    """A form on vectors of n float32."""

    form: str
    n: int

    @property
    def size(self):
        """Bytes of one operand."""
        return 4 * self.n

    @property
    def traffic(self):
        """Bytes that have to be read and written."""
        return 3 * self.size

    def work(self, unit):
        """Return the GB of one call."""
        assert unit == "GB/s"
        return self.traffic * 1e-9


@dataclass
class Vector:
    """n items of 4 bytes in device memory, by ``__cuda_array_interface__``, with their stream."""

    address: int
    n: int
    stream: int
    typestr: str = "<f4"

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": (self.n,),
            "typestr": self.typestr,
            "data": (self.address, False),
            "version": 3,
            "strides": None,
            "stream": self.stream,
        }


class FormBench(Bench):
    """A bench that hands out its memory as vectors."""

    def vector(self, address, n, typestr="<f4"):
        """Return n items of the memory at an address."""
        return Vector(address, n, self.native.stream, typestr)


def vectors(bench, case, at):
    """Return the operands and the result of a call."""
    return [bench.vector(address, case.n) for address in (at.x, at.y, at.out)]


def by_gpukern(argument):
    """Make gpukern's element-wise function of the form's field."""

    def make(bench, case, at):
        function = gpukern.elementwise(getattr(FORMS[case.form], argument))
        a, b, out = vectors(bench, case, at)
        return lambda: function(a, b, out=out)

    return make


def saxpy(bench, case, at):
    """Make gpukern_saxpy, which moves as many bytes."""
    native = bench.native
    tensors = [native.tensor(each, (case.n,), "float32") for each in (at.x, at.y, at.out)]
    return native.saxpy_call(scalar_two("float32"), *tensors)


def by_cupy(bench, case, at):
    """Make CuPy's ElementwiseKernel."""
    cupy = library(bench, "cupy")
    a, b, out = (cupy.array(each, (case.n,), "float32") for each in (at.x, at.y, at.out))
    types = "float32 a, float32 b", "float32 z"
    kernel = cupy.module.ElementwiseKernel(*types, f"z = {FORMS[case.form].text}", case.form)
    return lambda: kernel(a, b, out)


def by_numba(bench, case, at):
    """Make Numba's ufunc."""
    numba = library(bench, "numba")
    function = numba.ufunc(FORMS[case.form].function)
    a, b, out = (numba.array(vector) for vector in vectors(bench, case, at))
    return lambda: function(a, b, out=out, stream=numba.stream)


IMPLEMENTATIONS = (
    Implementation("gpukern, C form", OURS, by_gpukern("text")),
    Implementation("gpukern, Python form", VARIANT, by_gpukern("function")),
    Implementation("cupy", PEER, by_cupy),
    Implementation("numba", PEER, by_numba, capturable=False),
    Implementation("gpukern.saxpy", CEILING, saxpy, checked=False),
)


class Numba:
    """Numba: ufuncs on a stream of ours."""

    def __init__(self, stream):
        import numba
        from numba import cuda

        self.version = numba.__version__
        self.array = cuda.as_cuda_array
        self.stream = cuda.external_stream(stream)
        self.ufuncs = {}

    def ufunc(self, function):
        """Return the ufunc of a Python function, compiled once."""
        from numba import vectorize

        if function not in self.ufuncs:
            signature = ["float32(float32, float32)"]
            self.ufuncs[function] = vectorize(signature, target="cuda")(function)
        return self.ufuncs[function]


def operands(bench, case):
    """Fill two vectors with numbers from [0, 1) and return the sets of operands."""
    layout = Layout(bench)
    one = 3 * aligned(case.size)
    sets = []
    uniform = gpukern.elementwise("u % 1048576 / 1048576.0f", dtype="float32")
    for k in range(max(1, min(set_count(bench, case.traffic), layout.room() // one))):
        x, y, out = (layout.take(case.size) for _ in range(3))
        for seed, at in ((2 * k, x), (2 * k + 1, y)):
            bench.native.fill(at, aligned(case.size) - 256, seed)
            bench.native.synchronize()
            uniform(bench.vector(at, case.n, "<i4"), out=bench.vector(at, case.n))
        sets.append(SimpleNamespace(x=x, y=y, out=out))
    bench.filled = 0  # the source that the suites of gather keep is gone
    return sets


def ends(bench, case, address):
    """Return some elements of a vector from both of its ends."""
    count = min(CHECKED, case.n)
    index = np.concatenate([np.arange(count), np.arange(case.n - count, case.n)])
    found = gpukern.gather(bench.vector(address, case.n), index)
    return found.numpy() if isinstance(found, gpukern.DeviceArray) else np.asarray(found)


def is_right(bench, implementation, case, at, call):
    """Call once over a poisoned result and compare both ends with NumPy's."""
    bench.native.poison(at.out, case.size)
    call()
    bench.native.synchronize()
    a, b, out = (ends(bench, case, address) for address in (at.x, at.y, at.out))
    wanted = FORMS[case.form].function(a, b)
    if implementation.role == PEER:  # which may fuse a multiplication and an addition
        return bool(np.allclose(out, wanted, rtol=1e-5))
    return bool(np.array_equal(out, wanted))


def measure(bench, case):
    """Return the point that JSON gets for a case; the implementations take turns."""
    sets = operands(bench, case)
    results, timers = {}, []
    for each in IMPLEMENTATIONS:
        try:
            calls = [each.make(bench, case, at) for at in sets]
            right = is_right(bench, each, case, sets[0], calls[0]) if each.checked else None
            timer = make_timer(bench.native, each, calls, case.traffic)
            timers.append((each, timer, right, []))
        except Exception as error:
            results[each.name] = failure(each, error)
            bench.native.synchronize()  # raises where the GPU is lost
    for _ in range(bench.rounds):
        for _, timer, _, samples in timers:
            samples.append(timer.sample())
    for each, timer, right, samples in timers:
        timer.close()
        results[each.name] = summary(each, case, "GB/s", timer, samples, right)
    return {
        "table": f"elementwise {case.form}",
        "label": f"{case.form} n={size_text(case.n)}",
        "case": asdict(case),
        "columns": {"n": size_text(case.n)},
        "sets": len(sets),
        "results": results,
    }


def tables():
    """Return the tables' headers."""
    return [
        {
            "name": f"elementwise {name}",
            "title": f"{form.title} as an element-wise function, float32",
            "unit": "GB/s",
            "note": "`gpukern.saxpy` moves as many bytes; the last column compares with it",
            "implementations": [each.name for each in IMPLEMENTATIONS],
        }
        for name, form in FORMS.items()
    ]


def run(bench, sizes=SIZES):
    """Measure all forms at all sizes that the memory holds."""
    fitting = [n for n in sizes if 3 * aligned(4 * n) <= bench.size - aligned(0)]
    return [measure(bench, FormCase(form, n)) for form in FORMS for n in fitting]
