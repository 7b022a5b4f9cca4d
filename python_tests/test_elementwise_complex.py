# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Functions of complex numbers: on the CPU, and those of the device compiled for the host."""

import itertools
import subprocess

import numpy as np
import pytest
from commands import compiler

import gpukern
from gpukern import elementwise
from gpukern._elementwise import cuda_codegen

FUNCTIONS = ["exp", "log", "sqrt", "sin", "cos", "tanh"]
EPSILONS = 4  # of the absolute value, as complex.cuh says
PARTS = {"c8": np.float32, "c16": np.float64}

PROGRAM = """
#include <cmath>
#include <cstdio>
#define __device__
using std::atan2; using std::copysign; using std::cos; using std::cosh; using std::exp;
using std::fabs; using std::fma; using std::fmax; using std::hypot; using std::log;
using std::log1p; using std::sin; using std::sinh; using std::sqrt; using std::tan;
namespace gpukern {
template <class Part>
struct complex {
  Part re, im;
};
}
#include "elementwise/complex.cuh"
template <class Part>
void run(gpukern::complex<Part> (*function)(gpukern::complex<Part>)) {
  gpukern::complex<Part> z;
  while (std::fread(&z, sizeof z, 1, stdin) == 1) {
    z = function(z);
    std::fwrite(&z, sizeof z, 1, stdout);
  }
}
int main() { run<PART>(gpukern::complex_FUNCTION<PART>); }
"""


@pytest.fixture(scope="module", params=FUNCTIONS)
def function(request):
    return request.param


@pytest.fixture(scope="module", params=list(PARTS))
def dtype(request):
    return request.param


@pytest.fixture(scope="module")
def device_function(function, dtype, tmp_path_factory):
    """The function of complex.cuh, compiled by the host's compiler."""
    program = tmp_path_factory.mktemp("complex") / "program"
    part = "float" if dtype == "c8" else "double"
    source = PROGRAM.replace("FUNCTION", function).replace("PART", part)
    options = ["-std=c++17", "-O1", "-ffp-contract=off", f"-I{cuda_codegen.HEADER_FOLDER}"]
    subprocess.run(
        [*compiler("CXX"), *options, "-xc++", "-", "-o", program],
        input=source,
        text=True,
        check=True,
    )

    def call(array):
        run = subprocess.run([program], input=array.tobytes(), capture_output=True, check=True)
        return np.frombuffer(run.stdout, array.dtype)

    return call


def argument_sets(rng, function, dtype):
    """Numbers of usual sizes, of length one, with large exponentials, of any size."""
    limit = np.log(np.finfo(PARTS[dtype]).max)
    yield rng.normal(0, 3, (2, 20000))
    angle, length = rng.uniform(-np.pi, np.pi, 20000), 1 + rng.normal(0, 1e-3, 20000)
    yield np.array([np.cos(angle), np.sin(angle)]) * length
    yield rng.uniform(-1.02 * limit, 1.02 * limit, (2, 20000))
    if function in ("log", "sqrt"):
        sign, size = rng.choice([-1, 1], (2, 20000)), rng.uniform(-0.8, 0.99, (2, 20000))
        yield sign * np.exp(size * limit)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="no long double to compare with")
def test_accuracy_of_the_device_functions(device_function, function, dtype, rng):
    limits = np.finfo(PARTS[dtype])
    for real, imag in argument_sets(rng, function, dtype):
        z = (real + 1j * imag).astype(dtype)
        with np.errstate(all="ignore"):
            expected = getattr(np, function)(z.astype(np.clongdouble))
            size = np.abs(expected)
        known = (size < limits.max) & (size > 4 * limits.tiny)
        assert known.sum() > 9000
        error = np.abs(device_function(z)[known] - expected[known]) / size[known]
        assert error.max() <= EPSILONS * limits.eps


def test_special_values_of_the_device_functions(device_function, function, dtype):
    special = [0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan]
    z = np.array([complex(*pair) for pair in itertools.product(special, special)], dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, function)(z)
    result = device_function(z)
    for ours, theirs in ((result.real, expected.real), (result.imag, expected.imag)):
        np.testing.assert_allclose(np.abs(ours), np.abs(theirs), rtol=1e-5)
    # The standard leaves signs open where a part is infinite or NaN.
    finite = np.isfinite(z)
    for ours, theirs in ((result.real, expected.real), (result.imag, expected.imag)):
        assert np.array_equal(np.signbit(ours[finite]), np.signbit(theirs[finite]))


def test_results_on_the_cpu_are_those_of_numpy(function, dtype, rng):
    a = (rng.normal(size=999) + 1j * rng.normal(size=999)).astype(dtype)
    expected = getattr(np, function)(a) * 2 + a
    np.testing.assert_array_equal(elementwise(f"{function}(a) * 2 + a")(a), expected)
    assert elementwise(f"{function}(a) * 2 + a").result_dtype(dtype) == expected.dtype.name


def test_the_header_is_included_where_it_is_used():
    f = elementwise("exp(a) + sqrt(b)")
    assert "complex.cuh" in f.source("complex64", "float32")
    assert "complex.cuh" not in f.source("float32", "float32")
    assert "gpukern::complex_exp(x0)" in f.source("complex64", "float32")


def test_other_functions_are_refused():
    with pytest.raises(gpukern.GpukernError, match="cosh is not known for complex numbers"):
        elementwise("cosh(a)")(np.ones(3, "c8"))
