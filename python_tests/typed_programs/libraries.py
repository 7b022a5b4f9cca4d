# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Calls on device arrays and arrays of libraries; see host_arrays.py.

tools/check_types.py takes the types of the libraries that are installed, else those of stand_ins.
"""

from typing import Any

import cupy
import jax
import numpy as np
import numpy.typing as npt
import torch
from typing_extensions import assert_type

import gpukern
import gpukern.torch as with_gradients

Floats = npt.NDArray[np.float32]
add = gpukern.elementwise("a + b")


def of_torch(x: torch.Tensor, weight: torch.nn.Parameter, index: torch.Tensor) -> None:
    assert_type(gpukern.gather(x, index), torch.Tensor)
    assert_type(gpukern.gather(x, [0, 1], mode="wrap"), torch.Tensor)
    assert_type(gpukern.gather(x, 3), torch.Tensor)
    assert_type(gpukern.gather(x, (index, index)), torch.Tensor)
    assert_type(gpukern.gather(weight, index), torch.Tensor)
    assert_type(gpukern.take_along_axis(x, index), torch.Tensor)
    assert_type(gpukern.saxpy(2.0, x, x, stream=torch.cuda.current_stream()), torch.Tensor)
    assert_type(gpukern.saxpy_many(2.0, [x], [x]), list[torch.Tensor])
    assert_type(gpukern.saxpy_many(2.0, [x], [x], out=[x]), list[torch.Tensor])
    assert_type(gpukern.gather(x, index, out=x), torch.Tensor)
    assert_type(gpukern.scatter(x, index, 1.0, reduce="max"), torch.Tensor)
    assert_type(gpukern.bincount(index, x, size=5), torch.Tensor)
    assert_type(with_gradients.gather(weight, index, axis=None, mode="clip"), torch.Tensor)
    assert_type(with_gradients.saxpy(2.0, x, weight), torch.Tensor)
    assert_type(with_gradients.axpby(2, x, 0.5, weight), torch.Tensor)
    assert_type(with_gradients.fma(x, x, weight), torch.Tensor)
    assert_type(add(x, x), torch.Tensor)
    assert_type(add(2, x), torch.Tensor)
    assert_type(add(x, [1.0, 2.0]), torch.Tensor)


def of_jax(x: jax.Array, index: jax.Array) -> None:
    assert_type(gpukern.gather(x, index), jax.Array)
    assert_type(gpukern.take_along_axis(x, [0]), jax.Array)
    assert_type(gpukern.scatter(x, index, x), jax.Array)
    assert_type(gpukern.put_along_axis(x, index, 0), jax.Array)
    assert_type(gpukern.saxpy(2.0, x, x), jax.Array)
    assert_type(add(x, 2), jax.Array)


def of_cupy(x: cupy.ndarray, index: cupy.ndarray) -> None:
    assert_type(gpukern.gather(x, index), cupy.ndarray)
    assert_type(gpukern.take_along_axis(x, index), cupy.ndarray)
    assert_type(gpukern.saxpy(2.0, x, x, out=x), cupy.ndarray)
    assert_type(add(2, x), cupy.ndarray)


def of_gpukern(host: Floats) -> None:
    x = gpukern.to_device(host)
    index = gpukern.empty(3, np.int32, device="cuda:0")
    assert_type(x, gpukern.DeviceArray)
    assert_type(gpukern.gather(x, index), gpukern.DeviceArray)
    assert_type(gpukern.gather(x, 3), gpukern.DeviceArray)
    assert_type(gpukern.take_along_axis(x, index), gpukern.DeviceArray)
    assert_type(gpukern.scatter(x, index, [1.0, 2.0, 3.0]), gpukern.DeviceArray)
    assert_type(gpukern.put_along_axis(x, index, x, out=x), gpukern.DeviceArray)
    assert_type(gpukern.saxpy(2.0, x, x), gpukern.DeviceArray)
    assert_type(gpukern.saxpy(2.0, x, x, out=x), gpukern.DeviceArray)
    assert_type(add(x, 1), gpukern.DeviceArray)
    assert_type(x.numpy(), npt.NDArray[Any])
    assert_type(x.numpy(out=host), npt.NDArray[Any])
    assert_type(x.shape, tuple[int, ...])
    gpukern.copyto(host, x)
    gpukern.copyto(x, host, stream=0)


def mixed(host: Floats, x: torch.Tensor, index: gpukern.DeviceArray) -> None:
    # A pinned source is gathered to the GPU of the index; else the result is on the host.
    assert_type(gpukern.gather(host, index), Any)
    assert_type(gpukern.gather(host, x), Any)
    # The first array decides.
    assert_type(add(x, host), torch.Tensor)
    assert_type(gpukern.saxpy(2.0, x, host), torch.Tensor)
    assert_type(gpukern.saxpy(2.0, host, host, out=x), torch.Tensor)


def programs(x: gpukern.DeviceArray, host: Floats) -> None:
    program = gpukern.Program("", options=["-DN=4"], headers={"a.h": ""}, architecture="sm_90")
    kernel = program.kernel("scale<float>", device="cuda:0")
    assert_type(kernel, gpukern.Kernel)
    kernel[1, (32, 2)](x, gpukern.In(host), 2.0, None)
    kernel[(1, 1, 1), 32, 1024, torch.cuda.current_stream()](x)
    kernel.for_size(1000, shared=16)(gpukern.Out(host), gpukern.InOut(host))
    kernel.launch(1, 32, x, cooperative=True)
    assert_type(program.cubin, bytes)
    assert_type(kernel.parameter_sizes, tuple[int, ...])
