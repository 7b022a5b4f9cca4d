# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Program: CUDA C++ compiled at run time, and the cache of compiled programs."""

cimport cython
from libc.stdint cimport int32_t
from libc.string cimport memset
from libcpp.vector cimport vector

from gpukern._capi cimport (
    GPUKERN_COMPILE_ERROR, GPUKERN_CUDA, GPUKERN_PROGRAM_ARCHITECTURE, GPUKERN_PROGRAM_CUBIN,
    GPUKERN_PROGRAM_LOG, GPUKERN_PROGRAM_NOTE, GPUKERN_PROGRAM_PTX, gpukern_cache_clear,
    gpukern_cache_info, gpukern_cache_query, gpukern_compile_log, gpukern_device, gpukern_header,
    gpukern_last_error, gpukern_nvrtc_query, gpukern_nvrtc_search, gpukern_program_compile,
    gpukern_program_desc, gpukern_program_get, gpukern_program_lowered_name, gpukern_program_part,
    gpukern_program_release, gpukern_status,
)
from gpukern._program.kernel cimport Kernel, load_kernel
from gpukern._runtime.runtime cimport check, version_text
from gpukern._streams.stream cimport as_device

import os
import sys
from collections.abc import Mapping

from gpukern._program import signature
from gpukern.errors import CompileError, GpukernTypeError, GpukernValueError

cdef bint searched = False
cdef list cleared = []  # what clear_cache() calls, for other caches


@cython.final
cdef class Program:
    """CUDA C++ compiled by NVRTC, or taken from the cache.

    >>> program = Program(source, options=["--std=c++20"], name_expressions=["scale<float>"])
    >>> kernel = program.kernel("scale<float>")

    Parameters
    ----------
    source : str
        CUDA C++. The CUDA headers, such as ``cuda_fp16.h``, are on the include path.
    options : sequence of str
        Options of NVRTC, one per string: ``--fmad=false``, ``-DN=4``, ``-I/usr/include/mine``.
    name : str
        The file name in messages.
    headers : mapping of str to str
        Headers in memory: names for ``#include``, and their sources.
    name_expressions : sequence of str
        Template instances to compile, such as ``"scale<float>"``.
    architecture : str, optional
        The target: ``"sm_90"`` gives machine code, ``"compute_90"`` PTX only. By default that of
        `device`; compilation for a named architecture needs no GPU.
    device : str or int, optional
        The device to compile for and to load kernels on; by default 0.

    Raises
    ------
    CompileError
        If the source does not compile; the message shows the errors with their lines.
    ValueError
        If NVRTC does not know an option or the architecture.
    RuntimeError
        Without NVRTC, and with neither a device nor a named architecture.
    """

    def __init__(self, source, options=(), name="program.cu", headers=None, name_expressions=(),
                 architecture=None, device=None):
        if self.c != NULL:
            raise GpukernTypeError("Program: a program is compiled once; make another one")
        self.device_id = ordinal_of(device, "Program: device")
        self.compile(source, options, name, headers, name_expressions, architecture, None, None)

    cdef int compile(self, object source, object options, object name, object headers,
                     object name_expressions, object architecture, object key,
                     object note) except -1:
        cdef gpukern_program_desc desc
        cdef vector[const char *] option_list, expression_list
        cdef vector[gpukern_header] header_list
        cdef gpukern_header header
        cdef list owners = []  # of the memory that the pointers point into
        self.name_expressions = tuple(
            texts(name_expressions, "Program: name_expressions", owners, &expression_list))
        texts(options, "Program: options", owners, &option_list)
        for header_name, header_text in items_of(headers):
            header.name = text(header_name, "Program: a header's name", owners)
            header.source = text(header_text, "Program: a header's source", owners)
            header_list.push_back(header)
        memset(&desc, 0, sizeof(desc))
        desc.source = text(source, "Program: source", owners)
        desc.name = text(name, "Program: name", owners)
        self.name = name
        if architecture is not None:
            desc.architecture = text(architecture, "Program: architecture", owners)
        if key is not None:
            desc.cache_key, desc.note = text(key, "key", owners), text(note, "note", owners)
        desc.options = option_list.data()
        desc.option_count = option_list.size()
        desc.headers = header_list.data()
        desc.header_count = header_list.size()
        desc.name_expressions = expression_list.data()
        desc.name_expression_count = expression_list.size()
        return find_or_compile(self, &desc)

    def __dealloc__(self):
        with nogil:  # as in Kernel
            gpukern_program_release(self.c)

    def __repr__(self):
        return f"<gpukern.Program {self.name} for {self.architecture}>"

    cdef bytes part(self, gpukern_program_part which):
        cdef const void *data = NULL
        cdef size_t size = 0
        with nogil:
            check(gpukern_program_get(self.c, which, &data, &size))
        return (<const char *>data)[:size]

    cdef str note(self):
        return self.text(GPUKERN_PROGRAM_NOTE)

    cdef str text(self, gpukern_program_part which):
        return self.part(which).decode("utf-8", "replace")

    @property
    def ptx(self):
        """The PTX, a str."""
        return self.text(GPUKERN_PROGRAM_PTX)

    @property
    def cubin(self):
        """The machine code, bytes; empty for an architecture ``compute_XX``."""
        return self.part(GPUKERN_PROGRAM_CUBIN)

    @property
    def log(self):
        """The log of the compiler, such as warnings; often empty."""
        return self.text(GPUKERN_PROGRAM_LOG)

    @property
    def architecture(self):
        """The architecture of the compiled code, such as ``'sm_90'``."""
        return self.text(GPUKERN_PROGRAM_ARCHITECTURE)

    @property
    def kernel_names(self):
        """The lowered (mangled) names of the kernels, a tuple of str."""
        return tuple(signature.entries(self.ptx))

    def kernel(self, name, device=None):
        """Loads a kernel on a device.

        Parameters
        ----------
        name : str
            The name of a kernel, with or without ``extern "C"``, which may be qualified
            (``"ns::f"``); a name expression of the program; or a mangled name.
        device : str or int, optional
            By default that of the program.

        Returns
        -------
        Kernel
            The kernel keeps the code of the program alive.

        Raises
        ------
        ValueError
            If there is no such kernel; the message lists the kernels of the program.
        RuntimeError
            If there is no such device.
        """
        if not isinstance(name, str):
            raise GpukernTypeError(f"kernel: name must be a str, got {type(name).__name__}")
        cdef int device_id = self.device_id
        if device is not None:
            device_id = ordinal_of(device, "kernel: device")
        found = self.kernels.get((name, device_id))
        if found is None:
            found = self.kernels.setdefault((name, device_id), self.find(name, device_id))
        return found

    cdef Kernel find(self, str name, int device_id):
        cdef const char *lowered = NULL
        cdef bytes encoded
        cdef str ptx = self.ptx
        if name in self.name_expressions:
            encoded = name.encode()
            check(gpukern_program_lowered_name(self.c, encoded, &lowered))
            entry = lowered.decode()
        else:
            entry = signature.entry_of(ptx, name)
        if entry is None:
            known = ", ".join(map(signature.readable, signature.entries(ptx)))
            raise GpukernValueError(
                f"kernel: {self.name} has no kernel {name!r}; it has {known or 'none'}. "
                "Instances of templates are compiled if they are among name_expressions")
        return load_kernel(self.c, name, entry, device_id, signature.parameters(ptx, entry))


cdef int find_or_compile(Program program, gpukern_program_desc *desc) except -1:
    cdef gpukern_status status
    cdef const char *log = NULL
    search_packages()
    program.kernels = {}
    desc.struct_size = sizeof(desc[0])
    desc.device = program.device_id
    with nogil:
        status = gpukern_program_compile(desc, &program.c)
    if status == GPUKERN_COMPILE_ERROR:
        message = gpukern_last_error().decode("utf-8", "replace")
        check(gpukern_compile_log(&log))
        raise CompileError(message, log.decode("utf-8", "replace"))
    check(status)
    return 0


cdef Program compile_keyed(str source, tuple options, str name, dict headers, int device,
                           object key, object note):
    """A program for a device, cached under a key, or under its source if that is None."""
    cdef Program made = Program.__new__(Program)
    made.device_id = device
    made.compile(source, options, name, headers, (), None, key, note)
    return made


cdef Program find_program(str key, int device):
    """The program that is cached under a key, or None. It has no name."""
    cdef gpukern_program_desc desc
    cdef Program made = Program.__new__(Program)
    cdef bytes encoded = key.encode()
    memset(&desc, 0, sizeof(desc))
    desc.cache_key = encoded
    made.device_id = device
    made.name_expressions = ()
    find_or_compile(made, &desc)
    return made if made.c != NULL else None


cdef int ordinal_of(object device, str what) except -1:
    cdef gpukern_device found
    if device is None:
        return 0
    found = as_device(device, what)
    if found.device_type != GPUKERN_CUDA:
        raise GpukernValueError(f"{what} must be a CUDA device, got {device!r}")
    return found.device_id


cdef const char *text(object value, str what, list owners) except NULL:
    """A str for C; `owners` gets the owner of its memory."""
    cdef bytes encoded
    if not isinstance(value, str):
        raise GpukernTypeError(f"{what} must be a str, got {type(value).__name__}")
    try:
        encoded = value.encode()
    except UnicodeEncodeError as error:
        raise GpukernValueError(f"{what} must be text that UTF-8 holds: {error}") from None
    if 0 in encoded:
        raise GpukernValueError(f"{what} must hold no NUL character")
    owners.append(encoded)
    return encoded


cdef list texts(object values, str what, list owners, vector[const char *] *found):
    """A sequence of str for C, and as a list."""
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise GpukernTypeError(
            f"{what} must be a sequence of str, got {type(values).__name__}: {values!r}")
    cdef list listed = list(values)
    for value in listed:
        found.push_back(text(value, what, owners))
    return listed


cdef list items_of(object headers):
    if headers is None:
        return []
    if not hasattr(headers, "items"):
        raise GpukernTypeError(f"Program: headers must be a mapping of names to sources, "
                               f"got {type(headers).__name__}")
    return list(headers.items())


def nvrtc_directories():
    """Where the packages of PyPI put NVRTC, site-packages/nvidia/cu13; those that exist."""
    # importlib.util.find_spec() lists all these folders, which takes ten times as long.
    roots = [os.path.abspath(os.path.join(folder, "nvidia", "cu13")) for folder in sys.path]
    return [root for root in dict.fromkeys(roots) if os.path.isdir(root)]


cdef int search_packages() except -1:
    """Names these folders to the library, once."""
    global searched
    if searched:
        return 0
    for directory in nvrtc_directories():
        check(gpukern_nvrtc_search(os.fsencode(directory)))
    searched = True
    return 0


def cache_info():
    """Describes the cache of compiled programs.

    Returns
    -------
    dict
        ``memory_hits``, ``disk_hits``, ``misses`` (compiles) and ``rejected`` (damaged or foreign
        entries, compiled again) are counters of this process. ``entries``, ``bytes``,
        ``limit_bytes`` and ``directory`` describe the cache on disk; without one the directory is
        None. $GPUKERN_CACHE_DIR and $GPUKERN_CACHE_LIMIT set the last two.
    """
    cdef gpukern_cache_info info
    info.struct_size = sizeof(info)
    with nogil:
        check(gpukern_cache_query(&info))
    return {
        "memory_hits": info.memory_hits,
        "disk_hits": info.disk_hits,
        "misses": info.misses,
        "rejected": info.rejected,
        "entries": info.entries,
        "bytes": info.bytes,
        "limit_bytes": info.limit_bytes,
        "directory": info.directory.decode("utf-8", "surrogateescape") or None,
    }


def clear_cache():
    """Empties the cache of compiled programs, in memory and on disk, and its counters."""
    for function in cleared:
        function()
    with nogil:
        check(gpukern_cache_clear())


def at_clear(function):
    """Lets clear_cache() call a function that clears another cache."""
    cleared.append(function)


def nvrtc_status():
    """NVRTC's version and path, or the reason why it is missing, as a dict. This opens NVRTC."""
    cdef int32_t version = 0
    cdef const char *path = NULL
    cdef const char *reason = NULL
    search_packages()
    with nogil:
        check(gpukern_nvrtc_query(&version, &path, &reason))
    return {
        "version": version_text(version),
        "path": path.decode("utf-8", "surrogateescape") or None,
        "reason": reason.decode("utf-8", "replace"),
    }
