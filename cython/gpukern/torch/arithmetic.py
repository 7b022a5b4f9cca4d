# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""saxpy as a PyTorch operator."""

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
        Of one dtype and shape, on one device.

    Returns
    -------
    Tensor

    """
    return saxpy_op(a, x, y)


@torch.library.custom_op("gpukern::saxpy", mutates_args=())
def saxpy_op(a: Number, x: Tensor, y: Tensor) -> Tensor:
    """Compute a * x + y, rounded once."""
    return gpukern.saxpy(a, x.detach(), y.detach(), out=torch.empty_like(x))


@saxpy_op.register_fake
def _(a, x, y):
    return torch.empty_like(x)


def keep_for_saxpy(ctx, inputs, output):
    """Keep what the gradient of saxpy needs."""
    ctx.factor = inputs[0].conjugate()


def saxpy_backward(ctx, grad):
    """Scale the gradient for x."""
    return None, ctx.factor * grad if ctx.needs_input_grad[1] else None, grad


saxpy_op.register_autograd(saxpy_backward, setup_context=keep_for_saxpy)
