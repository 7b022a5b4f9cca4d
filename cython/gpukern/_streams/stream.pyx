# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Where a call runs: the device= and stream= arguments, and the order between streams."""

cimport cython
from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdint cimport uint64_t, uintptr_t

from gpukern._capi cimport (
    GPUKERN_CPU, GPUKERN_CUDA, GPUKERN_DEVICE_DEFAULT, gpukern_device, gpukern_stream_capture,
    gpukern_stream_wait,
)
from gpukern._runtime.runtime cimport as_int, check, shown

import sys

from gpukern.errors import GpukernTypeError, GpukernValueError


# CUDA's handle of the per-thread default stream.
cdef void *PER_THREAD = <void *>2


# Not part of reference cycles: the collector runs the finalizers of all that it found before it
# clears any of it, and so would destroy the owner's stream before the memory is freed on it.
@cython.no_gc
cdef class Stream:
    """A CUDA stream's handle, and the object that keeps it alive.

    `lasting`: the handle means the same stream, on every thread, as long as this object lives. A
    handle without an owner does so only for the time of a call; and the per-thread default stream
    is another one on each thread.
    """


cdef Stream stream_of_handle(object handle, object owner, str what="stream"):
    """A stream by its number, kept alive by `owner`; None if it may be destroyed at any time."""
    value = as_int(handle, what, "must have an int as its handle")
    if not 0 <= value < 2**64:
        raise GpukernValueError(f"{what} must be a handle from 0 to 2**64 - 1, got {shown(value)}")
    # 1 (cudaStreamLegacy) is another name of 0; one name makes handles comparable.
    return new_stream(NULL if value == 1 else <void *><uintptr_t>value, owner)


cdef Stream new_stream(void *handle, object owner):
    """A stream by its handle, kept alive by `owner`; None if it may be destroyed at any time."""
    cdef Stream stream = Stream.__new__(Stream)
    stream.handle = handle
    stream.owner = owner
    stream.lasting = handle == NULL or (owner is not None and handle != PER_THREAD)
    return stream


cdef void *handle_of(object stream, str what) except? NULL:
    """The handle of a stream= argument: an int, or a stream object of CUDA's Python libraries."""
    cdef int overflow = 0
    cdef long long value
    if type(stream) is int:
        value = PyLong_AsLongLongAndOverflow(stream, &overflow)
        if value >= 0 and not overflow:
            # 1 (cudaStreamLegacy) is another name of 0; one name makes handles comparable.
            return NULL if value == 1 else <void *><uintptr_t>value
    return as_stream(stream, what).handle


cdef Stream LEGACY = stream_of_handle(0, None)


cdef Stream legacy_stream():
    """The legacy default stream."""
    return LEGACY


cdef bint same_stream(Stream a, Stream b) noexcept:
    """Whether both are one stream to this thread, as long as both exist."""
    return a.handle == b.handle


cdef int wait_back(gpukern_device device, void *stream, void *call) except -1 nogil:
    """Lets a stream that a call waited for wait for the call in turn, unless only one of them
    captures a CUDA graph: a stream that waited for a captured one would join that capture."""
    cdef uint64_t here = 0, there = 0
    check(gpukern_stream_capture(device, stream, &here))
    check(gpukern_stream_capture(device, call, &there))
    if here == there:
        check(gpukern_stream_wait(device, stream, call))
    return 0


cdef Stream as_stream(object stream, str what="stream"):
    """Accepts an int handle and the stream objects of CUDA's Python libraries."""
    if isinstance(stream, Stream):
        return stream
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream_of_handle(stream, None, what)
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        spoken = protocol() if callable(protocol) else protocol
        if not isinstance(spoken, (tuple, list)) or len(spoken) != 2:
            raise GpukernTypeError(
                f"{what} must give (version, handle) as its __cuda_stream__, got {spoken!r}")
        version, handle = spoken
        if version != 0:
            raise GpukernValueError(
                f"{what} must speak version 0 of __cuda_stream__, got version {version}")
        return stream_of_handle(handle, stream, what)
    for name in ("cuda_stream", "ptr"):  # torch and CuPy before they had the protocol
        handle = getattr(stream, name, None)
        if isinstance(handle, int):
            return stream_of_handle(handle, stream, what)
    raise GpukernTypeError(
        f"{what} must be None, an int or an object with __cuda_stream__, "
        f"got {type(stream).__name__}")


cdef bint captures(gpukern_device device, void *stream) noexcept:
    cdef uint64_t capture = 0
    with nogil:
        gpukern_stream_capture(device, stream, &capture)
    return capture != 0


cdef void wait_outside(gpukern_device device, void *stream, void *other) noexcept:
    """Waits for another stream, unless that captures: this one would be drawn into the capture."""
    if not captures(device, other):
        with nogil:
            gpukern_stream_wait(device, stream, other)


cdef uint64_t capture_of(gpukern_device device, Stream stream) except? 0xffffffff:
    cdef uint64_t capture = 0
    with nogil:
        check(gpukern_stream_capture(device, stream.handle, &capture))
    return capture


cdef int wait_for(gpukern_device device, Stream stream, Stream other, bint captured) except -1:
    """Waits for all work on another stream, unless that would draw this one into a capture."""
    if not captured and capture_of(device, other) != 0:
        raise GpukernValueError(
            "the array is in use on a stream that captures a CUDA graph; use it on a stream of "
            "that capture, or when the capture has ended")
    with nogil:
        check(gpukern_stream_wait(device, stream.handle, other.handle))
    return 0


cdef Stream consumer_stream(object stream, int device_id):
    """DLPack's number of a CUDA stream; None for -1."""
    cdef Stream known
    if stream is None:
        return legacy_stream()
    if stream == -1:
        return None
    if isinstance(stream, int) and stream == 0:
        raise GpukernValueError("DLPack's stream must be 1, 2 or a handle; 0 is ambiguous")
    cdef Stream found = as_stream(stream)
    if found.lasting or stream == 2:
        return found
    for known in current_streams(device_id):
        if same_stream(known, found):
            return known
    # A handle and no more: the consumer's promise that the stream stays.
    return stream_of_handle(stream, "a DLPack consumer")


cdef list current_streams(int device_id):
    """The streams on which a consumer that says nothing may be expected to work."""
    cdef list found = [legacy_stream()]
    cupy = sys.modules.get("cupy")
    if cupy is not None:
        found.append(as_stream(cupy.cuda.get_current_stream(device_id)))
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        found.append(as_stream(torch.cuda.current_stream(device_id)))
    return [stream for stream in found if (<Stream>stream).lasting]


cdef gpukern_device as_device(object device, str what="device") except *:
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
            raise GpukernValueError(f"{what} must be 'cpu', 'cuda' or 'cuda:N', got {device!r}")
    elif isinstance(device, int) and not isinstance(device, bool):
        found.device_type = GPUKERN_CUDA
        if not 0 <= device < 2**31:
            raise GpukernValueError(f"{what} must be an ordinal from 0 on, got {shown(device)}")
        found.device_id = device
    else:
        raise GpukernTypeError(f"{what} must be None, a str or an int, got {type(device).__name__}")
    return found
