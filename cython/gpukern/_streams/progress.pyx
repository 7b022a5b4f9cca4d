# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Progress callbacks and signals between the parts of a call's work."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.pystate cimport PyThreadState, PyThreadState_Get
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int32_t, uint64_t
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from gpukern._capi cimport gpukern_exec

cdef extern from *:
    """
    #include <pthread.h>
    #include <unistd.h>

    static void sleep_for_good(void *) {
      for (;;) pause();
    }

    // Before Python 3.14, pthread_exit() ends a thread that requests the GIL while the interpreter
    // ends. That would unwind the library, which lets nothing through and so would end the process.
    // The thread sleeps until that has ended by itself, as it does since Python 3.14. It requests
    // the GIL for the state that it had before the call: PyGILState_Ensure() fails once the
    // interpreter has ended.
    template <class Ask>
    static int32_t ask_or_sleep(Ask ask, PyThreadState *thread, void *user, uint64_t done_bytes,
                                uint64_t total_bytes) {
      int32_t stops = 1;
      pthread_cleanup_push(sleep_for_good, nullptr);
      PyEval_RestoreThread(thread);
      stops = ask(user, done_bytes, total_bytes);
      PyEval_SaveThread();
      pthread_cleanup_pop(0);
      return stops;
    }
    """
    int32_t ask_or_sleep(int32_t (*ask)(void *, uint64_t, uint64_t) noexcept,
                         PyThreadState *thread, void *user, uint64_t done_bytes,
                         uint64_t total_bytes) noexcept nogil

# Seconds between two reports, and between two looks at signals, for which the GIL is taken.
cdef double REPORTS = 0.1
cdef double LOOKS = 0.05


cdef void watch(Watch *watch, gpukern_exec *exec_) noexcept:
    """Lets a call report its progress and look at signals."""
    watch.next_report = 0
    watch.next_look = now() + LOOKS
    watch.reported = 0
    watch.thread = PyThreadState_Get()
    exec_.progress = between_parts
    exec_.progress_user = watch


cdef double now() noexcept nogil:
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec + 1e-9 * time.tv_nsec


cdef bint is_due(double *next_report) noexcept nogil:
    if now() < next_report[0]:
        return False
    next_report[0] = now() + REPORTS
    return True


cdef int32_t between_parts(void *user, uint64_t done_bytes, uint64_t total_bytes) noexcept nogil:
    cdef Watch *watch = <Watch *>user
    if not (reports(watch, done_bytes, total_bytes) or now() >= watch.next_look):
        return 0
    return ask_or_sleep(ask_python, watch.thread, user, done_bytes, total_bytes)


cdef bint reports(const Watch *watch, uint64_t done_bytes, uint64_t total_bytes) noexcept nogil:
    """Whether there is more to report, and it is time or the end."""
    return (watch.progress != NULL and done_bytes > watch.reported
            and (done_bytes == total_bytes or now() >= watch.next_report))


cdef int32_t ask_python(void *user, uint64_t done_bytes, uint64_t total_bytes) noexcept:
    cdef Watch *watch = <Watch *>user
    watch.next_look = now() + LOOKS
    try:
        if reports(watch, done_bytes, total_bytes):
            watch.next_report = now() + REPORTS
            watch.reported = done_bytes
            (<object>watch.progress)(done_bytes, total_bytes)
        PyErr_CheckSignals()
    except BaseException as error:
        Py_INCREF(error)
        watch.error = <PyObject *>error
        return 1
    return 0
