# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""deferred_errors(): index errors of calls on GPUs, without a wait in each call."""

from gpukern._capi cimport (
    GPUKERN_CUDA, gpukern_device, gpukern_index_errors, gpukern_index_errors_check,
    gpukern_index_errors_create, gpukern_index_errors_destroy, gpukern_status,
)
from gpukern._runtime.runtime cimport check

from contextvars import ContextVar

from gpukern.errors import GpukernValueError

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident() noexcept

# The block that this thread or task has entered last. Tasks and, from Python 3.14 on, threads may
# inherit it, and keep it when it is no longer open.
block = ContextVar("gpukern.deferred_errors", default=None)


cdef class Record:
    """The bad indices of one GPU."""
    cdef gpukern_index_errors *errors

    def __dealloc__(self):
        # It may wait, and other threads need not.
        with nogil:
            gpukern_index_errors_destroy(self.errors)

    cdef int check_indices(self) except -1:
        cdef gpukern_status status
        with nogil:
            status = gpukern_index_errors_check(self.errors, NULL)
            check(status)
        return 0


cdef class DeferredErrors:
    """Bad indices of calls on GPUs; see :func:`gpukern.deferred_errors`."""
    cdef dict records  # by the GPU's number
    cdef list tokens   # of the times that it is open
    cdef unsigned long thread

    def __cinit__(self):
        self.records = {}
        self.tokens = []

    def __enter__(self):
        if not self.tokens:
            self.thread = PyThread_get_thread_ident()
        elif self.thread != PyThread_get_thread_ident():
            raise GpukernValueError("deferred_errors: the block is open in another thread")
        self.tokens.append(block.set(self))
        open_blocks.fetch_add(1)
        return self

    def __exit__(self, kind, error, traceback):
        if not self.tokens:
            raise GpukernValueError("deferred_errors: the block is not open")
        token = self.tokens.pop()
        open_blocks.fetch_sub(1)
        try:
            block.reset(token)
        except ValueError:
            pass  # of another task, which keeps a block that takes no calls when it is closed
        if kind is None:
            self.check()

    def check(self):
        """Waits for the calls that the block has made so far, and raises for a bad index.

        Launches of a CUDA graph that was captured in the block are not waited for: they must have
        completed.

        Raises
        ------
        IndexError
            If there was a bad index since the last check, for the first one: that of the earliest
            call, by its position in C order, on the first GPU that the block used. The message has
            the index, the axis, the function, and the number of the call among those of the block
            on this GPU in mode ``'raise'``, from 0.
        """
        first = None
        for record in list(self.records.values()):
            try:
                (<Record>record).check_indices()
            except IndexError as error:
                first = first or error
        if first is not None:
            raise first


def deferred_errors():
    """Lets calls on GPUs in mode ``'raise'`` go on without a wait; a bad index raises later.

    In the block, such a call only enqueues, as in the other modes: the GPU records a bad index,
    and nothing is read or written there. A gather gives 0, a scatter skips the value, and a bag the
    item. So the output changes even if an index is bad. CUDA graphs can capture these calls, and
    each launch records. Calls on host arrays raise at once.

    Returns
    -------
    DeferredErrors
        A context manager, whose ``check()`` raises the IndexError of the first bad index. At its
        end the block does so as well, unless it ends by an exception; the next check then reports
        what it left. It is for the calls of the thread that enters it, with the tasks that begin
        inside, and may be entered again.

    Raises
    ------
    IndexError
        At the end of the block, see ``check()``.

    Notes
    -----
    ``check()`` waits for the calls of the block on all streams, and for nothing else. Its cost is
    that of one wait, whatever the number of calls.

    :func:`bincount` waits in a block as well, and so do :func:`gather_reduce` and
    :func:`segment_reduce`, to check their offsets.

    Examples
    --------
    >>> with gpukern.deferred_errors() as errors:
    ...     hidden = gpukern.gather(table, index)
    ...     gpukern.scatter(sums, index, hidden, reduce="add")
    ...     errors.check()  # optional: raises here
    ...     rest = gpukern.gather(table, other)
    """
    return DeferredErrors()


cdef gpukern_index_errors *errors_of_block(gpukern_device device) except? NULL:
    """Returns the record of a GPU for a call of this thread; NULL outside all blocks."""
    cdef Record record, made
    cdef DeferredErrors errors = block.get()
    if errors is None or not errors.tokens or errors.thread != PyThread_get_thread_ident():
        return NULL
    record = errors.records.get(device.device_id)
    if record is None:
        made = Record()
        device.device_type = GPUKERN_CUDA  # also of managed memory
        check(gpukern_index_errors_create(device, &made.errors))
        record = errors.records.setdefault(device.device_id, made)
    return record.errors
