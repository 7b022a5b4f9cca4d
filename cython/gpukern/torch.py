# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather and saxpy as PyTorch operators, with gradients and for torch.compile.

They are ``torch.ops.gpukern.gather`` and ``torch.ops.gpukern.saxpy``, with backward passes of any
order. Results come from PyTorch's allocator, C-contiguous, on its current stream. Without gradients
or torch.compile, :func:`gpukern.gather` and :func:`gpukern.saxpy` accept tensors as well, at a
lower cost per call. Only this module imports torch.
"""

import torch
from torch import Tensor
from torch.types import Number

import gpukern

__all__ = ["gather", "saxpy"]


def gather(source, index, *, axis=0, mode="raise", fill_value=0):
    """Takes items of a tensor along an axis, as :func:`gpukern.gather`.

    The gradient of an item of the source is the sum of those of its copies, and zero where there is
    none. On a GPU its order of summation varies, unless
    ``torch.use_deterministic_algorithms(True)``.

    Parameters
    ----------
    source : Tensor
        Of any dtype.
    index : Tensor
        Of an integer dtype, of any shape, on the device of the source or on the CPU.
    axis : int or None
        In [-ndim, ndim); None indexes the flattened source.
    mode : {'raise', 'wrap', 'clip', 'fill'}
        As in :func:`gpukern.gather`. On a GPU, 'raise' waits for the stream.
    fill_value : number
        For mode 'fill'; it has no gradient.

    Returns
    -------
    Tensor
        Of shape ``source.shape[:axis] + index.shape + source.shape[axis+1:]``.

    Raises
    ------
    IndexError
        In mode 'raise', for an index out of bounds.

    """
    if axis is None:
        source, axis = source.reshape(-1), 0
    return gather_op(source, index, axis, mode, fill_value)


def saxpy(a, x, y):
    """Computes ``a * x + y``, rounded once, as :func:`gpukern.saxpy`.

    Parameters
    ----------
    a : number
        It has no gradient.
    x, y : Tensor
        Of one dtype and shape, on one device.

    Returns
    -------
    Tensor

    """
    return saxpy_op(a, x, y)


# ---- gather ----


def new_gathered(source, index, axis):
    """An uninitialized result of gather, also for traced tensors."""
    first = axis % max(source.dim(), 1)
    return source.new_empty([*source.shape[:first], *index.shape, *source.shape[first + 1 :]])


@torch.library.custom_op("gpukern::gather", mutates_args=())
def gather_op(
    source: Tensor, index: Tensor, axis: int = 0, mode: str = "raise", fill_value: Number = 0
) -> Tensor:
    """Take items along an axis."""
    if not -max(source.dim(), 1) <= axis < max(source.dim(), 1):
        raise IndexError(f"gather: axis {axis} is out of bounds for dimension {source.dim()}")
    out = new_gathered(source, index, axis)
    return gpukern.gather(
        source.detach(), index, axis=axis, mode=mode, fill_value=fill_value, out=out
    )


@gather_op.register_fake
def _(source, index, axis=0, mode="raise", fill_value=0):
    return new_gathered(source, index, axis)


def keep_for_gather(ctx, inputs, output):
    """Keep what the gradient of gather needs."""
    source, index, axis, ctx.mode, _ = inputs
    ctx.save_for_backward(index)
    ctx.shape = source.shape
    ctx.axis = axis % max(source.dim(), 1)


def gather_backward(ctx, grad):
    """Add the gradients of the items to those of the source."""
    (index,) = ctx.saved_tensors
    axis, length = ctx.axis, ctx.shape[ctx.axis] if ctx.shape else 1
    positions, known = positions_of(index.reshape(-1).to(grad.device), length, ctx.mode)
    shape = ctx.shape or (1,)
    items = grad.reshape(*shape[:axis], index.numel(), *shape[axis + 1 :])
    if known is not None:
        items = torch.where(known.reshape(-1, *[1] * (len(shape) - axis - 1)), items, 0)
    result = grad.new_zeros(shape).index_add(axis, positions, items).reshape(ctx.shape)
    return result, None, None, None, None


def positions_of(index, length, mode):
    """The positions in [0, length) that indices stand for; in mode 'fill' also which have one."""
    if index.dtype == torch.uint64:
        raise TypeError("gather: the gradient for an index of uint64 is not implemented")
    index = index.long()
    if mode == "wrap":
        return index.remainder(length), None
    if mode == "clip":
        return index.clamp(0, length - 1), None
    if mode == "raise":
        return torch.where(index < 0, index + length, index), None
    known = (index >= -length) & (index < length)
    return torch.where(known, torch.where(index < 0, index + length, index), 0), known


gather_op.register_autograd(gather_backward, setup_context=keep_for_gather)


# ---- saxpy ----


@torch.library.custom_op("gpukern::saxpy", mutates_args=())
def saxpy_op(a: Number, x: Tensor, y: Tensor) -> Tensor:
    """Compute a * x + y, rounded once."""
    return gpukern.saxpy(a, x.detach(), y.detach(), out=x.new_empty(x.shape))


@saxpy_op.register_fake
def _(a, x, y):
    return x.new_empty(x.shape)


def keep_for_saxpy(ctx, inputs, output):
    """Keep what the gradient of saxpy needs."""
    ctx.factor = inputs[0].conjugate()


def saxpy_backward(ctx, grad):
    """Scale the gradient for x."""
    return None, ctx.factor * grad if ctx.needs_input_grad[1] else None, grad


saxpy_op.register_autograd(saxpy_backward, setup_context=keep_for_saxpy)
