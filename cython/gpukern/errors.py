# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The exceptions of gpukern.

Each one derives from :class:`GpukernError` and from the built-in exception that people catch, so
``except IndexError`` and ``except gpukern.GpukernError`` both work.
"""

import re

from numpy.exceptions import AxisError


class GpukernError(Exception):
    """The root of every error that gpukern raises."""


class GpukernValueError(GpukernError, ValueError):
    """A shape, size, device or option that does not fit."""


class GpukernTypeError(GpukernError, TypeError):
    """An argument or dtype of a kind that does not fit."""


class GpukernIndexError(GpukernError, IndexError):
    """An index out of bounds, or any index into an empty axis."""


class GpukernAxisError(GpukernError, AxisError):
    """An axis out of range; also a ``ValueError`` and an ``IndexError``, as in NumPy.

    ``axis`` and ``ndim`` are the numbers that the message names.
    """

    def __init__(self, message):
        """Take the library's message."""
        named = re.fullmatch(r"axis (-?\d+) is out of bounds for array of dimension (\d+)", message)
        super().__init__(*(map(int, named.groups()) if named else (message,)))


class GpukernOverflowError(GpukernError, OverflowError):
    """A Python number that the dtype cannot hold."""


class GpukernBufferError(GpukernError, BufferError):
    """An array that cannot be exported or imported as asked."""


class GpukernMemoryError(GpukernError, MemoryError):
    """Host or device memory ran out."""


class GpukernDeviceError(GpukernError, RuntimeError):
    """The device asked for is not there."""


class GpukernCudaError(GpukernError, RuntimeError):
    """CUDA reported an error."""


class GpukernCancelledError(GpukernError, RuntimeError):
    """A progress callback of the C ABI stopped the call; in Python its own exception comes out."""


class CompileError(GpukernError, RuntimeError):
    """A program that does not compile. The message shows the compiler's errors with their lines.

    ``log`` is all that the compiler said.
    """

    def __init__(self, message="", log=None):
        super().__init__(message)
        self.log = message if log is None else log


class ContextLostError(GpukernCudaError):
    """A kernel trapped, or read or wrote out of bounds: CUDA is lost to this process.

    Every later call that needs the GPU gives this error. Start a new process.
    """


class GpukernInternalError(GpukernError, RuntimeError):
    """A defect of gpukern; please report it."""


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
