# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Keeps imported arrays until the work on them has run.

Most libraries free memory in the order of a stream that they tell us, behind which we order our
work. One that tells none (JAX, an exporter that we do not know) does not know our stream either,
and would free or reuse an array that the caller drops right after a call, while the call's work is
still to read it. Such arrays are kept until an event behind that work has come. Nobody waits for
it: every later call lets go what is done by then.
"""

cimport cython
from libc.stdint cimport int32_t

from gpukern._capi cimport (
    GPUKERN_SUCCESS, gpukern_device, gpukern_event_query, gpukern_event_record,
    gpukern_event_release,
)
from gpukern._runtime.error cimport check

# In the order of the calls. An array behind a slower one of another stream is kept a little longer
# than it has to be.
cdef list all_kept = []
cdef cython.pymutex lock


@cython.no_gc
@cython.final
cdef class Kept:
    """The owner of an array, until an event behind the last work on it has come."""

    def __dealloc__(self):
        gpukern_event_release(self.device, self.event)


cdef int keep_until_done(object owner, gpukern_device device, void *stream) except -1:
    """Keeps the owner of an array until the work enqueued on a stream has run.

    While that stream captures a CUDA graph nothing is kept: what a graph works on is the caller's
    to keep as long as the graph.
    """
    global kept_count
    cdef Kept kept = Kept.__new__(Kept)
    kept.owner = owner
    kept.device = device
    check(gpukern_event_record(device, stream, &kept.event))
    if kept.event == NULL:
        return 0
    with lock:
        all_kept.append(kept)
        kept_count += 1
    return 0


cdef void let_go() noexcept:
    """Lets go the arrays whose work is done; those of a broken context, and of a process before its
    fork(), stay."""
    global kept_count
    cdef Kept oldest
    cdef int32_t done
    while kept_count > 0:
        done = 0
        oldest = None
        with lock:
            if all_kept:
                oldest = <Kept>all_kept[0]
                if gpukern_event_query(oldest.device, oldest.event, &done) != GPUKERN_SUCCESS:
                    done = 0
                if done:
                    del all_kept[0]
                    kept_count -= 1
        if not done:
            return
        # Here, without the lock, the owner goes: what a library does then is its own affair.
        oldest = None
