# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""saxpy, axpby and fma as PyTorch operators."""

import functools

import numpy as np
import torch
from torch import Tensor
from torch.types import Number

import gpukern


def saxpy(a, x, y):
    """Computes ``a * x + y``, rounded once, as :func:`gpukern.saxpy`.

    Parameters
    ----------
    a : number
        It has no gradient.
    x, y : Tensor
        Of one dtype, or of floating-point dtypes; they broadcast.

    Returns
    -------
    Tensor
        As of :func:`axpby`.

    """
    return saxpy_op(as_number(a), x, y)


def axpby(a, x, b, y):
    """Computes ``a * x + b * y``, as :func:`gpukern.axpby`.

    Parameters
    ----------
    a, b : number
        They have no gradients.
    x, y : Tensor
        Of floating-point dtypes, which may differ; they broadcast.

    Returns
    -------
    Tensor
        Of the widest dtype; of float16 and bfloat16, that is float32.

    """
    return axpby_op(as_number(a), x, as_number(b), y)


def fma(x, y, z):
    """Computes ``x * y + z``, rounded once, as :func:`gpukern.fma`.

    Parameters
    ----------
    x, y, z : Tensor
        As in :func:`axpby`.

    Returns
    -------
    Tensor
        As of :func:`axpby`.

    """
    return fma_op(x, y, z)


def as_number(a):
    """Return a number of NumPy as one that operators take."""
    return a.item() if isinstance(a, np.generic) else a


def new_sum(*tensors):
    """Return an uninitialized result, also when traced."""
    # 0-d tensors on the CPU are numbers, which do not choose the dtype if there are others.
    chosen = [t for t in tensors if t.dim() > 0 or t.device.type != "cpu"] or tensors
    dtype = functools.reduce(torch.promote_types, [t.dtype for t in chosen])
    shape = torch.broadcast_shapes(*[t.shape for t in tensors])
    return torch.empty_like(chosen[0].expand(shape), dtype=dtype)


# The backward passes return gradients of the result's shape and dtype: PyTorch sums them over the
# dimensions in which an input broadcasts, and then converts them.

# ---- saxpy ----


@torch.library.custom_op("gpukern::saxpy", mutates_args=())
def saxpy_op(a: Number, x: Tensor, y: Tensor) -> Tensor:
    """Compute a * x + y, rounded once."""
    return gpukern.saxpy(a, x.detach(), y.detach(), out=new_sum(x, y))


@saxpy_op.register_fake
def _(a, x, y):
    return new_sum(x, y)


def keep_for_saxpy(ctx, inputs, output):
    """Keep what the gradient of saxpy needs."""
    ctx.factor = inputs[0].conjugate()


def saxpy_backward(ctx, grad):
    """Scale the gradient for x."""
    return None, ctx.factor * grad if ctx.needs_input_grad[1] else None, grad


saxpy_op.register_autograd(saxpy_backward, setup_context=keep_for_saxpy)


# ---- axpby and fma ----


@torch.library.custom_op("gpukern::axpby", mutates_args=())
def axpby_op(a: Number, x: Tensor, b: Number, y: Tensor) -> Tensor:
    """Compute a * x + b * y."""
    return gpukern.axpby(a, x.detach(), b, y.detach(), out=new_sum(x, y))


@axpby_op.register_fake
def _(a, x, b, y):
    return new_sum(x, y)


def keep_for_axpby(ctx, inputs, output):
    """Keep what the gradients of axpby need."""
    ctx.a, _, ctx.b, _ = inputs


def axpby_backward(ctx, grad):
    """Scale the gradients."""
    _, for_x, _, for_y = ctx.needs_input_grad
    return None, ctx.a * grad if for_x else None, None, ctx.b * grad if for_y else None


axpby_op.register_autograd(axpby_backward, setup_context=keep_for_axpby)


@torch.library.custom_op("gpukern::fma", mutates_args=())
def fma_op(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Compute x * y + z, rounded once."""
    return gpukern.fma(x.detach(), y.detach(), z.detach(), out=new_sum(x, y, z))


@fma_op.register_fake
def _(x, y, z):
    return new_sum(x, y, z)


def keep_for_fma(ctx, inputs, output):
    """Keep what the gradients of fma need."""
    x, y, _ = inputs
    ctx.save_for_backward(x, y)


def fma_backward(ctx, grad):
    """Multiply the gradients of the factors by the other one."""
    x, y = ctx.saved_tensors
    for_x, for_y, _ = ctx.needs_input_grad
    return grad * y if for_x else None, grad * x if for_y else None, grad


fma_op.register_autograd(fma_backward, setup_context=keep_for_fma)
