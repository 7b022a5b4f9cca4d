# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Imported arrays that a call keeps alive until its work has run.

Imported arrays have no StreamTracker. Most libraries free memory in the order of a stream that they
name, behind which gpukern orders its work. One that names none (JAX, an unknown exporter) does not
know the call's stream either, and would free or reuse an array that the caller drops right after a
call, before the call's work has read it. Such arrays are kept alive until an event behind that work
has completed. Nothing waits for it: every later call releases those that have completed by then.
"""

cimport cython
from libc.stdint cimport int32_t

from gpukern._capi cimport (
    GPUKERN_SUCCESS, gpukern_device, gpukern_event_query, gpukern_event_record,
    gpukern_event_release,
)
from gpukern._runtime.runtime cimport check

# In call order. An array behind a slower one of another stream is kept alive longer than needed.
cdef list keepalives = []
cdef cython.pymutex keepalives_lock


@cython.no_gc
@cython.final
cdef class KeepAlive:
    """The owner of an array, until an event behind the last work on it has come."""

    def __dealloc__(self):
        gpukern_event_release(self.device, self.event)


cdef int keep_until_done(object owner, gpukern_device device, void *stream) except -1:
    """Keeps the owner of an array until the work enqueued on a stream has run.

    While that stream captures a CUDA graph nothing is kept alive: the caller keeps the arrays of a
    graph as long as the graph.
    """
    cdef KeepAlive kept = KeepAlive.__new__(KeepAlive)
    kept.owner = owner
    kept.device = device
    check(gpukern_event_record(device, stream, &kept.event))
    if kept.event == NULL:
        return 0
    with keepalives_lock:
        keepalives.append(kept)
        keepalive_count.fetch_add(1)
    return 0


cdef void release_completed() noexcept:
    """Releases the arrays whose work has completed; those of a broken context, and of a process
    before its fork(), stay."""
    cdef KeepAlive oldest
    cdef int32_t done
    while keepalive_count.load() > 0:
        done = 0
        with keepalives_lock:
            if keepalives:
                oldest = <KeepAlive>keepalives[0]
                if gpukern_event_query(oldest.device, oldest.event, &done) != GPUKERN_SUCCESS:
                    done = 0
                if done:
                    del keepalives[0]
                    keepalive_count.fetch_sub(1)
        if not done:
            return
        # The owner is released here, without the lock: a library may do anything then.
        oldest = None
