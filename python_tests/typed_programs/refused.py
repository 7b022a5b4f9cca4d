# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Calls that mypy and pyright must refuse.

Each comment is an error itself where its checker accepts the line, and names the rule. mypy reads
"type: ignore", pyright its own.
"""

import jax
import numpy as np
import numpy.typing as npt

import gpukern
from gpukern.distributed import DistributedArray

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]


def operations(
    x: Floats, i: Integers, listed: list[float], array: jax.Array, kernel: gpukern.Kernel
) -> None:
    gpukern.gather(x, x)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.gather(x, "abc")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.gather(x, listed)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.gather(x, 0.5)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.gather(x)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    gpukern.gather(x, i, 0)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    gpukern.gather(x, i, mode="modulo")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.gather(x, i, axis=0.5)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.gather(x, i, out=[1.0])  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.gather(x, i, out=array)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.gather(x, i, device=1.5)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.gather(x, i, indices=i)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    gpukern.take_along_axis(x, x)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.take_along_axis(x, i, 0, "clip")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    gpukern.saxpy("2", x, x)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.saxpy(2.0, x)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    gpukern.saxpy(2.0, x, x, x)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    gpukern.saxpy(2.0, x, x, progress=3)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.explain("gather", x, i)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    gpukern.copyto([1.0], x)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    gpukern.elementwise(3)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.elementwise("a + b")(x, mode="clip")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    gpukern.elementwise(np.sin, inputs=["x"])  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    gpukern.set_num_threads("4")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    kernel[1](x)  # type: ignore[index]  # pyright: ignore[reportArgumentType]
    kernel[1, 2, 3, None, 5](x)  # type: ignore[index]  # pyright: ignore[reportArgumentType]


def distributed_arrays(x: DistributedArray, i: Integers) -> None:
    gpukern.gather(x, (i, i))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.gather(x, i, device="cuda")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.scatter(x, i, 1.0, out=x)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    gpukern.saxpy(2.0, x, [1.0])  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]


def classes(x: gpukern.DeviceArray) -> None:
    gpukern.DeviceArray((3,))  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    gpukern.Explanation(op="gather")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    gpukern.Program(b"source")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    x.shape = (3,)  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    gpukern.explain(gpukern.gather, x, 0).op = "take"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    gpukern.SaxpyList([x], [x], [x]).out = ()  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    np.add(x, x)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    print(x + x)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnknownArgumentType]
    gpukern.gather(x, [0]).sum()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


class Derived(gpukern.Kernel):  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
    pass
