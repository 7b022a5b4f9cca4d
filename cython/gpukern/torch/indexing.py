# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""gather, scatter and gather_reduce as PyTorch operators."""

import torch
from torch import Tensor
from torch.types import Number

import gpukern
from gpukern.errors import GpukernAxisError, GpukernTypeError, GpukernValueError


def gather(source, index, *, axis=0, mode="raise", fill_value=0):
    """Takes items of a tensor along an axis, as :func:`gpukern.gather`.

    The gradient of an item of the source is the sum of those of its copies, in their order, and
    zero where there is none.

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
    require_tensor("gather", "source", source)
    if axis is None:
        source, axis = source.reshape(-1), 0
    return gather_op(source, index, axis, mode, fill_value)


def scatter(target, index, values, *, axis=0, mode="raise", reduce=None):
    """Copies a tensor and writes or adds values along an axis, as :func:`gpukern.scatter`.

    The target is unchanged. Of values that are written to one item, the last has its gradient, the
    others zero.

    Parameters
    ----------
    target : Tensor
        Of any dtype; to add, of a floating-point, complex or integer dtype.
    index : Tensor
        Of an integer dtype, of any shape, on the device of the target or on the CPU.
    values : Tensor or number
        Of the target's dtype; its shape broadcasts to
        ``target.shape[:axis] + index.shape + target.shape[axis+1:]``.
    axis : int or None
        In [-ndim, ndim); None indexes the flattened target.
    mode : {'raise', 'wrap', 'clip', 'fill'}
        As in :func:`gpukern.scatter`; 'fill' leaves out. On a GPU, 'raise' waits for the stream.
    reduce : None or 'add'
        None writes. Other reductions of :func:`gpukern.scatter` have no gradient here.

    Returns
    -------
    Tensor
        Of the target's shape and dtype.

    Raises
    ------
    IndexError
        In mode 'raise', for an index out of bounds.

    """
    if reduce not in (None, "add"):
        raise GpukernValueError(f"scatter: reduce must be None or 'add', got {reduce!r}")
    require_tensor("scatter", "target", target)
    if not isinstance(values, Tensor):
        kind = torch.as_tensor(values).dtype
        if rank_of(kind) > rank_of(target.dtype):
            raise GpukernTypeError(f"scatter: values must convert to {target.dtype}, got {kind}")
        values = torch.as_tensor(values, dtype=target.dtype)
    values = values.to(target.device)
    if axis is None:
        flat = scatter_op(target.reshape(-1), index, values, 0, mode, reduce)
        return flat.reshape(target.shape)
    return scatter_op(target, index, values, axis, mode, reduce)


def gather_reduce(source, index, offsets, *, reduce="sum", weights=None, axis=0, mode="raise"):
    """Adds bags of items, or takes their means, as :func:`gpukern.gather_reduce`.

    :func:`torch.nn.functional.embedding_bag` is its counterpart in PyTorch.

    Parameters
    ----------
    source : Tensor
        Of a floating-point or complex dtype; for 'sum' also of an integer dtype.
    index : Tensor
        Of an integer dtype and one dimension, on the device of the source or on the CPU.
    offsets : Tensor
        Of an integer dtype and one dimension: bag b has the items
        ``index[offsets[b]:offsets[b + 1]]``. Where they fall, which only 'raise' refuses, the
        gradient is unspecified.
    reduce : {'sum', 'mean'}
        'min' and 'max' of :func:`gpukern.gather_reduce` have no gradient here.
    weights : Tensor, optional
        Of the source's dtype and the index's shape, for 'sum': multiply the items.
    axis : int or None
        Of the source, in [-ndim, ndim); None indexes the flattened source.
    mode : {'raise', 'wrap', 'clip', 'fill'}
        As in :func:`gpukern.gather_reduce`. On a GPU, 'raise' waits for the stream.

    Returns
    -------
    Tensor
        Of shape ``source.shape[:axis] + (len(offsets) - 1,) + source.shape[axis+1:]``.

    Raises
    ------
    IndexError, ValueError
        In mode 'raise', for an index out of bounds, and for offsets that fall or are out of range.

    """
    if reduce not in ("sum", "mean"):
        raise GpukernValueError(f"gather_reduce: reduce must be 'sum' or 'mean', got {reduce!r}")
    for name, value in (("source", source), ("index", index), ("offsets", offsets)):
        require_tensor("gather_reduce", name, value)
    if weights is not None:
        require_tensor("gather_reduce", "weights", weights)
    if offsets.dim() != 1 or offsets.shape[0] == 0:
        shape = tuple(offsets.shape)
        raise GpukernValueError(
            f"gather_reduce: offsets must have one dimension and one element or more, got {shape}"
        )
    if weights is not None:
        weights = weights.to(source.device)
    if axis is None:
        source, axis = source.reshape(-1), 0
    return gather_reduce_op(source, index, offsets, weights, axis, mode, reduce)


def require_tensor(function, name, value):
    """Raise a TypeError unless an argument is a tensor."""
    if not isinstance(value, Tensor):
        kind = type(value).__name__
        raise GpukernTypeError(f"{function}: {name} must be a torch.Tensor, got {kind}")


def first_axis(tensor, axis):
    """Return the axis as a number that is not negative; a scalar has one of length 1."""
    ndim = max(tensor.dim(), 1)
    if not -ndim <= axis < ndim:
        raise GpukernAxisError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


def rank_of(dtype):
    """Return a number that is larger for a kind of dtype that does not convert to others."""
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else int(dtype != torch.bool)


def unchecked(mode):
    """Return the mode of a backward pass, whose indices the forward pass has checked."""
    return "wrap" if mode == "raise" else mode


# ---- gather ----


def new_gathered(source, shape, axis):
    """Return an uninitialized result with a shape in place of an axis, also when traced."""
    first = first_axis(source, axis)
    return source.new_empty([*source.shape[:first], *shape, *source.shape[first + 1 :]])


@torch.library.custom_op("gpukern::gather", mutates_args=())
def gather_op(
    source: Tensor, index: Tensor, axis: int = 0, mode: str = "raise", fill_value: Number = 0
) -> Tensor:
    """Take items along an axis."""
    out = new_gathered(source, index.shape, axis)
    return gpukern.gather(
        source.detach(), index, axis=axis, mode=mode, fill_value=fill_value, out=out
    )


@gather_op.register_fake
def _(source, index, axis=0, mode="raise", fill_value=0):
    return new_gathered(source, index.shape, axis)


def keep_for_gather(ctx, inputs, output):
    """Keep what the gradient of gather needs."""
    source, index, ctx.axis, mode, _ = inputs
    ctx.save_for_backward(index)
    ctx.shape = source.shape
    ctx.mode = unchecked(mode)


def gather_backward(ctx, grad):
    """Add the gradients of the items to those of the source."""
    (index,) = ctx.saved_tensors
    zeros = grad.new_zeros(ctx.shape)
    return scatter_op(zeros, index, grad, ctx.axis, ctx.mode, "add"), None, None, None, None


gather_op.register_autograd(gather_backward, setup_context=keep_for_gather)


# ---- scatter ----


@torch.library.custom_op("gpukern::scatter", mutates_args=())
def scatter_op(
    target: Tensor,
    index: Tensor,
    values: Tensor,
    axis: int = 0,
    mode: str = "raise",
    reduce: str | None = None,
) -> Tensor:
    """Write values to a copy, or add them."""
    out = target.new_empty(target.shape)
    return gpukern.scatter(
        target.detach(), index, values.detach(), axis=axis, mode=mode, reduce=reduce, out=out
    )


@scatter_op.register_fake
def _(target, index, values, axis=0, mode="raise", reduce=None):
    return target.new_empty(target.shape)


def keep_for_scatter(ctx, inputs, output):
    """Keep what the gradients of scatter need."""
    target, index, values, ctx.axis, mode, ctx.reduce = inputs
    ctx.save_for_backward(index)
    ctx.length = target.shape[ctx.axis] if target.dim() else 1
    ctx.trailing = max(target.dim(), 1) - 1 - first_axis(target, ctx.axis)
    ctx.values_shape = values.shape
    ctx.mode = unchecked(mode)


def scatter_backward(ctx, grad):
    """Give each value the gradient of its item."""
    (index,) = ctx.saved_tensors
    for_target = grad
    if ctx.reduce is None:
        for_target = scatter_op(grad, index, grad.new_zeros(()), ctx.axis, ctx.mode, None)
    for_values = None
    if ctx.needs_input_grad[2]:
        for_values = gather_op(grad, index, ctx.axis, ctx.mode, 0)
        if ctx.reduce is None:
            written = is_last(index.to(grad.device), ctx.length, ctx.mode)
            for_values = torch.where(
                written.reshape([*index.shape, *[1] * ctx.trailing]), for_values, 0
            )
        for_values = for_values.sum_to_size(ctx.values_shape)
    return for_target, None, for_values, None, None, None


def is_last(index, length, mode):
    """Return which indices are the last of their position."""
    number = torch.arange(index.numel(), device=index.device).reshape(index.shape)
    last = scatter_op(number.new_zeros(length), index, number, 0, mode, None)
    return gather_op(last, index, 0, mode, -1) == number


scatter_op.register_autograd(scatter_backward, setup_context=keep_for_scatter)


# ---- gather_reduce ----


@torch.library.custom_op("gpukern::gather_reduce", mutates_args=())
def gather_reduce_op(
    source: Tensor,
    index: Tensor,
    offsets: Tensor,
    weights: Tensor | None = None,
    axis: int = 0,
    mode: str = "raise",
    reduce: str = "sum",
) -> Tensor:
    """Reduce bags of items."""
    out = new_gathered(source, [offsets.shape[0] - 1], axis)
    weights = None if weights is None else weights.detach()
    return gpukern.gather_reduce(
        source.detach(),
        index,
        offsets,
        reduce=reduce,
        weights=weights,
        axis=axis,
        mode=mode,
        out=out,
    )


@gather_reduce_op.register_fake
def _(source, index, offsets, weights=None, axis=0, mode="raise", reduce="sum"):
    return new_gathered(source, [offsets.shape[0] - 1], axis)


def keep_for_gather_reduce(ctx, inputs, output):
    """Keep what the gradients of gather_reduce need."""
    source, index, offsets, weights, ctx.axis, mode, ctx.reduce = inputs
    ctx.learns_weights = weights is not None and weights.requires_grad
    ctx.save_for_backward(index, offsets, weights, source if ctx.learns_weights else None)
    ctx.shape = source.shape
    ctx.length = source.shape[ctx.axis] if source.dim() else 1
    ctx.trailing = max(source.dim(), 1) - 1 - first_axis(source, ctx.axis)
    ctx.mode = unchecked(mode)


def gather_reduce_backward(ctx, grad):
    """Give each item the gradient of its bag."""
    index, offsets, weights, source = ctx.saved_tensors
    count, bags = index.shape[0], offsets.shape[0] - 1
    if count == 0 or bags == 0:
        for_weights = grad.new_zeros(count) if ctx.learns_weights else None
        return grad.new_zeros(ctx.shape), None, None, for_weights, None, None, None
    over_columns = [1] * ctx.trailing
    if ctx.reduce == "mean":
        ones = torch.ones(ctx.length, dtype=torch.int64, device=grad.device)
        number = gather_reduce_op(ones, index, offsets, None, 0, ctx.mode, "sum").clamp(min=1)
        grad = (widened(grad) / number.reshape(-1, *over_columns)).to(grad.dtype)
    bag = bag_of_items(count, offsets.to(grad.device))
    is_in_bag = bag < bags
    of_items = gather_op(grad, bag, ctx.axis, "fill", 0)
    for_weights = None
    if ctx.learns_weights:
        items = gather_op(source, index, ctx.axis, ctx.mode, 0)
        products = (widened(items).conj() * widened(of_items)).movedim(ctx.axis, 0)
        sums = products.reshape(count, -1).sum(1).to(grad.dtype)
        for_weights = torch.where(is_in_bag, sums, 0)
    for_source = None
    if ctx.needs_input_grad[0]:
        if weights is not None:  # that of an item in no bag may be infinite
            factor = torch.where(is_in_bag, weights.conj(), 0)
            of_items = of_items * factor.reshape(-1, *over_columns)
        zeros = grad.new_zeros(ctx.shape)
        for_source = scatter_op(zeros, index, of_items, ctx.axis, ctx.mode, "add")
    return for_source, None, None, for_weights, None, None, None


def widened(tensor):
    """Return 16-bit numbers as float32, in which they are combined."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def bag_of_items(count, offsets):
    """Return the bag of each item, or the number of bags for those in none."""
    clipped = offsets.long()
    if offsets.dtype == torch.uint64:  # of which the largest became negative
        clipped = torch.where(clipped < 0, count, clipped)
    item = torch.arange(count, device=offsets.device)
    bag = torch.bucketize(item, clipped.contiguous(), right=True) - 1
    return torch.where(bag < 0, offsets.shape[0] - 1, bag)


gather_reduce_op.register_autograd(gather_reduce_backward, setup_context=keep_for_gather_reduce)
