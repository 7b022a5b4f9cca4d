# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The stream order of work on device memory, and when the memory may be freed.

Memory has an owner stream: the one that wrote to it last, on which it will be freed. Work on the
owner stream is in order, and costs no CUDA call. Other streams wait for the work that they conflict
with (readers for writers, writers for all), by events and never on the host: a writer becomes the
owner, and readers are pending until the next writer or the release has waited for them.

A lasting stream (see Stream) is remembered by its handle, and its work is marked with an event when
another stream has to wait for it. The work of a stream that may be destroyed before the memory is
freed is marked after each use.

In a stream that captures a CUDA graph nothing runs yet: only work on the owner stream is noted.

Memory that several GPUs access has a tracker for each of them. A reader on one waits for the
writers on the others, a writer for all.

Imported arrays have no tracker, see keep_alive.pyx.
"""

cimport cython
from libc.stdint cimport uint64_t
from libc.string cimport memset
from libcpp.atomic cimport memory_order_relaxed

from gpukern._capi cimport (
    GPUKERN_DEVICE_DEFAULT, gpukern_device, gpukern_event, gpukern_event_record,
    gpukern_event_release, gpukern_exec, gpukern_release, gpukern_stream_wait_event,
    gpukern_synchronize,
)
from gpukern._runtime.runtime cimport check, fork_count
from gpukern._streams.stream cimport (
    Stream, capture_of, captures, legacy_stream, same_stream, wait_for, wait_outside,
)

from gpukern.errors import GpukernCudaError

cdef enum:
    # With more pending streams the owner waits for the oldest, which costs some overlap.
    MAX_PENDING = 16

# CUDA's handle of the per-thread default stream.
cdef void *PER_THREAD = <void *>2


# Not part of reference cycles. Its allocation must not start the collector, which could re-enter
# this module while the lock is held.
@cython.no_gc
@cython.final
cdef class PendingUse:
    """Work on a stream other than the owner: all of it, or up to an event if the stream is None."""


# Not part of reference cycles: the collector would clear its lists before the release, which reads
# them.
@cython.no_gc
@cython.final
cdef class StreamTracker:
    """The uses of one piece of device memory. All functions may be called from any thread."""

    def __dealloc__(self):
        gpukern_event_release(self.device, self.written)

    cdef int require_process(self) except -1:
        """In the child of a fork() another thread's lock would never be released."""
        if self.forks != fork_count():
            raise GpukernCudaError("the array is of the process that this one was forked from, in "
                                   "which alone CUDA works")
        return 0

    cdef int drop_retired(self) except -1:
        """Releases what was replaced under the lock: the owner of a stream may run any code."""
        cdef list retired = []
        with self.lock:
            retired, self.retired = self.retired, retired
            self.retires = False
        return 0

    cdef int retire(self, object replaced) except -1:
        self.retired.append(replaced)
        self.retires = True
        return 0

    cdef int begin(self, Stream stream, bint writes, uint64_t *number=NULL) except -1:
        """Orders what will be enqueued on a stream behind the uses that it conflicts with. The
        `number` of this use is for mark_complete()."""
        self.require_process()
        if self.elsewhere is not None:
            if writes:
                self.join(stream)
            else:
                self.join_writes(stream)
        with self.lock:
            self.changes.store(self.changes.load() + 1, memory_order_relaxed)
            if writes:
                self.writes.fetch_add(1)
            if number != NULL:
                number[0] = self.looks.load() + 1
            self.looks.fetch_add(1)
            if same_stream(stream, self.owner):
                self.begin_on_owner(writes)
            else:
                self.begin_on_other(stream, writes)
        return self.drop_retired() if self.retires else 0

    cdef int join(self, Stream stream) except -1:
        """Orders what will be enqueued on a stream behind all uses elsewhere, but no capture."""
        cdef StreamTracker other
        cdef gpukern_event *event
        cdef uint64_t changes = 0  # until now: the events may miss what changes later
        for other in self.elsewhere:
            changes += other.changes.load()
        with self.lock:
            if (self.joined is not None and same_stream(stream, self.joined)
                    and changes == self.joined_changes):
                return 0
        for other in self.elsewhere:
            event = other.mark()
            try:
                with nogil:
                    check(gpukern_stream_wait_event(self.device, stream.handle, event))
            finally:
                with nogil:
                    gpukern_event_release(other.device, event)
        if stream.lasting and capture_of(self.device, stream) == 0:
            with self.lock:  # which is not held when the old stream is released
                self.joined, stream = stream, self.joined
                self.joined_changes = changes
        return 0

    cdef int join_writes(self, Stream stream) except -1:
        """Orders what will be enqueued on a stream behind all writes elsewhere, but no capture."""
        cdef StreamTracker other
        cdef uint64_t writes = 0  # until now, as in join()
        for other in self.elsewhere:
            writes += other.writes.load()
        with self.lock:
            if (self.reader is not None and same_stream(stream, self.reader)
                    and writes == self.reader_writes):
                return 0
        for other in self.elsewhere:
            other.order_behind_writes(self.device, stream)
        if stream.lasting and capture_of(self.device, stream) == 0:
            with self.lock:
                self.reader, stream = stream, self.reader
                self.reader_writes = writes
        return 0

    cdef int order_behind_writes(self, gpukern_device device, Stream stream) except -1:
        """Orders a stream of another device behind the writes here, not behind later reads."""
        cdef gpukern_event *event = NULL
        cdef uint64_t writes
        with self.lock:
            self.looks.fetch_add(1)
            writes = self.writes.load()
            if writes != self.written_writes:
                if capture_of(self.device, self.owner):
                    self.writes.fetch_add(1)  # the next join_writes() has to try again
                    return 0
                self.begin_on_owner(False)
                with nogil:
                    check(gpukern_event_record(self.device, self.owner.handle, &event))
                    gpukern_event_release(self.device, self.written)
                self.written, self.written_writes = event, writes
            with nogil:
                check(gpukern_stream_wait_event(device, stream.handle, self.written))
        return self.drop_retired() if self.retires else 0

    cdef gpukern_event *mark(self) except? NULL:
        """An event behind all uses, NULL if there are none, or if the owner captures a graph."""
        cdef gpukern_event *event = NULL
        self.require_process()
        with self.lock:
            self.looks.fetch_add(1)
            if self.busy or self.pending:
                if capture_of(self.device, self.owner):
                    self.changes.fetch_add(1)  # the next join() has to try again
                    return NULL
                self.begin_on_owner(True)
                with nogil:
                    check(gpukern_event_record(self.device, self.owner.handle, &event))
        if self.retires:
            self.drop_retired()
        return event

    cdef int synchronize(self) except -1:
        """Waits on the host for all uses, and for the streams of consumers."""
        cdef gpukern_exec where = in_order_of(PER_THREAD)
        cdef gpukern_event *event = self.mark()
        cdef Stream stream
        try:
            for stream in list(self.consumers):
                wait_outside(self.device, PER_THREAD, stream.handle)
            with nogil:
                check(gpukern_stream_wait_event(self.device, PER_THREAD, event))
                check(gpukern_synchronize(self.device, &where))
        finally:
            with nogil:
                gpukern_event_release(self.device, event)
        return 0

    cdef int end(self, Stream stream, bint writes, uint64_t number=0) except -1:
        """Notes that a use has been enqueued, by the number of its begin(), 0 for new memory. Who
        looked at the uses since then has not waited for its work."""
        # A look that this does not count comes after it, and so after the work.
        if stream.lasting and self.looks.fetch_add(0) == number:
            return 0
        with self.lock:
            self.changes.fetch_add(1)
            self.writes.fetch_add(1 if writes else 0)
            self.looks.fetch_add(1)
            if same_stream(stream, self.owner):
                if writes or not self.busy:
                    self.begin_on_owner(writes)
            else:
                self.note_on_other(stream, writes)
        return self.drop_retired() if self.retires else 0

    cdef int note_on_other(self, Stream stream, bint writes) except -1:
        cdef PendingUse use = self.use_of(stream)
        if (use is not None and not writes) or capture_of(self.device, stream):
            return 0
        if use is None:
            use = PendingUse.__new__(PendingUse)
            use.stream = stream if stream.lasting else None
            if not stream.lasting:
                with nogil:
                    check(gpukern_event_record(self.device, stream.handle, &use.event))
            self.remember(use)
        use.wrote |= writes
        return 0

    cdef int begin_on_owner(self, bint writes) except -1:
        cdef PendingUse use
        cdef Py_ssize_t i = 0
        if self.pending and capture_of(self.device, self.owner):
            return 0
        # In place: to make a list could start the collector, which must not come back here.
        while i < len(self.pending):
            use = self.pending[i]
            if writes or use.wrote:
                self.wait(self.owner, use, False)
                self.wrote |= use.wrote
                self.retire(use)
                del self.pending[i]
                forget(self.device, use)
            else:
                i += 1
        self.busy = True
        if writes:
            self.wrote = True
            self.version += 1
        return 0

    cdef int begin_on_other(self, Stream stream, bint writes) except -1:
        cdef PendingUse own = self.use_of(stream)
        cdef bint seen = own is not None and own.version == self.version
        cdef bint lasting = stream.lasting or own is not None
        cdef bint captured
        cdef PendingUse use
        if seen and not writes and not self.has_pending_write():
            return 0  # one more look at what the stream has waited for
        captured = capture_of(self.device, stream) != 0
        if writes and not lasting and not captured:
            # Through the owner, which then stands for all earlier work.
            self.begin_on_owner(True)
        if self.busy and (writes or (self.wrote and not seen)):
            wait_for(self.device, stream, self.owner, captured)
        for use in self.pending:
            if use is not own and (writes or use.wrote):
                self.wait(stream, use, captured)
        if captured or not lasting:
            return 0
        if writes:
            return self.change_owner(stream if own is None else own.stream)
        if own is None:
            own = PendingUse.__new__(PendingUse)
            own.stream = stream
            self.remember(own)
        own.version = self.version
        return 0

    cdef bint has_pending_write(self) noexcept:
        cdef PendingUse use
        for use in self.pending:
            if use.wrote:
                return True
        return False

    cdef int change_owner(self, Stream stream) except -1:
        """To a stream that has waited for all others."""
        cdef PendingUse use
        for use in self.pending:
            self.retire(use)
            forget(self.device, use)
        self.pending.clear()  # in place, as above
        self.retire(self.owner)
        self.owner = stream
        self.busy = self.wrote = True
        self.version += 1
        return 0

    cdef int remember(self, PendingUse use) except -1:
        cdef PendingUse oldest
        self.pending.append(use)
        if len(self.pending) > MAX_PENDING and not capture_of(self.device, self.owner):
            oldest = self.pending[0]
            self.wait(self.owner, oldest, False)
            self.busy = True
            self.wrote |= oldest.wrote
            self.retire(oldest)
            del self.pending[0]
            forget(self.device, oldest)
        return 0

    cdef PendingUse use_of(self, Stream stream):
        """The entry of a stream that lasts, None if it has none."""
        cdef PendingUse use
        for use in self.pending:
            if use.stream is not None and same_stream(use.stream, stream):
                return use
        return None

    cdef int wait(self, Stream stream, PendingUse use, bint captured) except -1:
        if use.stream is not None:
            return wait_for(self.device, stream, use.stream, captured)
        with nogil:
            check(gpukern_stream_wait_event(self.device, stream.handle, use.event))
        return 0

    cdef Stream current_owner(self):
        self.require_process()
        with self.lock:
            return self.owner

    cdef void mark_complete(self, Stream stream, uint64_t number) noexcept:
        """Notes that the host has waited for a use on `stream`, if there was no look since."""
        with self.lock:
            if self.looks.load() == number and not self.pending and same_stream(stream, self.owner):
                self.busy = self.wrote = False

    cdef void mark_new_complete(self) noexcept:
        """Notes that the host has waited for the first use, before any other."""
        cdef PendingUse use
        for use in self.pending:
            forget(self.device, use)
        self.pending = []
        self.busy = self.wrote = False

    cdef int add_consumers(self, list streams) except -1:
        """Notes streams on which others may work untracked: the release waits for them."""
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
        """Frees the memory behind all its uses; the last call to this object. Errors are ignored:
        only a broken context or the end of the process causes them, which lose or return all."""
        cdef gpukern_exec where = in_order_of(self.owner.handle)
        cdef Stream holder = self.capturing() if self.pending or self.consumers else None
        if holder is not None:
            # A graph cannot wait for work outside it; this one case is left to the host.
            self.await_uses()
            where.stream = holder.handle
        else:
            self.wait_for_others(self.owner.handle)
        with nogil:
            gpukern_release(self.device, data, &where)

    cdef void await_uses(self) noexcept:
        """Waits on the host for all uses, those in captures excepted."""
        cdef gpukern_exec where = in_order_of(PER_THREAD)
        self.wait_for_others(PER_THREAD)
        wait_outside(self.device, PER_THREAD, self.owner.handle)
        with nogil:
            gpukern_synchronize(self.device, &where)

    cdef void wait_for_others(self, void *waiter) noexcept:
        """Orders a stream behind the uses on all but the owner, which are then forgotten."""
        cdef Stream stream
        cdef PendingUse use
        for stream in self.consumers:
            wait_outside(self.device, waiter, stream.handle)
        for use in self.pending:
            if use.stream is not None:
                wait_outside(self.device, waiter, use.stream.handle)
            else:
                with nogil:
                    gpukern_stream_wait_event(self.device, waiter, use.event)
            forget(self.device, use)

    cdef Stream capturing(self):
        """A stream that captures a CUDA graph, which then keeps the memory: the owner before the
        others. None if none of these captures."""
        cdef Stream stream
        cdef PendingUse use
        if captures(self.device, self.owner.handle):
            return self.owner
        for stream in self.consumers:
            if captures(self.device, stream.handle):
                return stream
        for use in self.pending:
            if use.stream is not None and captures(self.device, use.stream.handle):
                return use.stream
        return None


cdef gpukern_exec in_order_of(void *stream) noexcept:
    cdef gpukern_exec where
    memset(&where, 0, sizeof(where))
    where.struct_size = sizeof(where)
    where.device.device_type = GPUKERN_DEVICE_DEFAULT
    where.stream = stream
    return where


cdef void forget(gpukern_device device, PendingUse use) noexcept:
    cdef gpukern_event *event = use.event
    use.event = NULL
    with nogil:
        gpukern_event_release(device, event)


cdef StreamTracker new_stream_tracker(gpukern_device device, Stream stream):
    """The uses of memory that was just allocated on a stream."""
    cdef StreamTracker made = StreamTracker.__new__(StreamTracker)
    made.device = device
    made.owner = stream if stream.lasting else legacy_stream()
    made.forks = fork_count()
    made.pending, made.consumers, made.retired = [], [], []
    if stream.lasting:
        made.busy = made.wrote = True
    else:
        made.end(stream, True)
    return made
