# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""The libraries whose arrays are passed: the names that the statements of cases.py use."""

import array
import contextlib
from dataclasses import dataclass

import numpy as np

import gpukern
from benchmarks.call_cost.calls import Call, python_call
from benchmarks.call_cost.cases import cases

N = 10  # elements
SCALE = """
extern "C" __global__ void scale(float a, const float *x, float *y, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
"""
RAW_SAXPY = ("T a, T x, T y", "T z", "z = a * x + y", "call_cost_saxpy")
SCALARS = {
    "a_int": 2,
    "a_float": 2.0,
    "a_bool": True,
    "a_complex": 2 + 0j,
    "a_float16": np.float16(2),
    "a_float32": np.float32(2),
    "a_float64": np.float64(2),
    "a_int32": np.int32(2),
    "a_npbool": np.True_,
    "a_0d": np.array(2, np.float32),
    "two": 2,
}


@dataclass
class Group:
    """Arrays of one library: the kind of its peers, and all names."""

    name: str
    kind: str
    names: dict
    on_gpu: bool = False

    def has(self, statement):
        """Whether the group has all names of a statement."""
        return set(compile(statement, "case", "exec").co_names) - METHODS <= set(self.names)

    def calls(self, launch):
        """Yield the calls; without a peer of its kind, the peer of a GPU call is a bare launch."""
        for case in cases():
            if not self.has(case.statement):
                continue
            cost = python_call(case.statement, self.names)
            peer = case.peers.get(self.kind, "")
            if peer and self.has(peer):
                yield Call(self.name, case.name, cost, peer, python_call(peer, self.names))
            elif launch and self.on_gpu and not case.name.startswith("explain"):
                yield Call(self.name, case.name, cost, "bare launch", launch)
            else:
                yield Call(self.name, case.name, cost)


COUNTS = ("bincount", "nonzero", "count_nonzero")
METHODS = {
    "item", "long", "copy_", "set", "launch",
    "index_copy_", "index_add_", "index_fill_", "scatter_",
}  # fmt: skip
OPERATIONS = (
    "saxpy", "gather", "take_along_axis", "scatter", "put_along_axis", "bincount", "gather_reduce",
    "segment_reduce", "nonzero", "count_nonzero", "compress", "copyto", "explain",
)  # fmt: skip


def progress(done, total):
    """A progress callback that does nothing."""


def common():
    """Return the names that all groups have."""
    # An older gpukern, which --against measures, may lack some.
    names = {name: getattr(gpukern, name) for name in OPERATIONS if hasattr(gpukern, name)}
    names["function"] = gpukern.elementwise("a * x + y")
    names |= SCALARS
    with contextlib.suppress(ImportError):
        import torch

        names["a_torch"] = torch.tensor(2.0)
    return names | {
        "i_list": list(range(N))[::-1],
        "i_range": range(N),
        "i_int": 3,
        "i_np": np.int64(3),
        "progress": progress,
    }


def contiguous(make, dtypes):
    """Return the contiguous arrays; ``make`` converts an ndarray to an array of a library."""
    names = {}
    for suffix, dtype in dtypes.items():
        x, y = np.arange(N, dtype=dtype), np.ones(N, dtype)
        names |= {f"x{suffix}": make(x), f"y{suffix}": make(y)}
    two = np.ones((2, N // 2), np.float32)
    index = np.arange(N)[::-1].copy()
    return names | {
        "out": make(np.ones(N, np.float32)),
        "zeros": make(np.zeros(N, np.float32)),
        "x2": make(two),
        "y2": make(two),
        "out2": make(two),
        "row": make(two[0]),
        "i64": make(index),
        "i32": make(index.astype(np.int32)),
        "iu8": make(index.astype(np.uint8)),
        "i_along": make(index.reshape(2, -1) % (N // 2)),
        "i2": make(index.reshape(2, -1)),
        "i0": make(np.array(3)),
        "i_rows": make(np.array([1, 0])),
        "starts": make(np.array([0, 4])),
        "offsets": make(np.array([0, 4, N])),
        "mask": make(np.arange(N) % 3 > 0),
    }


def views(make, expand):
    """Return views that have strides; ``expand(array, shape)`` is a library's broadcast."""
    wide = make(np.arange(2 * N, dtype=np.float32))
    tall = make(np.ones((N // 2, 2), np.float32))
    return {
        "xs": wide[::2],
        "ys": wide[1::2],
        "xe": expand(wide[:1], (N,)),
        "xf": tall.T,
        "yf": tall.T,
        "column": tall[:2, :1],
        "out_strided": make(np.ones(2 * N, np.float32))[::2],
    }


def reversed_views(make):
    """Return views with negative strides, which torch lacks."""
    return {"xr": make(np.arange(N, dtype="f4"))[::-1], "yr": make(np.ones(N, "f4"))[::-1]}


class Subclass(np.ndarray):
    """A subclass that changes nothing."""


def peers_of_counts(library):
    """Return a library's functions that gpukern has under the same name."""
    return {f"{name}_peer": getattr(library, name) for name in COUNTS}


def host_arrays():
    """Return arrays and buffers that exist on the host only."""
    floats = np.arange(N, dtype=np.float32)
    records = np.zeros(N, [("x", "f4"), ("y", "f4")])
    readonly = np.arange(N)
    readonly.flags.writeable = False
    names = {"x_record": records, "x_field": records["x"], "y_field": records["y"]}
    for name in ("x", "y"):
        names[f"{name}_unaligned"] = np.zeros(4 * N + 1, np.uint8)[1:].view(np.float32)
        names[f"{name}_readonly"] = floats.copy()
        names[f"{name}_readonly"].flags.writeable = False
        names[f"{name}_array"] = array.array("f", floats)
        names[f"{name}_memoryview"] = memoryview(floats.copy())
    return names | {
        "x_big_endian": floats.astype(">f4"),
        "x_bytes": floats.astype("S16"),
        "x_str": floats.astype("U8"),
        "x_datetime": floats.astype("i8").astype("M8[s]"),
        "x_object": floats.astype(object),
        "x_subclass": floats.view(Subclass),
        "x_masked": np.ma.array(floats, mask=floats > 5),
        "i_readonly": readonly,
        "asarray": np.asarray,
    }


DTYPES = {"": "f4", "h": "f2", "d": "f8", "c": "c8", "i": "i4"}


def numpy_group():
    """NumPy arrays, with bfloat16 if ml_dtypes is installed."""
    dtypes = dict(DTYPES)
    with contextlib.suppress(ImportError):
        import ml_dtypes

        dtypes["b"] = ml_dtypes.bfloat16
    names = {**common(), **contiguous(np.array, dtypes), **views(np.array, np.broadcast_to)}
    names |= {**reversed_views(np.array), **host_arrays()}
    names |= {"take": np.take, "add": np.add, "multiply": np.multiply, "where": np.where}
    names |= {"add_at": np.add.at, "put_along_axis_peer": np.put_along_axis}
    names |= {"take_along_axis_peer": np.take_along_axis, "add_reduceat": np.add.reduceat}
    names |= peers_of_counts(np)
    return Group("numpy", "numpy", {**names, "copyto_peer": np.copyto, "device": "cpu"})


def torch_group(device):
    """Torch tensors on the CPU or a GPU."""
    import torch

    def make(values):
        return torch.from_numpy(np.array(values)).to(device)

    names = {**common(), **contiguous(make, DTYPES), **views(make, torch.Tensor.expand)}
    names |= {"xb": names["x"].bfloat16(), "yb": names["y"].bfloat16()}
    names |= {"add": torch.add, "index_select": torch.index_select, "take": torch.take}
    names |= {"index_copy": torch.index_copy, "take_along_dim": torch.take_along_dim}
    names |= {"segment_peer": torch.segment_reduce, **peers_of_counts(torch)}
    names |= {"device": device, "as_tensor": torch.as_tensor}
    if device == "cuda":
        names |= gpu_names(torch.cuda.current_stream())
    return Group("torch" if device == "cpu" else "torch CUDA", "torch", names, device == "cuda")


def cupy_group():
    """CuPy's arrays."""
    import cupy

    names = {**common(), **contiguous(cupy.array, DTYPES), **views(cupy.array, cupy.broadcast_to)}
    names |= reversed_views(cupy.array)
    names |= {"take": cupy.take, "kernel": cupy.ElementwiseKernel(*RAW_SAXPY)}
    names |= {"add_at": cupy.add.at, "take_along_axis_peer": cupy.take_along_axis}
    names |= peers_of_counts(cupy)
    if hasattr(cupy, "put_along_axis"):
        names |= {"put_along_axis_peer": cupy.put_along_axis}
    names |= gpu_names(cupy.cuda.get_current_stream())
    return Group("cupy", "cupy", {**names, "device": "cuda"}, True)


def device_array_group():
    """DeviceArrays; their peer is a bare launch from C."""
    names = {**common(), **contiguous(gpukern.to_device, DTYPES), **gpu_names(0)}
    return Group("DeviceArray", "launch", {**names, "device": "cuda"}, True)


def gpu_names(stream):
    """Return the names of groups on a GPU."""
    names = {"stream": stream, "x_host": np.arange(N, dtype=np.float32)}
    names["i_host"] = np.arange(N)
    with contextlib.suppress(gpukern.GpukernError):
        names["scale"] = gpukern.Program(SCALE).kernel("scale")
    return names


def groups(gpu):
    """Return the groups of installed libraries, and the reasons for missing ones."""
    found, missing = [], {}
    makers = {"numpy": numpy_group, "torch": lambda: torch_group("cpu")}
    if gpu:
        makers |= {
            "torch CUDA": lambda: torch_group("cuda"),
            "cupy": cupy_group,
            "DeviceArray": device_array_group,
        }
    for name, make in makers.items():
        try:
            found.append(make())
        except Exception as error:  # continue without a library that does not start
            missing[name] = f"{type(error).__name__}: {error}"[:200]
    return found, missing
