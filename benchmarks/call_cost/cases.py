# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Every kind of argument that gpukern's calls accept, each with the call of its peer.

A case is a statement on the names of a group, and the statements of its peers. It exists in groups
that define all names that it uses. See groups.py.
"""

from dataclasses import dataclass, field

# Kinds of `a`, and the arrays that take them. The names are those of groups.SCALARS.
SCALARS = {
    "int": ("a_int", "x", "y"),
    "float": ("a_float", "x", "y"),
    "bool": ("a_bool", "x", "y"),
    "complex": ("a_complex", "xc", "yc"),
    "np.float16": ("a_float16", "x", "y"),
    "np.float32": ("a_float32", "x", "y"),
    "np.float64": ("a_float64", "x", "y"),
    "np.int32": ("a_int32", "x", "y"),
    "np.bool": ("a_npbool", "x", "y"),
    "0-d ndarray": ("a_0d", "x", "y"),
    "0-d torch tensor": ("a_torch", "x", "y"),
}
LAYOUTS = {
    "x expanded (zero stride)": ("xe", "y"),
    "x strided": ("xs", "y"),
    "x and y strided": ("xs", "ys"),
    "x reversed": ("xr", "y"),
    "x and y reversed": ("xr", "yr"),
    "2-D": ("x2", "y2"),
    "F order": ("xf", "yf"),
    "F order and C order": ("xf", "y2"),
    "float16": ("xh", "yh"),
    "bfloat16": ("xb", "yb"),
    "float64": ("xd", "yd"),
    "complex64": ("xc", "yc"),
    "int32": ("xi", "yi"),
    "unaligned": ("x_unaligned", "y_unaligned"),
    "record fields": ("x_field", "y_field"),
    "read-only": ("x_readonly", "y_readonly"),
}
BROADCASTS = {
    "a row broadcast": ("row", "y2"),
    "a column broadcast": ("column", "y2"),
}
# In the order of the arguments of saxpy; {x} and {y} are names of arrays.
SAXPY_PEERS = {
    "numpy": "{a} * {x} + {y}",
    "torch": "add({y}, {x}, alpha=2)",
    "cupy": "kernel({two}, {x}, {y})",
}
SAXPY_OUT_PEERS = {
    "numpy": "multiply({x}, 2, out={out}); add({out}, {y}, out={out})",
    "torch": "add({y}, {x}, alpha=2, out={out})",
    "cupy": "kernel({two}, {x}, {y}, {out})",
}
TAKE = {"numpy": "take({s}, {i})", "torch": "index_select({s}, 0, {i})", "cupy": "take({s}, {i})"}
FANCY = dict.fromkeys(("numpy", "torch", "cupy"), "{s}[{i}]")
# Kinds of index, and the peers that accept them.
INDICES = {
    "int64": ("i64", TAKE),
    "int64, beside x[i]": ("i64", FANCY),
    "int32": ("i32", TAKE),
    "uint8": ("iu8", {**TAKE, "torch": "{s}[{i}.long()]"}),
    "2-D": ("i2", {**TAKE, "torch": "{s}[{i}]"}),
    "0-d": ("i0", {**TAKE, "torch": "{s}[{i}]"}),
    "list": ("i_list", {**TAKE, **FANCY, "numpy": TAKE["numpy"]}),
    "range": ("i_range", {"numpy": TAKE["numpy"]}),
    "int": ("i_int", {**FANCY, "numpy": TAKE["numpy"]}),
    "int, beside x[i]": ("i_int", FANCY),
    "np.int64": ("i_np", {**FANCY, "numpy": TAKE["numpy"]}),
    "host ndarray": ("i_host", {"cupy": TAKE["cupy"], "torch": "{s}[{i}]"}),
}
# Sources that exist on the host only.
HOST_SOURCES = (
    "unaligned", "readonly", "field", "record", "big_endian", "bytes", "str", "datetime", "object",
    "subclass", "masked", "array", "memoryview",
)  # fmt: skip
SOURCES = {
    "strided": ("xs", TAKE),
    "reversed": ("xr", TAKE),
    "expanded (zero stride)": ("xe", TAKE),
    "float16": ("xh", TAKE),
    "bfloat16": ("xb", TAKE),
    "complex64": ("xc", TAKE),
    "2-D, rows": ("x2", {**TAKE, "numpy": "take({s}, {i}, axis=0)",
                         "cupy": "take({s}, {i}, axis=0)"}),
    "F order, rows": ("xf", {**TAKE, "numpy": "take({s}, {i}, axis=0)",
                             "cupy": "take({s}, {i}, axis=0)"}),
}  # fmt: skip


@dataclass
class Case:
    """A statement, the names that it requires, and its peers' statements by kind of group."""

    name: str
    statement: str
    peers: dict = field(default_factory=dict)


def filled(peers, **names):
    """Return the statements of peers for names of arrays."""
    names.setdefault("two", "two")
    return {kind: statement.format(**names) for kind, statement in peers.items()}


def arithmetic_cases(operation, call, layouts):
    """Yield the cases of saxpy, or of an element-wise function of the same arguments."""
    for kind, (a, x, y) in SCALARS.items():
        # CuPy's kernel does not accept a 0-d tensor; NumPy multiplies by its number.
        value = f"{a}.item()" if a == "a_torch" else a
        peers = filled(SAXPY_PEERS, a=value, x=x, y=y)
        if a == "a_torch":
            peers["torch"] = f"{a} * {x} + {y}"
        yield Case(f"{operation}, a: {kind}", f"{call}({a}, {x}, {y})", peers)
    for kind, (x, y) in layouts.items():
        peers = filled(SAXPY_PEERS, a="a_int", x=x, y=y)
        yield Case(f"{operation}, {kind}", f"{call}(2, {x}, {y})", peers)
    for kind, a, x, y, out in (
        ("out=", "a_float", "x", "y", "out"),
        ("out=, a: np.float32", "a_float32", "x", "y", "out"),
        ("out=, 2-D", "a_float", "x2", "y2", "out2"),
        ("out=, x expanded", "a_float", "xe", "y", "out"),
        ("out= strided", "a_float", "x", "y", "out_strided"),
        ("out= is x", "a_float", "zeros", "zeros", "zeros"),
    ):
        peers = filled(SAXPY_OUT_PEERS, x=x, y=y, out=out)
        yield Case(f"{operation}, {kind}", f"{call}({a}, {x}, {y}, out={out})", peers)
    peers = filled(SAXPY_PEERS, a="a_float", x="x", y="y")
    for option, value in (("stream", "stream"), ("device", "device"), ("progress", "progress")):
        statement = f"{call}(a_float, x, y, {option}={value})"
        yield Case(f"{operation}, {option}=", statement, peers)
    with_out = filled(SAXPY_OUT_PEERS, x="x", y="y", out="out")
    statement = f"{call}(a_float, x, y, out=out, stream=stream)"
    yield Case(f"{operation}, out=, stream=", statement, with_out)


def buffer_cases():
    """Yield the cases of saxpy on buffers that are not ndarrays."""
    for kind in ("array", "memoryview"):
        peers = {"numpy": f"a_float * asarray(x_{kind}) + asarray(y_{kind})"}
        yield Case(f"saxpy, {kind}", f"saxpy(a_float, x_{kind}, y_{kind})", peers)


def gather_cases():
    """Yield the cases of gather."""
    for kind, (index, peers) in INDICES.items():
        yield Case(f"gather, index: {kind}", f"gather(x, {index})", filled(peers, s="x", i=index))
    for kind, (source, peers) in SOURCES.items():
        index = "i_rows" if "rows" in kind else "i64"
        yield Case(
            f"gather, source: {kind}", f"gather({source}, {index})",
            filled(peers, s=source, i=index),
        )  # fmt: skip
    for kind in HOST_SOURCES:
        statement, peers = f"gather(x_{kind}, i64)", {"numpy": f"take(x_{kind}, i64)"}
        yield Case(f"gather, source: {kind.replace('_', '-')}", statement, peers)
    for axis in (1, -1):
        peers = {
            "numpy": f"take(x2, i_rows, axis={axis})",
            "torch": f"index_select(x2, {axis}, i_rows)",
            "cupy": f"take(x2, i_rows, axis={axis})",
        }
        yield Case(f"gather, axis={axis}", f"gather(x2, i_rows, axis={axis})", peers)
    pair = dict.fromkeys(("numpy", "torch", "cupy"), "x2[i_rows, i_rows]")
    yield Case("gather, index: tuple", "gather(x2, (i_rows, i_rows))", pair)
    flat = dict.fromkeys(("numpy", "torch", "cupy"), "take(x2, i64)")
    yield Case("gather, axis=None", "gather(x2, i64, axis=None)", flat)
    for mode in ("wrap", "clip"):
        peers = {
            **filled(TAKE, s="x", i="i64"),
            "numpy": f"take(x, i64, mode='{mode}')",
        }
        yield Case(f"gather, mode='{mode}'", f"gather(x, i64, mode='{mode}')", peers)
    fill = {"numpy": "where(i64 < 10, take(x, i64, mode='clip'), 0)"}
    yield Case("gather, mode='fill'", "gather(x, i64, mode='fill')", fill)
    fill = {"numpy": "where(i64 < 10, take(x, i64, mode='clip'), 7)"}
    yield Case(
        "gather, mode='fill', fill_value=", "gather(x, i64, mode='fill', fill_value=7.0)", fill
    )
    for mode in ("raise", "wrap", "clip"):
        peers = {
            "numpy": f"take(x, i64, out=out, mode='{mode}')",
            "torch": "index_select(x, 0, i64, out=out)",
            "cupy": "take(x, i64, out=out)",
        }
        statement = f"gather(x, i64, out=out, mode='{mode}')"
        yield Case(f"gather, out=, mode='{mode}'", statement, peers)
    take = filled(TAKE, s="x", i="i64")
    for option, value in (("stream", "stream"), ("device", "device"), ("progress", "progress")):
        statement = f"gather(x, i64, mode='clip', {option}={value})"
        yield Case(f"gather, {option}=", statement, take)


PUT = {"numpy": "{t}[{i}] = {v}", "torch": "{t}.index_copy_(0, {i}, {v})",
       "cupy": "{t}[{i}] = {v}"}  # fmt: skip
ADD_AT = {"numpy": "add_at({t}, {i}, {v})", "torch": "{t}.index_add_(0, {i}, {v})",
          "cupy": "add_at({t}, {i}, {v})"}  # fmt: skip
ALONG = {
    "numpy": "put_along_axis_peer({t}, {i}, {v}, 1)",
    "torch": "{t}.scatter_(1, {i}, {v})",
    "cupy": "put_along_axis_peer({t}, {i}, {v}, 1)",
}


def scatter_cases():
    """Yield the cases of scatter and put_along_axis."""
    for kind, target, index, values, options, peers in (
        ("put", "out", "i64", "x", "", PUT),
        ("put, index: int32", "out", "i32", "x", "", {**PUT, "torch": ""}),
        ("put, rows", "out2", "i_rows", "x2", "", PUT),
        ("put, a scalar", "out", "i64", "2.0", "",
         {**PUT, "torch": "{t}.index_fill_(0, {i}, {v})"}),
        ("put, mode='clip'", "out", "i64", "x", ", mode='clip'", PUT),
        ("add", "out", "i64", "x", ", reduce='add'", ADD_AT),
        ("add, mode='clip'", "out", "i64", "x", ", reduce='add', mode='clip'", ADD_AT),
        ("add, order='any'", "out", "i64", "x", ", reduce='add', order='any'", ADD_AT),
        ("add, rows", "out2", "i_rows", "x2", ", reduce='add'", ADD_AT),
    ):  # fmt: skip
        statement = f"scatter({target}, {index}, {values}{options})"
        yield Case(f"scatter, {kind}", statement, filled(peers, t=target, i=index, v=values))
    peers = {
        "numpy": "copyto_peer(out, x); out[i64] = y",
        "torch": "index_copy(x, 0, i64, y, out=out)",
    }
    yield Case("scatter, out=", "scatter(x, i64, y, out=out)", peers)
    peers = filled(ALONG, t="out2", i="i_along", v="x2")
    yield Case("put_along_axis", "put_along_axis(out2, i_along, x2)", peers)


def reduction_and_selection_cases():
    """Yield the cases of the other operations on an index, offsets or a mask."""
    along = dict.fromkeys(("numpy", "cupy"), "take_along_axis_peer(x2, i_along, 1)")
    along["torch"] = "take_along_dim(x2, i_along, 1)"
    yield Case("take_along_axis", "take_along_axis(x2, i_along, 1)", along)
    bins = dict.fromkeys(("numpy", "torch", "cupy"), "bincount_peer(i64, minlength=10)")
    yield Case("bincount, size=", "bincount(i64, size=10)", bins)
    yield Case("bincount", "bincount(i_readonly)", {"numpy": "bincount_peer(i_readonly)"})
    sums = {"numpy": "add_reduceat(x, starts)", "torch": "segment_peer(x, 'sum', offsets=offsets)"}
    yield Case("segment_reduce", "segment_reduce(x, offsets)", sums)
    yield Case("gather_reduce", "gather_reduce(x, i64, offsets)")
    found = dict.fromkeys(("numpy", "cupy"), "nonzero_peer(mask)")
    found["torch"] = "nonzero_peer(mask, as_tuple=True)"
    yield Case("nonzero", "nonzero(mask)", found)
    yield Case("nonzero, size=", "nonzero(mask, size=4)")
    count = dict.fromkeys(("numpy", "torch", "cupy"), "count_nonzero_peer(mask)")
    yield Case("count_nonzero", "count_nonzero(mask)", count)
    yield Case(
        "compress", "compress(mask, x)", dict.fromkeys(("numpy", "torch", "cupy"), "x[mask]")
    )
    yield Case("compress, size=", "compress(mask, x, size=4)")


def other_cases():
    """Yield the cases of copyto, explain and launches."""
    copies = {"numpy": "copyto_peer({d}, {s})", "torch": "{d}.copy_({s})", "cupy": "{d}[...] = {s}"}
    for kind, to, source in (
        ("contiguous", "out", "x"),
        ("strided", "out", "xs"),
        ("2-D", "out2", "x2"),
        ("F order", "out2", "xf"),
        ("from the host", "out", "x_host"),
    ):
        peers = filled(copies, d=to, s=source)
        if source == "x_host":
            peers = {"torch": "out.copy_(as_tensor(x_host))", "cupy": "out.set(x_host)"}
        yield Case(f"copyto, {kind}", f"copyto({to}, {source})", peers)
    yield Case("explain(saxpy)", "explain(saxpy, 2.0, x, y)")
    yield Case("explain(gather)", "explain(gather, x, i64)")
    yield Case("explain(scatter)", "explain(scatter, out, i64, x)")
    yield Case("launch, `kernel[grid, block](...)`", "scale[1, 64](2.0, x, out, 10)")
    yield Case("launch, NumPy scalars", "scale[1, 64](a_float32, x, out, a_int32)")
    yield Case("launch, stream=", "scale.launch(1, 64, 2.0, x, out, 10, stream=stream)")


def cases():
    """Yield all cases."""
    yield from arithmetic_cases("saxpy", "saxpy", LAYOUTS)
    yield from buffer_cases()
    yield from gather_cases()
    yield from scatter_cases()
    yield from reduction_and_selection_cases()
    yield from arithmetic_cases("elementwise", "function", {**LAYOUTS, **BROADCASTS})
    yield from other_cases()
