# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Where a call runs: the device= and stream= arguments, and the order between streams."""

from libc.stdint cimport uintptr_t

from gpukern._capi cimport (
    GPUKERN_CPU, GPUKERN_CUDA, GPUKERN_DEVICE_DEFAULT, gpukern_device, gpukern_exec,
    gpukern_synchronize,
)
from gpukern._error cimport check

import operator

from gpukern.errors import GpukernTypeError, GpukernValueError


cdef class Stream:
    """A CUDA stream's handle, and the object that keeps it alive."""


cdef Stream stream_of_handle(object handle, object owner):
    cdef Stream stream = Stream.__new__(Stream)
    value = operator.index(handle)
    if value < 0:
        raise GpukernValueError(f"stream must be a handle from 0 on, got {value}")
    # 1 (cudaStreamLegacy) is another name of 0; one name makes handles comparable.
    stream.handle = NULL if value == 1 else <void *><uintptr_t>value
    stream.owner = owner
    return stream


cdef Stream as_stream(object stream):
    """Accepts an int handle and the stream objects of CUDA's Python libraries."""
    if isinstance(stream, Stream):
        return stream
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream_of_handle(stream, None)
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        version, handle = protocol() if callable(protocol) else protocol
        if version != 0:
            raise GpukernValueError(
                f"stream must speak version 0 of __cuda_stream__, got version {version}")
        return stream_of_handle(handle, stream)
    for name in ("cuda_stream", "ptr"):  # torch and CuPy before they had the protocol
        handle = getattr(stream, name, None)
        if isinstance(handle, int):
            return stream_of_handle(handle, stream)
    raise GpukernTypeError(
        "stream must be None, an int or an object with __cuda_stream__, "
        f"got {type(stream).__name__}")


cdef gpukern_device as_device(object device) except *:
    """Accepts None, 'cpu', 'cuda', 'cuda:N' and the ordinal N of a CUDA device."""
    cdef gpukern_device found
    found.device_id = 0
    if device is None:
        found.device_type = GPUKERN_DEVICE_DEFAULT
    elif isinstance(device, str):
        kind, colon, number = device.partition(":")
        if device == "cpu":
            found.device_type = GPUKERN_CPU
        elif kind == "cuda" and (number.isdecimal() or not colon) and len(number) < 10:
            found.device_type = GPUKERN_CUDA
            found.device_id = int(number or "0")
        else:
            raise GpukernValueError(f"device must be 'cpu', 'cuda' or 'cuda:N', got {device!r}")
    elif isinstance(device, int) and not isinstance(device, bool):
        found.device_type = GPUKERN_CUDA
        if not 0 <= device < 2**31:
            raise GpukernValueError(f"device must be an ordinal from 0 on, got {device}")
        found.device_id = device
    else:
        raise GpukernTypeError(
            f"device must be None, a str or an int, got {type(device).__name__}")
    return found


cdef class Launch:
    """One call's gpukern_exec; without a stream= it goes to the first stream it is told of."""

    cdef int follow(self, gpukern_device device, Stream stream) except -1:
        """Orders the call behind the work on `stream` of the CUDA device, None for no work."""
        cdef gpukern_exec other
        if self.any_cuda:
            self.any_cuda = False
            self.c.device.device_id = device.device_id
        if stream is None:
            return 0
        if self.stream is None:
            self.stream = stream
            self.c.stream = stream.handle
        elif stream.handle != self.c.stream:
            other = self.c
            other.stream = stream.handle
            with nogil:
                check(gpukern_synchronize(device, &other))
        return 0


cdef Launch new_launch(object device, object stream):
    cdef Launch made = Launch.__new__(Launch)
    made.c.struct_size = sizeof(gpukern_exec)
    made.c.device = as_device(device)
    # Beside device arrays, 'cuda' without a number is the device where they lie.
    made.any_cuda = device == "cuda" if isinstance(device, str) else False
    if stream is not None:
        made.stream = as_stream(stream)
        made.c.stream = made.stream.handle
    return made
