# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Calls on host arrays as mypy and pyright must see them; tools/check_types.py runs both."""

from array import array
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import gpukern
from gpukern import typed

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]


def results(table: Floats, index: Integers, anything: npt.NDArray[Any]) -> None:
    assert_type(gpukern.gather(table, index), Floats)
    assert_type(gpukern.gather(index, index, axis=None, mode="clip"), Integers)
    assert_type(gpukern.gather(table, [[0, 1], [2, 3]]), Floats)
    assert_type(gpukern.gather(table, [0, np.int8(1)], mode="fill", fill_value=-1), Floats)
    assert_type(gpukern.gather(table, (index, [0, 1], 2)), Floats)
    assert_type(gpukern.gather(table, array("i", [1])), Floats)
    assert_type(gpukern.gather(table, anything), Floats)
    assert_type(gpukern.gather(anything, index), npt.NDArray[Any])
    assert_type(gpukern.gather([1.0, 2.0], index), npt.NDArray[Any])
    assert_type(gpukern.gather(memoryview(b"abc"), range(2)), npt.NDArray[Any])
    assert_type(gpukern.take_along_axis(table, index), Floats)
    assert_type(gpukern.take_along_axis(table, index, 0, mode="wrap"), Floats)
    assert_type(gpukern.bincount(index), npt.NDArray[Any])
    assert_type(gpukern.bincount([0, 1], table, size=5, mode="fill"), npt.NDArray[Any])
    assert_type(gpukern.saxpy(2.0, table, table), Floats)
    assert_type(gpukern.saxpy(np.float32(2), table, [1.0]), Floats)
    assert_type(gpukern.saxpy(1j, [1j], [2j]), npt.NDArray[Any])


def scalars(table: Floats) -> None:
    # One index gives a scalar or a row, as the number of dimensions says.
    assert_type(gpukern.gather(table, 3), Any)
    assert_type(gpukern.take(table, [0, 1]), Floats)
    assert_type(gpukern.take(table, [0, 1], 0, table, "clip"), Floats)
    assert_type(gpukern.take(table, [0, 1], out=table, mode="wrap"), Floats)
    assert_type(gpukern.take(table, 3), Any)
    assert_type(gpukern.gather(table, np.int64(3)), Any)
    assert_type(gpukern.saxpy(2.0, 3.0, 4.0), Any)
    assert_type(gpukern.saxpy_many(2.0, [table], (table,)), list[Floats])
    assert_type(gpukern.saxpy_many(2.0, [table], [[1.0]], out=(table,)), tuple[Floats])
    assert_type(gpukern.saxpy_many(2.0, [[1.0]], [table]), list[Any])
    assert_type(gpukern.SaxpyList([table], [[1.0]], [table])(2.0), tuple[Any, ...])


def outputs(table: Floats, index: Integers, out: Floats, maybe: Floats | None) -> None:
    assert_type(gpukern.gather(table, index, out=out), Floats)
    assert_type(gpukern.saxpy(2.0, table, table, out=out, device="cuda:0"), Floats)
    assert_type(gpukern.gather(table, [0], out=bytearray(4)), bytearray)
    assert_type(gpukern.gather(table, index, out=maybe), Floats)
    assert_type(gpukern.elementwise("a + b")(table, 1, out=out), Floats)
    assert_type(gpukern.scatter(table, index, 1.0, reduce="add"), Floats)
    assert_type(gpukern.scatter(table, [0, 1], [1.0, 2.0], axis=None, unique=True), Floats)
    assert_type(gpukern.scatter(bytearray(4), 0, 7, out=out), Floats)
    assert_type(gpukern.put_along_axis(table, index, table, 0, order="any"), Floats)
    assert_type(gpukern.put_along_axis(index, index, 0, None, out=index, mode="wrap"), Integers)
    gpukern.copyto(out, [1.0, 2.0], blocking=False)
    typed.gather_into(table, index, out)
    typed.axpby_into(2, table, 0.5, table, out)
    typed.fma_into(table, table, table, out)
    typed.scatter_into(out, index, table, reduce=1)
    typed.put_along_axis_into(table, index, out, 1, reduce=1)
    assert_type(typed.compress_into(index, table, out), int)


@gpukern.elementwise
def product(a: Any, b: Any) -> Any:
    return a * b


@gpukern.elementwise(dtype=np.float64, name="negated")
def minus(a: Any) -> Any:
    return -a


def functions(table: Floats) -> None:
    assert_type(product, gpukern.Elementwise)
    assert_type(minus, gpukern.Elementwise)
    assert_type(gpukern.elementwise("a ? b : 0", inputs=("a", "b")), gpukern.Elementwise)
    assert_type(product(table, 2), npt.NDArray[Any])
    assert_type(product(2, table, progress=lambda done, total: None), npt.NDArray[Any])
    assert_type(product([1, 2], np.float32(2)), npt.NDArray[Any])
    assert_type(product(1, 2), Any)
    assert_type(product.inputs, tuple[str, ...])
    assert_type(product.result_dtype(np.float32, float), str)
    explained = gpukern.explain(gpukern.gather, table, [0], mode="clip")
    assert_type(explained, gpukern.Explanation)
    assert_type(explained.bytes_read, int)


def memory() -> None:
    assert_type(gpukern.pinned_empty((2, 3), np.float32), npt.NDArray[Any])
    # The classes of errors are those of Python, too.
    errors: list[type[RuntimeError]] = [gpukern.CompileError, gpukern.ContextLostError]
    assert_type(gpukern.CompileError().log, str)
    found: type[IndexError] = gpukern.errors.GpukernIndexError
    assert_type(gpukern.info()["devices"][0]["memory_bytes"], int)
    assert_type(gpukern.info()["nvrtc"]["version"], str | None)
    assert_type(gpukern.cache_info()["directory"], str | None)
    print(errors, found, gpukern.__version__, gpukern.info()["version"])
