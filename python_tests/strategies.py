# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Strategies for hypothesis: dtypes, shapes, layouts in memory, overlapping arguments."""

from dataclasses import dataclass

import numpy as np
import oracle
from hypothesis import strategies as st
from places import Window

GATHER_DTYPES = [
    np.dtype(name)
    for name in (
        "?",
        "i1",
        "u2",
        "i4",
        "i8",
        ">i4",
        ">f8",
        "f2",
        "f4",
        "f8",
        "c8",
        "c16",
        ">c8",
        "S1",
        "S7",
        "S33",
        "U3",
        ">U2",
        "M8[ns]",
        "m8[s]",
        "V3",
        "V24",
        "V100",
        "i1,f8",
        "S3,c16,?",
    )
] + [
    # Without padding, which is unspecified: NumPy 2.5 assigns it, earlier ones do not.
    np.dtype([("a", "f8"), ("b", "f8"), ("c", "i4"), ("d", "i2"), ("e", "i2")], align=True),
    np.dtype([("grid", "i2", (2, 3)), ("name", "U2")]),
    np.dtype(np.longdouble),
    np.dtype(np.clongdouble),
    np.dtype(oracle.bfloat16),
]

INDEX_DTYPES = [
    np.dtype(name) for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u2", ">i8")
]

SIZES = st.sampled_from([0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 9])


def shapes(max_ndim, sizes=SIZES):
    """Shapes of up to max_ndim dimensions; none with more than a few hundred elements."""
    return st.lists(sizes, max_size=max_ndim).map(tuple).filter(lambda s: np.prod(s) <= 200)


@st.composite
def windows(draw, dtype, shape, writable=False):
    """Layouts: any order of the dimensions, gaps, negative and zero strides, odd addresses."""
    order = draw(st.permutations(range(len(shape))))
    kinds = ["plain"] * 4 + ["gap", "reversed", "reversed gap"] + ["repeated"] * (not writable)
    # A field of packed records: no stride is a whole number of elements. Not with padding inside,
    # which NumPy's copies of such layouts need not keep.
    gaps = [0] if dtype.isalignedstruct else [0, 0, 0, 0, 3]
    item = dtype.itemsize + draw(st.sampled_from(gaps))
    strides = [0] * len(shape)
    offset = draw(st.sampled_from([0, 0, 0, 1, 2, 3, 8]))
    step = item
    for d in order:
        kind = draw(st.sampled_from(kinds))
        if kind == "repeated":
            continue
        strides[d] = step * 2 if "gap" in kind else step
        step = strides[d] * max(shape[d], 1)
        if "reversed" in kind:
            offset += strides[d] * max(shape[d] - 1, 0)
            strides[d] = -strides[d]
    return Window(dtype, shape, tuple(strides), offset)


@dataclass(frozen=True)
class GatherPlan:
    """The structure of a call; data, indices and fill values are random."""

    source: Window
    index: Window
    axis: int | None
    out: Window | None
    out_memory: str  # 'own', 'source' or 'index'
    fill_shape: tuple | None  # None: the default


def gather_shape(source, index, axis):
    if axis is None or not source:
        return index
    axis %= len(source)
    return source[:axis] + index + source[axis + 1 :]


@st.composite
def gather_plans(draw):
    dtype = draw(st.sampled_from(GATHER_DTYPES))
    shape = draw(shapes(4))
    axis = draw(st.sampled_from([None, *range(-max(len(shape), 1), max(len(shape), 1))]))
    source = draw(windows(dtype, shape))
    index_shape = draw(shapes(3))
    index = draw(windows(draw(st.sampled_from(INDEX_DTYPES)), index_shape))
    result = gather_shape(shape, index_shape, axis)
    out, out_memory = None, "own"
    if draw(st.booleans()):
        out_memory = draw(st.sampled_from(["own", "source", "index"]))
        out = draw(windows(dtype, result, writable=True)).moved(draw(st.integers(0, 40)))
    item = shape[axis % len(shape) + 1 :] if axis is not None and shape else ()
    fill_shapes = [None, ()] + [item[k:] for k in range(len(item))]
    return GatherPlan(source, index, axis, out, out_memory, draw(st.sampled_from(fill_shapes)))


@dataclass(frozen=True)
class SaxpyPlan:
    """The structure of a call; data are random."""

    kind: oracle.SaxpyType
    x: Window
    y: Window
    y_memory: str  # 'own' or 'x'
    out: Window | None
    out_memory: str  # 'own', 'x' or 'y'


@st.composite
def saxpy_plans(draw):
    kind = oracle.SAXPY_TYPES[draw(st.sampled_from(sorted(oracle.SAXPY_TYPES)))]
    dtype = kind.dtype
    shape = draw(shapes(3))
    x = draw(windows(dtype, shape))
    y = draw(windows(dtype, shape))
    y_memory = draw(st.sampled_from(["own", "own", "x"]))
    how = draw(st.sampled_from(["new", "own", "x", "y", "in place"]))
    if how == "new":
        return SaxpyPlan(kind, x, y, y_memory, None, "own")
    if how == "in place":
        if any(n > 1 and s == 0 for n, s in zip(shape, x.strides, strict=True)):
            x = draw(windows(dtype, shape, writable=True))
        return SaxpyPlan(kind, x, y, y_memory, x, "x")
    out = draw(windows(dtype, shape, writable=True)).moved(draw(st.integers(0, 40)))
    return SaxpyPlan(kind, x, y, y_memory, out, how)
