# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The functions on typed memoryviews, from Cython: the types that packages declare."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
from commands import compiler

import gpukern

# Types and the dtypes that they view.
INDEX_TYPES = {
    "int32_t": "i4",
    "int64_t": "i8",
    "uint32_t": "u4",
    "uint64_t": "u8",
    "cnp.int32_t": "i4",
    "cnp.int64_t": "i8",
    "cnp.uint64_t": "u8",
    "cnp.intp_t": "p",
    "int": "i",
    "long": "l",
    "long long": "q",
    "Py_ssize_t": "p",
    "size_t": "P",
}
ITEM_TYPES = {
    "float": "f4",
    "cnp.float64_t": "f8",
    "cnp.complex64_t": "c8",
    "uint8_t": "u1",
    "cnp.int64_t": "i8",
    "long": "l",
    "float complex": "c8",
}
POSITION_TYPES = ["int64_t", "cnp.int64_t", "cnp.intp_t", "long", "long long", "Py_ssize_t"]
IN_BRACKETS = {"long long": "cython.longlong", "float complex": "cython.floatcomplex"}
AXPBY_TYPES = {"float": "f4", "cnp.float32_t": "f4", "double": "f8", "cnp.float64_t": "f8"}
SAXPY_TYPES = {"float": "f4", "cnp.float64_t": "f8", "int": "i", "cnp.int64_t": "i8"}

PROLOGUE = """\
# cython: language_level=3
cimport cython
cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from gpukern cimport (
    axpby_into, bincount_into, compress_into, count_nonzero, fma_into, gather_into,
    gather_pairs_into, gather_reduce_rows_into, gather_rows_into, gather_triples_into,
    nonzero_into, put_along_axis_into, saxpy_into, scatter_into, scatter_pairs_into,
    scatter_rows_into, scatter_triples_into, segment_reduce_rows_into, take_along_axis_into,
)

def count(const uint8_t[::1] mask):
    cdef Py_ssize_t number
    with nogil:
        number = count_nonzero(mask)
    return number
"""
INDEX = """
def index_{n}(const float[:] source, const {t}[:] index, float[:] out):
    gather_into(source, index, out)

def contiguous_index_{n}(const float[::1] source, const {t}[::1] index, float[:] out):
    gather_into[float, {b}](source, index, out)

def bincount_{n}(const {t}[:] index, long[:] out):
    with nogil:
        bincount_into(index, out)

def contiguous_bincount_{n}(const {t}[::1] index, cnp.int64_t[::1] out):
    bincount_into[{b}, cnp.int64_t](index, out, 3)
"""
POSITION = """
def nonzero_{n}(const uint8_t[:] mask, {t}[:] out):
    return nonzero_into(mask, out)

def contiguous_nonzero_{n}(const uint8_t[::1] mask, {t}[::1] out):
    cdef Py_ssize_t count
    with nogil:
        count = nonzero_into[{b}](mask, out)
    return count
"""
ITEM = """
def item_{n}(const {t}[:] source, const long[:] index, {t}[:] out):
    gather_into(source, index, out)

def contiguous_item_{n}(const {t}[::1] source, const long[:] index, {t}[::1] out):
    gather_into[{b}, long](source, index, out)

def rows_{n}(const {t}[:, ::1] source, const long[:] index, {t}[:, ::1] out):
    gather_rows_into[{b}, long](source, index, out)

def add_{n}({t}[:] target, const long[:] index, const {t}[:] values):
    with nogil:
        scatter_into(target, index, values, 0, 1)

def add_rows_{n}({t}[:, ::1] target, const long[:] index, const {t}[:, ::1] values):
    scatter_rows_into[{b}, long](target, index, values, 0, 1)

def pairs_{n}({t}[:, :] table, const int[:] i, const int[:] j, {t}[:] out):
    with nogil:
        gather_pairs_into(table, i, j, out)
        scatter_pairs_into(table, i, j, out, 0, 1)

def triples_{n}({t}[:, :, ::1] table, const int[::1] i, const int[::1] j, const int[::1] k,
                {t}[::1] out):
    gather_triples_into[{b}, int](table, i, j, k, out)
    scatter_triples_into[{b}, int](table, i, j, k, out, 0, 1)

def along_axis_{n}({t}[:, :] table, const long[:, :] index, int axis, {t}[:, :] out):
    with nogil:
        take_along_axis_into(table, index, axis, out)
        put_along_axis_into(table, index, out, axis, 0, 1)

def contiguous_along_axis_{n}({t}[:, ::1] table, const long[:, ::1] index, int axis,
                              {t}[:, ::1] out):
    take_along_axis_into[{b}, long](table, index, axis, out)
    put_along_axis_into[{b}, long](table, index, out, axis, 0, 1)

def compress_{n}(const uint8_t[:] mask, const {t}[:] x, {t}[:] out):
    return compress_into(mask, x, out)

def contiguous_compress_{n}(const uint8_t[::1] mask, const {t}[::1] x, {t}[::1] out):
    cdef Py_ssize_t count
    with nogil:
        count = compress_into[{b}](mask, x, out)
    return count
"""
SAXPY = """
def saxpy_{n}({t} a, const {t}[:] x, {t}[:] out):
    saxpy_into(a, x, out, out)

def contiguous_saxpy_{n}({t} a, const {t}[::1] x, {t}[::1] out):
    with nogil:
        saxpy_into[{b}](a, x, out, out)

def bags_{n}(const {t}[:, :] source, const long[:] index, const long[:] offsets, {t}[:, :] out):
    with nogil:
        gather_reduce_rows_into(source, index, offsets, out)

def segments_{n}(const {t}[:, ::1] x, const int[::1] offsets, {t}[:, ::1] out):
    segment_reduce_rows_into[{b}, int](x, offsets, out, 2, 4)
"""
AXPBY = """
def axpby_{n}({t} a, const {t}[:] x, {t} b, const {t}[:] y, {t}[:] out):
    axpby_into(a, x, b, y, out)

def contiguous_axpby_{n}({t} a, const {t}[::1] x, {t} b, const {t}[::1] y, {t}[::1] out):
    with nogil:
        axpby_into[{b}](a, x, b, y, out)

def fma_{n}(const {t}[:] x, const {t}[:] y, {t}[:] out):
    fma_into(x, y, out, out)

def contiguous_fma_{n}(const {t}[::1] x, const {t}[::1] y, {t}[::1] out):
    with nogil:
        fma_into[{b}](x, y, out, out)
"""


def functions(template, types):
    """The functions of a template for each type."""
    return "".join(template.format(n=n, t=t, b=IN_BRACKETS.get(t, t)) for n, t in enumerate(types))


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    pytest.importorskip("Cython")
    compiler("CC")
    folder = tmp_path_factory.mktemp("extension")
    (folder / "typed_functions.pyx").write_text(
        PROLOGUE
        + functions(INDEX, INDEX_TYPES)
        + functions(ITEM, ITEM_TYPES)
        + functions(POSITION, POSITION_TYPES)
        + functions(SAXPY, SAXPY_TYPES)
        + functions(AXPBY, AXPBY_TYPES)
    )
    include = f"-O0 -I{gpukern.get_include()} -I{np.get_include()}"
    command = [sys.executable, "-m", "Cython.Build.Cythonize", "--inplace", "typed_functions.pyx"]
    run = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "CFLAGS": include},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    (module,) = folder.glob("typed_functions.*.so")
    spec = importlib.util.spec_from_file_location("typed_functions", module)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize("name", INDEX_TYPES)
def test_index_types(extension, name, rng):
    n = list(INDEX_TYPES).index(name)
    source = rng.random(9, "f4")
    index = rng.integers(0, 9, 5).astype(INDEX_TYPES[name])
    for function in ("index", "contiguous_index"):
        out = np.zeros(5, "f4")
        getattr(extension, f"{function}_{n}")(source, index, out)
        assert np.array_equal(out, source[index])


def test_an_index_of_an_unsigned_type_is_not_negative(extension):
    n = list(INDEX_TYPES).index("uint64_t")
    with pytest.raises(IndexError, match=f"index {2**64 - 1} is out of bounds"):
        getattr(extension, f"index_{n}")(
            np.zeros(3, "f4"), np.array([2**64 - 1], "u8"), np.zeros(1, "f4")
        )


@pytest.mark.parametrize("name", ITEM_TYPES)
def test_item_types(extension, name, rng):
    n = list(ITEM_TYPES).index(name)
    source = rng.integers(0, 100, (9, 4)).astype(ITEM_TYPES[name])
    index = rng.integers(0, 9, 5)
    for function in ("item", "contiguous_item"):
        out = np.zeros(5, source.dtype)
        getattr(extension, f"{function}_{n}")(np.ascontiguousarray(source[:, 1]), index, out)
        assert np.array_equal(out, source[index, 1])
    out = np.zeros((5, 4), source.dtype)
    getattr(extension, f"rows_{n}")(source, index, out)
    assert np.array_equal(out, source[index])


@pytest.mark.parametrize("name", ITEM_TYPES)
def test_item_types_of_scatter(extension, name, rng):
    n = list(ITEM_TYPES).index(name)
    values = rng.integers(0, 100, (50, 4)).astype(ITEM_TYPES[name])
    index = rng.integers(0, 9, 50)
    expected = np.zeros((9, 4), values.dtype)
    np.add.at(expected, index, values)
    target = np.zeros_like(expected)
    getattr(extension, f"add_rows_{n}")(target, index, values)
    assert np.array_equal(target, expected)
    column = np.zeros(9, values.dtype)
    getattr(extension, f"add_{n}")(column, index, values[:, 1])
    assert np.array_equal(column, expected[:, 1])


@pytest.mark.parametrize("name", ITEM_TYPES)
@pytest.mark.parametrize("function", ["pairs", "triples"])
def test_several_indices(extension, name, function, rng):
    shape = (5, 6, 7)[: 2 if function == "pairs" else 3]
    table = rng.integers(0, 50, shape).astype(ITEM_TYPES[name])
    index = tuple(rng.integers(0, n, 20).astype("i") for n in shape)
    out, expected = np.zeros(20, table.dtype), table.copy()
    np.add.at(expected, index, table[index])
    values = table[index]
    getattr(extension, f"{function}_{list(ITEM_TYPES).index(name)}")(table, *index, out)
    assert np.array_equal(out, values)
    assert np.array_equal(table, expected)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ITEM_TYPES)
def test_along_an_axis(extension, name, axis, rng):
    n = list(ITEM_TYPES).index(name)
    index = rng.integers(0, 5, (5, 5))
    for function in ("along_axis", "contiguous_along_axis"):
        table = rng.integers(0, 50, (5, 5)).astype(ITEM_TYPES[name])
        expected, values = table.copy(), np.take_along_axis(table, index, axis)
        gpukern.put_along_axis(expected, index, values, axis, reduce="add")
        out = np.zeros_like(table)
        getattr(extension, f"{function}_{n}")(table, index, axis, out)
        assert np.array_equal(out, values)
        assert np.array_equal(table, expected)


@pytest.mark.parametrize("name", INDEX_TYPES)
def test_bincount_types(extension, name, rng):
    n = list(INDEX_TYPES).index(name)
    index = rng.integers(0, 9, 50).astype(INDEX_TYPES[name])
    out = np.zeros(9, int)
    getattr(extension, f"bincount_{n}")(index, out)
    assert np.array_equal(out, np.bincount(index, minlength=9))
    with pytest.raises(IndexError, match=r"^bincount: index must be in \[0, 3\)$"):
        getattr(extension, f"bincount_{n}")(np.array([-1]).astype(index.dtype), out[:3])
    getattr(extension, f"contiguous_bincount_{n}")(index, out[:5])
    assert np.array_equal(out[:5], np.bincount(index[index < 5], minlength=5))


@pytest.mark.parametrize("mask_dtype", [bool, np.uint8])
@pytest.mark.parametrize("n", range(len(POSITION_TYPES)))
def test_position_types(extension, n, mask_dtype, rng):
    mask = (rng.random(30) < 0.5).astype(mask_dtype)
    assert extension.count(mask) == mask.sum()
    for function in ("nonzero", "contiguous_nonzero"):
        out = np.full(30, 7)
        assert getattr(extension, f"{function}_{n}")(mask, out) == mask.sum()
        assert np.array_equal(out, gpukern.nonzero(mask, size=30)[0])


@pytest.mark.parametrize("name", ITEM_TYPES)
def test_item_types_of_compress(extension, name, rng):
    mask = rng.random(30) < 0.5
    x = rng.integers(1, 100, 30).astype(ITEM_TYPES[name])
    for function in ("compress", "contiguous_compress"):
        out = np.full(4, 7, x.dtype)
        counted = getattr(extension, f"{function}_{list(ITEM_TYPES).index(name)}")(mask, x, out)
        assert counted == mask.sum()
        assert np.array_equal(out, gpukern.compress(mask, x, size=4))


@pytest.mark.parametrize("name", SAXPY_TYPES)
def test_saxpy_types(extension, name, rng):
    n = list(SAXPY_TYPES).index(name)
    x, y = rng.integers(0, 100, (2, 7)).astype(SAXPY_TYPES[name])
    for function in ("saxpy", "contiguous_saxpy"):
        out = y.copy()
        getattr(extension, f"{function}_{n}")(3, x, out)
        assert np.array_equal(out, 3 * x + y)


@pytest.mark.parametrize("name", AXPBY_TYPES)
def test_axpby_and_fma_types(extension, name, rng):
    n = list(AXPBY_TYPES).index(name)
    x, y, z = rng.random((3, 7)).astype(AXPBY_TYPES[name])
    for kind in ("", "contiguous_"):
        out = np.zeros_like(x)
        getattr(extension, f"{kind}axpby_{n}")(0.1, x, -3, y, out)
        assert np.array_equal(out, gpukern.axpby(0.1, x, -3, y))
        out = z.copy()
        getattr(extension, f"{kind}fma_{n}")(x, y, out)
        assert np.array_equal(out, gpukern.fma(x, y, z))


@pytest.mark.parametrize("name", SAXPY_TYPES)
def test_types_of_reductions_of_bags(extension, name, rng):
    n = list(SAXPY_TYPES).index(name)
    table = rng.integers(0, 100, (9, 4)).astype(SAXPY_TYPES[name])
    index, offsets = rng.integers(0, 9, 20), np.array([0, 7, 7, 20])
    out = np.zeros((3, 4), table.dtype)
    getattr(extension, f"bags_{n}")(table, index, offsets, out)
    assert np.array_equal(out, gpukern.gather_reduce(table, index, offsets))
    getattr(extension, f"segments_{n}")(table, np.array([0, 2, 8, 99], "i"), out)
    assert np.array_equal(out, [table[:2].max(0), table[2:8].max(0), table[8:].max(0)])


def test_a_dimension_of_one_element_may_have_any_stride(extension):
    rows = np.array([(0, [1, 2, 3, 4])], [("a", "u1"), ("b", "f4", 4)])["b"][:, ::2]
    assert rows.strides == (17, 8)
    out = np.zeros((1, 2), "f4")
    n = list(SAXPY_TYPES).index("float")
    getattr(extension, f"bags_{n}")(rows, np.array([0, 0]), np.array([0, 2]), out)
    assert np.array_equal(out, [[2, 6]])
