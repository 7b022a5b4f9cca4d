# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Threads of Python's that compute on the CPU: how many more may, all calls together."""

from libcpp.atomic cimport atomic

from gpukern._capi cimport gpukern_num_threads

cdef extern from "<pthread.h>" nogil:
    int pthread_atfork(void (*prepare)() noexcept, void (*parent)() noexcept,
                       void (*child)() noexcept)

# Without locks: fork() may come at any time, and so may the handler of a signal.
cdef atomic[int] busy
cdef atomic[int] forks


cdef void begin_anew() noexcept nogil:
    """In the child of a fork(), where those threads are not."""
    busy.store(0)
    forks.fetch_add(1)


pthread_atfork(NULL, NULL, begin_anew)


cdef class ThreadShare:
    """The caller's thread, and as many more, up to `wanted` in all, as are free in the process.

    They count until give_back(), or until an exception drops this.
    """

    cdef readonly int count
    cdef int forks

    def __cinit__(self, int wanted):
        self.forks = forks.load()
        cdef int before = busy.fetch_add(wanted)
        self.count = max(1, min(wanted, gpukern_num_threads() - before))
        busy.fetch_sub(wanted - self.count)

    def __dealloc__(self):
        self.give_back()

    cpdef give_back(self):
        """Let other calls have them."""
        if self.forks == forks.load():
            busy.fetch_sub(self.count)
        self.count = 0
