# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Progress callbacks and signals during calls that take long."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int32_t, uint64_t
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from gpukern._capi cimport GPUKERN_CANCELLED, gpukern_exec, gpukern_status
from gpukern._runtime.error cimport check, sleep_if_python_has_ended

from gpukern.errors import GpukernTypeError

cdef extern from *:
    """
    #include <pthread.h>
    #include <unistd.h>

    static void sleep_for_good(void *) {
      for (;;) pause();
    }

    // Before Python 3.14, pthread_exit() ends a thread that asks for the GIL while the interpreter
    // ends. That would unwind the library, which lets nothing through and so would end the process.
    // The thread sleeps until that has ended by itself, as it does since Python 3.14.
    template <class Ask>
    static int32_t ask_or_sleep(Ask ask, void *user, uint64_t done_bytes, uint64_t total_bytes) {
      int32_t stops = 1;
      pthread_cleanup_push(sleep_for_good, nullptr);
      stops = ask(user, done_bytes, total_bytes);
      pthread_cleanup_pop(0);
      return stops;
    }
    """
    int32_t ask_or_sleep(int32_t (*ask)(void *, uint64_t, uint64_t) noexcept with gil, void *user,
                         uint64_t done_bytes, uint64_t total_bytes) noexcept nogil


# Between two looks at signals, for which the GIL is taken.
cdef double LOOK = 0.05


cdef double now() noexcept nogil:
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec + 1e-9 * time.tv_nsec


cdef int watch(Watch *self, gpukern_exec *exec_, object progress, Py_ssize_t bytes_,
               str function) except -1:
    """Lets a call report to `progress`, a callable or None, and look at signals if its result is
    large."""
    self.error = NULL
    if progress is not None or bytes_ >= LONG:
        watch_signals(self, exec_)
    if progress is None:
        return 0
    if not callable(progress):
        raise GpukernTypeError(
            f"{function}: progress must be callable or None, got {type(progress).__name__}")
    self.callback = <PyObject *>progress
    return 0


cdef void watch_signals(Watch *self, gpukern_exec *exec_) noexcept:
    self.callback = NULL
    self.error = NULL
    self.next_look = now() + LOOK
    exec_.progress = between_parts
    exec_.progress_user = self


cdef int32_t between_parts(void *user, uint64_t done_bytes, uint64_t total_bytes) noexcept nogil:
    cdef Watch *self = <Watch *>user
    cdef double time = now()
    if self.callback == NULL and time < self.next_look:
        return 0
    self.next_look = time + LOOK
    return ask_or_sleep(ask_python, user, done_bytes, total_bytes)


cdef int32_t ask_python(void *user, uint64_t done_bytes, uint64_t total_bytes) noexcept with gil:
    cdef Watch *self = <Watch *>user
    try:
        if self.callback != NULL:
            (<object>self.callback)(done_bytes, total_bytes)
        PyErr_CheckSignals()
    except BaseException as error:
        Py_INCREF(error)
        self.error = <PyObject *>error
        return 1
    return 0


cdef int watched(Watch *self, gpukern_status status) except -1 nogil:
    """As check(), for a watched call: raises what stopped it."""
    # No variable here may be a Python object, as in check().
    if status != GPUKERN_CANCELLED:
        return check(status)
    sleep_if_python_has_ended()
    return raise_what_stopped(self)


cdef int raise_what_stopped(Watch *self) except -1 with gil:
    error = <object>self.error
    Py_DECREF(error)
    self.error = NULL
    raise error
