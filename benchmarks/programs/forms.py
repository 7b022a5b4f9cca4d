# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Element-wise functions on device arrays: gpukern's two forms, its saxpy and the peers.

All move the same bytes: two operands read, one written. The tables have the format of those of
``python -m benchmarks``.
"""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

import gpukern
from benchmarks.implementations.base import (
    CEILING,
    OURS,
    PEER,
    VARIANT,
    Implementation,
    library,
)
from benchmarks.implementations.device import saxpy_gpukern
from benchmarks.measure.device import DeviceBench
from benchmarks.measure.device_layout import Layout, aligned
from benchmarks.measure.loop import measure
from benchmarks.suites.cases import MI, Saxpy, Table, size_text

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


@dataclass(frozen=True, kw_only=True)
class FormCase(Saxpy):
    """A form on two vectors of n float32, which moves the same bytes as saxpy."""

    dtype: str = "float32"
    form: str

    def columns(self):
        """The fields that identify this case in a table."""
        return {"n": size_text(self.n)}

    def text(self):
        """One line that names the case."""
        return f"{self.form} n={size_text(self.n)}"


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


class FormBench(DeviceBench):
    """A device bench whose operands are vectors of numbers from [0, 1)."""

    def vector(self, address, n, typestr="<f4"):
        """Return n items of the memory at an address."""
        return Vector(address, n, self.native.stream, typestr)

    def operands(self, table, case):
        """Return the sets of operands; the reference is NumPy's result of both ends."""
        return None, operands(self, case)

    def is_right(self, implementation, case, at, call, reference):
        """Call once over a poisoned result and compare both ends with NumPy's."""
        self.native.poison(at.out, case.result_bytes)
        call()
        self.native.synchronize()
        a, b, out = (ends(self, case, address) for address in (at.x, at.y, at.out))
        wanted = FORMS[case.form].function(a, b)
        if implementation.role == PEER:  # may fuse multiply-adds
            return bool(np.allclose(out, wanted, rtol=1e-5))
        return bool(np.array_equal(out, wanted))


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
    Implementation("gpukern.saxpy", CEILING, saxpy_gpukern, checked=False),
)


class Numba:
    """Numba: ufuncs on the benchmark's stream."""

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
    one = 3 * aligned(case.result_bytes)
    sets = []
    uniform = gpukern.elementwise("u % 1048576 / 1048576.0f", dtype="float32")
    for k in range(layout.set_count(bench, one)):
        x, y, out = (layout.take(case.result_bytes) for _ in range(3))
        for seed, at in ((2 * k, x), (2 * k + 1, y)):
            bench.native.fill(at, aligned(case.result_bytes) - 256, seed)
            bench.native.synchronize()
            uniform(bench.vector(at, case.n, "<i4"), out=bench.vector(at, case.n))
        sets.append(SimpleNamespace(x=x, y=y, out=out))
    bench.filled = 0  # a source of the gather suites is overwritten
    return sets


def ends(bench, case, address):
    """Return some elements of a vector from both of its ends."""
    count = min(CHECKED, case.n)
    index = np.concatenate([np.arange(count), np.arange(case.n - count, case.n)])
    found = gpukern.gather(bench.vector(address, case.n), index)
    return found.numpy() if isinstance(found, gpukern.DeviceArray) else np.asarray(found)


TABLES = {
    name: Table(
        f"elementwise {name}",
        f"{form.title} as an element-wise function, float32",
        "GB/s",
        tuple(each.name for each in IMPLEMENTATIONS),
        (),
        "`gpukern.saxpy` moves as many bytes; the last column compares with it",
    )
    for name, form in FORMS.items()
}


def run(bench, sizes=SIZES):
    """Measure all forms at all sizes that fit in the memory."""
    fitting = [n for n in sizes if 3 * aligned(4 * n) <= bench.size - aligned(0)]
    cases = [FormCase(form=form, n=n) for form in FORMS for n in fitting]
    return [measure(bench, TABLES[case.form], case, IMPLEMENTATIONS) for case in cases]
