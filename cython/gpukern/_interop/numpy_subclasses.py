# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What numpy.take does for arrays that are more than their elements' bytes."""

import sys

import numpy as np

from gpukern.errors import GpukernTypeError, GpukernValueError


def masked_array_type() -> type | tuple[()]:
    """Return numpy.ma.MaskedArray, without importing numpy.ma; no type if nobody has.

    While another thread imports numpy.ma, the module is there and the class is not.
    """
    return getattr(sys.modules.get("numpy.ma"), "MaskedArray", ())


def is_masked(array: object) -> bool:
    """Whether it is a numpy.ma.MaskedArray."""
    return isinstance(array, masked_array_type())


def is_view_of_fields(array: np.ndarray) -> bool:
    """Whether the bytes between the fields may be other fields, as in ``records[["a", "c"]]``.

    Those must not be written, and NumPy, which copies by fields, does not.
    """
    dtype = array.dtype
    if dtype.names is None or array.base is None:
        return False
    from gpukern._memory.creation import PinnedMemory, PinnedView  # which imports this module

    if isinstance(array.base, (PinnedMemory, PinnedView)):
        return False
    if isinstance(array.base, np.ndarray) and array.base.dtype == dtype:
        return False
    covered = np.zeros(dtype.itemsize, bool)
    for field, offset, *_ in dtype.fields.values():
        covered[offset : offset + field.itemsize] = True
    return not covered.all()


def special_gather(source):
    """The function that gathers from such an array, None for any other."""
    if not isinstance(source, np.ndarray):
        return source._gather
    if source.dtype.hasobject or source.dtype.kind == "T":
        return gather_references
    return gather_masked if is_masked(source) else None


def like(source, result):
    """The result as the source's subclass of ndarray; a 0-d one as a scalar."""
    wrapped = np.ndarray.__array_wrap__(source, result)
    return wrapped[()] if wrapped.ndim == 0 else wrapped


def operation(name):
    """The function of gpukern; it is not imported yet when this module is."""
    return getattr(sys.modules["gpukern"], name)


def gather_references(
    name, numpys, source, index, *, axis, mode, fill_value, out, progress, **where
):
    """Gathers Python objects, records of them, and strings: our indices, NumPy's references."""
    if out is not None and not (isinstance(out, np.ndarray) and out.dtype == source.dtype):
        kind = out.dtype if isinstance(out, np.ndarray) else type(out).__name__
        raise GpukernTypeError(
            f"{name}: out must be an ndarray of dtype {source.dtype}, got {kind}"
        )
    # One byte in place of each element: this brings all errors with it, and what is to be filled.
    shadow = np.broadcast_to(np.uint8(1), source.shape)
    known = np.asarray(
        operation(name)(
            shadow, index, axis=axis, mode=mode, fill_value=0, progress=progress, **where
        ),
        bool,
    )
    if known.size == 0:
        result = np.empty_like(source, shape=known.shape)
    else:
        along = 0 if axis is None else axis
        flat = source.reshape(-1) if axis is None or source.ndim == 0 else source
        numbers = np.arange(flat.shape[along])
        positions = operation("gather")(numbers, index, mode=mode, fill_value=0, **where)
        # With one dimension at least, so that an object that is itself an array stays an element.
        result = numpys(flat, np.atleast_1d(positions), axis=along).reshape(known.shape)
    if mode == "fill":
        result[~known] = filled_array(fill_value, known.shape, source.dtype)[~known]
    if out is None:
        return result if result.ndim else result[()]
    if out.shape != result.shape:
        raise GpukernValueError(f"{name}: out must have shape {result.shape}, got {out.shape}")
    if not out.flags.writeable:
        raise GpukernValueError(f"{name}: out is read-only")
    out[...] = result
    return out


def filled_array(fill_value, shape, dtype):
    """The fill value at every place: an ndarray by its elements, all else as one element."""
    filled = np.zeros(shape, dtype)
    if type(fill_value) is int and fill_value == 0:
        return filled
    if isinstance(fill_value, np.ndarray):
        filled[...] = fill_value
    else:
        filled.fill(fill_value)
    return filled


def gather_masked(name, numpys, source, index, *, out, **options):
    """As numpy.ma.take: the mask goes with the data, and a masked index gives a masked item."""
    masked = sys.modules["numpy.ma"]
    index_mask = masked.getmask(index)
    if index_mask is not masked.nomask:
        index = index.filled(0)
    # The data first: they bring the errors.
    data_out = out.data if is_masked(out) else out
    data = operation(name)(source.data, index, out=data_out, **options)
    mask_options = {**options, "fill_value": 0, "progress": None}
    if source.mask is masked.nomask:
        mask = index_mask
        if mask is not masked.nomask and mask.ndim == np.ndim(data):
            mask = np.broadcast_to(mask, np.shape(data))
    else:
        mask = np.asarray(operation(name)(source.mask, index, **mask_options))
        mask = mask if index_mask is masked.nomask else mask | index_mask  # not of fields
    if out is not None:
        if is_masked(out):
            out.__setmask__(mask)
        return out
    result = np.asarray(data).view(type(source))
    result.__setmask__(mask)
    return result[()]
