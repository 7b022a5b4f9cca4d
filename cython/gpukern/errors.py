# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The exceptions of gpukern.

Each derives from :class:`GpukernError` and from the built-in exception that fits, so both
``except IndexError`` and ``except gpukern.GpukernError`` work.
"""

import re

from numpy.exceptions import AxisError


class GpukernError(Exception):
    """The base class of all exceptions of gpukern."""


class GpukernValueError(GpukernError, ValueError):
    """An invalid shape, size, device or option."""


class GpukernTypeError(GpukernError, TypeError):
    """An argument or dtype of an unsupported type."""


class GpukernIndexError(GpukernError, IndexError):
    """An index out of bounds, or any index into an empty axis."""


class GpukernAxisError(GpukernError, AxisError):
    """An axis out of range; also a ``ValueError`` and an ``IndexError``, as in NumPy.

    ``axis`` and ``ndim`` are the numbers that the message names.
    """

    def __init__(self, message: str) -> None:
        """Take the library's message."""
        named = re.fullmatch(r"axis (-?\d+) is out of bounds for array of dimension (\d+)", message)
        super().__init__(*(map(int, named.groups()) if named else (message,)))


class GpukernOverflowError(GpukernError, OverflowError):
    """A Python number that the dtype cannot hold."""


class GpukernBufferError(GpukernError, BufferError):
    """An array that cannot be exported or imported."""


class GpukernMemoryError(GpukernError, MemoryError):
    """Host or device memory ran out."""


class GpukernDeviceError(GpukernError, RuntimeError):
    """A device, or what a call needs of it, is not available."""


class GpukernCudaError(GpukernError, RuntimeError):
    """CUDA reported an error."""


class GpukernCancelledError(GpukernError, RuntimeError):
    """A progress callback of the C ABI stopped the call; Python raises the callback's exception."""


class CompileError(GpukernError, RuntimeError):
    """A program that does not compile. The message shows the compiler's errors with their lines.

    ``log`` is the complete log of the compiler.
    """

    def __init__(self, message: str = "", log: str | None = None) -> None:
        super().__init__(message)
        self.log = message if log is None else log


class ContextLostError(GpukernCudaError):
    """A kernel trapped or accessed memory out of bounds: CUDA is unusable for this process.

    Every later call that needs the GPU raises this error. Start a new process.
    """


class PeerLostError(GpukernError, RuntimeError):
    """A rank of a group ended, or left a call by an exception; the group is unusable.

    ``rank`` is the number of that rank, or -1 where it is not known.
    """

    def __init__(self, message: str = "", rank: int = -1) -> None:
        super().__init__(message)
        self.rank = rank


class GpukernInternalError(GpukernError, RuntimeError):
    """A defect of gpukern; please report it."""


def as_own(error: Exception) -> GpukernError:
    """Return the error of this package for one of Python's or NumPy's."""
    if isinstance(error, GpukernError):
        return error
    for own in (GpukernIndexError, GpukernOverflowError, GpukernTypeError, GpukernValueError):
        if isinstance(error, own.__bases__[1]):
            return own(str(error))
    return GpukernInternalError(str(error))


# By gpukern_status, whose numbers are part of the ABI.
ERROR_OF_STATUS = {
    1: GpukernValueError,
    2: GpukernTypeError,
    3: GpukernIndexError,
    4: GpukernAxisError,
    5: GpukernMemoryError,
    6: GpukernDeviceError,
    7: GpukernCudaError,
    8: GpukernInternalError,
    9: CompileError,
    10: ContextLostError,
    11: GpukernCancelledError,
}
