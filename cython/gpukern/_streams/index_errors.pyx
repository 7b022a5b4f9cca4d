# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""deferred_errors(): index errors of calls on GPUs, without a wait in each call."""

from gpukern._capi cimport (
    gpukern_device, gpukern_index_errors, gpukern_index_errors_check,
    gpukern_index_errors_create, gpukern_index_errors_destroy, gpukern_status,
)
from gpukern._runtime.runtime cimport check

from contextvars import ContextVar

# The innermost open block of this thread or task.
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
    """Bad indices of calls on GPUs; see :func:`deferred_errors`."""
    cdef dict records  # by the GPU's number
    cdef list tokens

    def __cinit__(self):
        self.records = {}
        self.tokens = []

    def __enter__(self):
        self.tokens.append(block.set(self))
        open_blocks.fetch_add(1)
        return self

    def __exit__(self, kind, error, traceback):
        open_blocks.fetch_sub(1)
        block.reset(self.tokens.pop())
        if kind is None:
            self.check()

    def check(self):
        """Waits for the calls that the block has made so far, and raises for a bad index.

        Launches of a CUDA graph that was captured in the block are not waited for: synchronize
        with them before.

        Raises
        ------
        IndexError
            If there was a bad index since the last check, for the first one: that of the earliest
            call, by its position in C order. The message has the index, the axis, the function,
            and the number of the call among those of the block on this GPU in mode ``'raise'``,
            from 0.
        """
        for record in list(self.records.values()):
            (<Record>record).check_indices()


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
        end the block does so as well, unless it ends by an exception. It belongs to the thread or
        task that enters it. It may be entered again; keep it as long as a graph that was captured
        in it.

    Raises
    ------
    IndexError
        At the end of the block, see ``check()``.

    Notes
    -----
    ``check()`` waits for the calls of the block on all streams, and for nothing else. Its cost is
    that of one wait, whatever the number of calls.

    The offsets of :func:`gather_reduce` and :func:`segment_reduce` are checked by each call, which
    waits; in mode ``'clip'`` it does not.

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
    if errors is None:
        return NULL
    record = errors.records.get(device.device_id)
    if record is None:
        made = Record()
        check(gpukern_index_errors_create(device, &made.errors))
        record = errors.records.setdefault(device.device_id, made)
    return record.errors
