# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""An implementation: one column of a table.

An implementation makes a function without arguments for the operands of a case. What it cannot do
raises NotApplicable: the cell of the table stays empty.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

OURS, VARIANT, PEER, CEILING = "ours", "variant", "peer", "ceiling"


class NotApplicable(Exception):  # noqa: N818  (not an error)
    """The implementation has no such operation, or its library is missing."""


@dataclass(frozen=True)
class Implementation:
    """One column of a table."""

    name: str
    role: str
    make: Callable
    # JAX uses separate streams, which the benchmark's events do not cover: it is timed by the host.
    wall: bool = False
    # A call that waits for the stream cannot be captured into a graph.
    capturable: bool = True
    # It computes y += a x, so `out` must hold y before a checked call.
    in_place: bool = False
    # A ceiling moves bytes instead of computing the result.
    checked: bool = True
    # For ceilings: units of work per call of the case, given the unit.
    work: Callable | None = None


def ceiling(name, make, work=None):
    """A ceiling that moves bytes instead of computing the result."""
    return Implementation(name, CEILING, make, checked=False, work=work)


def library(bench, name):
    """Return a library; NotApplicable if it is missing."""
    try:
        return bench.libraries[name]
    except KeyError:
        raise NotApplicable(f"no {name}: {bench.missing.get(name, 'not opened')}") from None


def copy_half(bench, case, at):
    """Copy half of the bytes that must be read and written, in words of 16 bytes."""
    half = case.traffic // 2 // 16 * 16
    return lambda: bench.native.enqueue("copy", at.copy, at.original, half)


def returning_tensor(call):
    """Mark a call of torch as one that returns its result."""
    call.result_address = lambda result: result.data_ptr()
    return call


def returning_array(cupy, call):
    """Mark a call of CuPy as one that returns its result."""
    call.result_address = cupy.address_of
    return call


def returning_number(bench, at, call):
    """Mark a call as one that returns an integer on the host; a check puts it where results are."""

    def result_address(number):
        bench.native.upload(at.out, np.array([number], np.int64))
        return at.out

    call.result_address = result_address
    return call
