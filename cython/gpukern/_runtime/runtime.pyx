# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""The library: errors of its calls, versions, threads, devices and the environment."""

from libc.stdint cimport int32_t
from libc.stdlib cimport getenv
from posix.unistd cimport pause

from gpukern._capi cimport (
    GPUKERN_SUCCESS, gpukern_abi_version, gpukern_cuda_info, gpukern_cuda_query,
    gpukern_device_count, gpukern_device_info, gpukern_device_query, gpukern_last_error,
    gpukern_num_threads, gpukern_reload_environment, gpukern_set_num_threads, gpukern_status,
    gpukern_version,
)

import operator

from gpukern.errors import (
    ERROR_OF_STATUS, GpukernInternalError, GpukernTypeError, GpukernValueError,
)

cdef extern from "Python.h":
    int Py_IsInitialized() nogil

cdef extern from "<pthread.h>" nogil:
    int pthread_atfork(void (*prepare)() noexcept, void (*parent)() noexcept,
                       void (*child)() noexcept)

# $GPUKERN_DEVICE, as the C side has read it; in a dict, which threads may change without the GIL.
cdef dict variables = {"GPUKERN_DEVICE": ""}
cdef DefaultDevice named_device = DEFAULT_NONE
cdef dict DEFAULT_DEVICES = {"": DEFAULT_NONE, "cpu": DEFAULT_CPU, "cuda": DEFAULT_CUDA}


cdef int forks = 0  # that this process descends from


cdef void count_fork() noexcept nogil:
    global forks
    forks += 1


pthread_atfork(NULL, NULL, count_fork)


cdef int fork_count() noexcept nogil:
    return forks


cdef int check(gpukern_status status) except -1 nogil:
    """Raises the exception of a failed call of this thread, with the library's message."""
    # No variable here may be a Python object: at the end it would be released, for which Cython
    # takes the GIL, also behind a call that succeeded, and when Python has ended.
    if status == GPUKERN_SUCCESS:
        return 0
    # A daemon thread that acquires the GIL after the interpreter has exited would end the process
    # with a signal.
    while not Py_IsInitialized():
        pause()
    return raise_error(status)


cdef int raise_error(gpukern_status status) except -1 with gil:
    message = gpukern_last_error().decode("utf-8", "replace")
    raise ERROR_OF_STATUS.get(<int>status, GpukernInternalError)(message)


def version():
    """The library's version, such as '0.1.0'."""
    cdef int32_t number = gpukern_version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def abi_version():
    """The version of the library's ABI, an int."""
    return gpukern_abi_version()


def set_num_threads(threads):
    """Sets how many threads compute on the CPU at once in this process, all calls together.

    Each calling thread computes, without the GIL, and helper threads join up to this limit. Small
    calls use the calling thread only.

    Parameters
    ----------
    threads : int or None
        At least 1; values above 4096 are 4096. None for the default: ``$OMP_NUM_THREADS`` as read
        at the first call, else the number of processors that the process may use when gpukern is
        imported, but not more than the CPU quota of its control group.

    Raises
    ------
    TypeError, ValueError
        If `threads` is not an int, or is below 1.
    """
    if threads is None:
        check(gpukern_set_num_threads(0))
        return
    number = as_int(threads, "set_num_threads: threads", "must be an int or None")
    if not 0 < number < 2**31:
        raise GpukernValueError(
            f"set_num_threads: threads must be at least 1 and below 2**31, got {shown(number)}")
    check(gpukern_set_num_threads(number))


cdef object as_int(object given, str what, str expected="must be an int"):
    try:
        return given if type(given) is int else operator.index(given)
    except TypeError:
        raise GpukernTypeError(f"{what} {expected}, got {type(given).__name__}") from None


cdef object shown(object number):
    """A number for an error: Python does not write the digits of the longest ints."""
    bits = number.bit_length() if isinstance(number, int) else 0
    return f"an int of {bits} bits" if bits > 128 else number


def get_num_threads():
    """Returns the number of threads that compute on the CPU; see :func:`set_num_threads`."""
    return gpukern_num_threads()


def device_count():
    """Returns the number of usable CUDA devices; 0 without a driver, a GPU or a CUDA build.

    :func:`info` has their properties, or the reason why there is no device.
    """
    cdef int32_t count
    with nogil:
        count = gpukern_device_count()
    return count


def cuda_status():
    """The state of CUDA in this process, as a dict."""
    cdef gpukern_cuda_info info
    info.struct_size = sizeof(gpukern_cuda_info)
    with nogil:
        check(gpukern_cuda_query(&info))
    return {
        "built": bool(info.built),
        "runtime_version": version_text(info.runtime_version),
        "driver_version": version_text(info.driver_version),
        "device_count": info.device_count,
        "reason": info.reason.decode("utf-8", "replace"),
    }


def device_status(int32_t device_id):
    """The properties of one CUDA device, as a dict."""
    cdef gpukern_device_info info
    info.struct_size = sizeof(gpukern_device_info)
    with nogil:
        check(gpukern_device_query(device_id, &info))
    return {
        "device": f"cuda:{device_id}",
        "name": (<const char *>info.name).decode("utf-8", "replace"),
        "compute_capability": f"{info.compute_capability_major}.{info.compute_capability_minor}",
        "multiprocessors": info.multiprocessor_count,
        "l2_cache_bytes": info.l2_cache_bytes,
        "memory_bytes": info.total_memory_bytes,
    }


cdef str version_text(int32_t version):
    """CUDA's 13000 as '13.0'; None for 0."""
    return f"{version // 1000}.{version % 1000 // 10}" if version else None


def reload_environment():
    """Reads gpukern's environment variables anew.

    They are read when gpukern is imported. Call this after a change of ``os.environ`` that gpukern
    is to follow. What it computed from ``OMP_NUM_THREADS`` stays.
    """
    global named_device
    # With the GIL, as changes of os.environ. Both read the environment of C.
    check(gpukern_reload_environment())
    cdef const char *variable = getenv("GPUKERN_DEVICE")
    name = "" if variable == NULL else variable.decode("utf-8", "replace")
    variables["GPUKERN_DEVICE"] = name
    named_device = DEFAULT_DEVICES.get(name, DEFAULT_UNKNOWN)


def default_device_name():
    """Returns $GPUKERN_DEVICE as it was read, "" without it."""
    return variables["GPUKERN_DEVICE"]


cdef DefaultDevice default_device() noexcept:
    """The device that $GPUKERN_DEVICE names for host arrays."""
    return named_device


cdef DefaultDevice checked_default_device() except *:
    """As default_device(), which raises for an unknown device."""
    if named_device == DEFAULT_UNKNOWN:
        raise GpukernValueError(f"GPUKERN_DEVICE must be cpu or cuda, got {default_device_name()}")
    return named_device


reload_environment()
