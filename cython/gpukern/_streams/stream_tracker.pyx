# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Who uses a piece of device memory: the order between streams, and when it may be freed.

Memory has a home: the stream that wrote to it last, on which it will be freed. Work at home is in
order by itself, so that whoever stays on one stream pays for no CUDA call. Other streams wait for
what they conflict with (readers for writers, writers for all), by events and never on the host:
a writer becomes the new home, and readers are remembered until the next writer or the release has
waited for them.

A stream that lasts is remembered by its handle, and marked when another one has to wait for it.
One that may be destroyed before the memory is gone (see Stream) is marked after each use.

In a stream that captures a CUDA graph nothing runs yet, so that no use is noted there but at home.
"""

cimport cython
from libc.stdint cimport uint64_t
from libc.string cimport memset

from gpukern._capi cimport (
    GPUKERN_DEVICE_DEFAULT, gpukern_device, gpukern_event, gpukern_event_record,
    gpukern_event_release, gpukern_stream_wait_event, gpukern_exec, gpukern_release,
    gpukern_stream_capture, gpukern_stream_wait, gpukern_synchronize,
)
from gpukern._runtime.error cimport check
from gpukern._streams.stream cimport Stream, legacy_stream, same_stream

from gpukern.errors import GpukernValueError

cdef enum:
    # Beyond so many streams the home waits for the oldest, which costs some overlap.
    MOST_ELSEWHERE = 16

# CUDA's handle of the per-thread default stream.
cdef void *PER_THREAD = <void *>2


# No part of reference cycles. To make one must not start the collector, which could come back
# here while the lock is held.
@cython.no_gc
@cython.final
cdef class Use:
    """Work on a stream other than the home: all of it, or up to an event if the stream is None."""


# The collector must not clear it first: the release would have nothing to go by.
@cython.no_gc_clear
@cython.final
cdef class StreamTracker:
    """The uses of one piece of device memory. All functions may be called from any thread."""

    cdef int begin(self, Stream stream, bint writes) except -1:
        """Orders what will be enqueued on a stream behind the uses that it conflicts with."""
        with self.lock:
            self.begun += 1
            if not same_stream(stream, self.home):
                return self.begin_elsewhere(stream, writes)
            if self.elsewhere:
                return self.begin_at_home(writes)
            self.busy = True
            if writes:
                self.wrote = True
                self.version += 1
        return 0

    cdef int end(self, Stream stream, bint writes) except -1:
        """Notes that the use which began has been enqueued."""
        cdef gpukern_event *event = NULL
        cdef Use use
        if stream.lasting or same_stream(stream, self.home):
            return 0
        with self.lock:
            with nogil:
                check(gpukern_event_record(self.device, stream.handle, &event))
            if event != NULL:
                use = Use.__new__(Use)
                use.event = event
                use.wrote = writes
                self.remember(use)
        return 0

    cdef int begin_at_home(self, bint writes) except -1:
        cdef Use use
        cdef Py_ssize_t i = 0
        if capture_of(self.device, self.home):
            return 0
        # In place: to make a list could start the collector, which must not come back here.
        while i < len(self.elsewhere):
            use = self.elsewhere[i]
            if writes or use.wrote:
                self.wait(self.home, use, False)
                self.wrote |= use.wrote
                del self.elsewhere[i]
                forget(self.device, use)
            else:
                i += 1
        self.busy = True
        if writes:
            self.wrote = True
            self.version += 1
        return 0

    cdef int begin_elsewhere(self, Stream stream, bint writes) except -1:
        cdef Use own = self.use_of(stream)
        cdef bint seen = own is not None and own.version == self.version
        cdef bint lasting = stream.lasting or own is not None
        cdef bint captured
        cdef Use use
        if seen and not writes and not self.written_elsewhere():
            return 0  # one more look at what the stream has waited for
        captured = capture_of(self.device, stream) != 0
        if writes and not lasting and not captured:
            # By way of the home, which then stands for all that was before.
            self.begin_at_home(True)
        if self.busy and (writes or (self.wrote and not seen)):
            wait_for(self.device, stream, self.home, captured)
        for use in self.elsewhere:
            if use is not own and (writes or use.wrote):
                self.wait(stream, use, captured)
        if captured or not lasting:
            return 0
        if writes:
            self.move_home(stream if own is None else own.stream)
        elif own is not None:
            own.version = self.version
        else:
            own = Use.__new__(Use)
            own.stream = stream
            own.version = self.version
            self.remember(own)
        return 0

    cdef bint written_elsewhere(self) noexcept:
        cdef Use use
        for use in self.elsewhere:
            if use.wrote:
                return True
        return False

    cdef int move_home(self, Stream stream) except -1:
        """To a stream that has waited for all others."""
        cdef Use use
        for use in self.elsewhere:
            forget(self.device, use)
        self.elsewhere.clear()  # in place, as above
        self.home = stream
        self.busy = self.wrote = True
        self.version += 1
        return 0

    cdef int remember(self, Use use) except -1:
        cdef Use oldest
        self.elsewhere.append(use)
        if len(self.elsewhere) > MOST_ELSEWHERE and not capture_of(self.device, self.home):
            oldest = self.elsewhere[0]
            self.wait(self.home, oldest, False)
            self.busy = True
            self.wrote |= oldest.wrote
            del self.elsewhere[0]
            forget(self.device, oldest)
        return 0

    cdef Use use_of(self, Stream stream):
        """The entry of a stream that lasts, None if it has none."""
        cdef Use use
        for use in self.elsewhere:
            if use.stream is not None and same_stream(use.stream, stream):
                return use
        return None

    cdef int wait(self, Stream stream, Use use, bint captured) except -1:
        if use.stream is not None:
            return wait_for(self.device, stream, use.stream, captured)
        with nogil:
            check(gpukern_stream_wait_event(self.device, stream.handle, use.event))
        return 0

    cdef Stream current_home(self):
        with self.lock:
            return self.home

    cdef void settle(self, Stream stream, uint64_t begun) noexcept:
        """Notes that the host has waited for the last use that has begun, on `stream`."""
        with self.lock:
            if self.begun == begun and not self.elsewhere and same_stream(stream, self.home):
                self.busy = self.wrote = False

    cdef void settle_new(self) noexcept:
        """Notes that the host has waited for the first use, which nobody else knows of yet."""
        cdef Use use
        for use in self.elsewhere:
            forget(self.device, use)
        self.elsewhere = []
        self.busy = self.wrote = False

    cdef int lend(self, list streams) except -1:
        """Notes streams on which others may work without a word: the release waits for them."""
        cdef Stream stream, known
        with self.lock:
            for stream in streams:
                for known in self.consumers:
                    if same_stream(stream, known):
                        break
                else:
                    self.consumers.append(stream)
        return 0

    cdef void release(self, void *data) noexcept:
        """Frees the memory behind all its uses; the last word to this object.

        Errors are passed over, as a destructor must: only a broken context or the end of the
        process refuses, and then the memory is lost or given back anyway.
        """
        cdef gpukern_exec where
        cdef Stream holder = self.home
        cdef Stream stream
        cdef Use use
        cdef void *waiter = self.home.handle
        memset(&where, 0, sizeof(where))
        where.struct_size = sizeof(where)
        where.device.device_type = GPUKERN_DEVICE_DEFAULT
        if self.elsewhere or self.consumers:
            holder = self.capturing()
            if holder is None:
                holder = self.home
            else:
                # A graph cannot wait for work outside it; this one case is left to the host.
                waiter = PER_THREAD
        for stream in self.consumers:
            wait_outside(self.device, waiter, stream.handle)
        for use in self.elsewhere:
            if use.stream is not None:
                wait_outside(self.device, waiter, use.stream.handle)
            else:
                with nogil:
                    gpukern_stream_wait_event(self.device, waiter, use.event)
            forget(self.device, use)
        if holder is not self.home:
            wait_outside(self.device, waiter, self.home.handle)
        with nogil:
            if waiter == PER_THREAD:
                where.stream = waiter
                gpukern_synchronize(self.device, &where)
            where.stream = holder.handle
            gpukern_release(self.device, data, &where)

    cdef Stream capturing(self):
        """A stream that captures a CUDA graph, which then is to keep the memory: the home before
        the others. None if no stream of these captures."""
        cdef Stream stream
        cdef Use use
        if captures(self.device, self.home.handle):
            return self.home
        for stream in self.consumers:
            if captures(self.device, stream.handle):
                return stream
        for use in self.elsewhere:
            if use.stream is not None and captures(self.device, use.stream.handle):
                return use.stream
        return None


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


cdef void forget(gpukern_device device, Use use) noexcept:
    cdef gpukern_event *event = use.event
    use.event = NULL
    with nogil:
        gpukern_event_release(device, event)


cdef StreamTracker new_stream_tracker(gpukern_device device, Stream stream):
    """The uses of memory that was just allocated on a stream."""
    cdef StreamTracker made = StreamTracker.__new__(StreamTracker)
    made.device = device
    made.home = stream if stream.lasting else legacy_stream()
    made.elsewhere = []
    made.consumers = []
    if stream.lasting:
        made.busy = made.wrote = True
    else:
        made.end(stream, True)
    return made
