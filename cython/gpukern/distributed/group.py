# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Groups of ranks: what they are, how they agree, and how they exchange rows."""

import functools
import inspect
import json
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
import numpy.typing as npt  # noqa: F401 (Sphinx evaluates the overloads of its users here)

from gpukern import errors
from gpukern._interop.numpy_subclasses import is_masked

# Not NDArray, which is no class in NumPy 2.5.
Bytes = np.ndarray[tuple[Any, ...], np.dtype[np.uint8]]
Counts = np.ndarray[tuple[Any, ...], np.dtype[np.int64]]
# The arguments of exchange_rows() behind the group, for arrays of any kind.
Transfer = tuple[Any, Counts, Counts, Any, Counts, Counts]
LAG = 2  # steps between the exchange of indices and that of their rows
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Group(Protocol):
    """The ranks that share a table.

    ``all_gather(data)`` returns the data of every rank, by rank; each rank must call it. A group
    may also have ``exchange_rows``, with the arguments of ``exchange_rows()`` of this module behind
    the group; without it, rows go to all ranks by ``all_gather``. It may have ``leave(reason)``,
    which makes its later calls raise, on all ranks if it can: it is called for an error on one.
    """

    @property
    def rank(self) -> int:
        """The number of this rank, from 0."""

    @property
    def size(self) -> int:
        """The number of ranks."""

    def all_gather(self, data: bytes, /) -> list[bytes]:
        """Return the data of all ranks, by rank."""


def exchange_rows(
    group: Group,
    rows: Bytes,
    starts: Counts,
    counts: Counts,
    received: Bytes,
    received_starts: Counts,
    received_counts: Counts,
) -> None:
    """Send rows to each rank, and receive rows from each.

    Parameters
    ----------
    group : Group
        Each of its ranks calls this.
    rows, received : ndarray of uint8
        Of shape (rows, bytes of a row), C-contiguous.
    starts, counts, received_starts, received_counts : ndarray of int64
        The first row and the number of rows for, or from, each rank.

    """
    own = getattr(group, "exchange_rows", None)
    if own is not None:
        own(rows, starts, counts, received, received_starts, received_counts)
        return
    parts = [rows[a : a + n].tobytes() for a, n in zip(starts, counts, strict=True)]
    # All parts go to all ranks, each behind the sizes of its sender's parts.
    sizes = np.array([len(part) for part in parts], np.int64)
    for source, message in enumerate(group.all_gather(sizes.tobytes() + b"".join(parts))):
        ends = 8 * group.size + np.cumsum(np.frombuffer(message, np.int64, group.size))
        begin = 8 * group.size if group.rank == 0 else int(ends[group.rank - 1])
        part = np.frombuffer(message, np.uint8)[begin : int(ends[group.rank])]
        a, n = int(received_starts[source]), int(received_counts[source])
        received[a : a + n] = part.reshape(n, rows.shape[1])


class LeavableGroup:
    """A group whose calls raise once this rank has left it, as an error within a call does."""

    rank: int
    size: int
    _error: errors.PeerLostError | None = None

    def leave(self, reason: str) -> None:
        """Make the later calls of this rank raise a PeerLostError; those of the others, too."""
        self._fail(errors.PeerLostError(f"rank {self.rank} of {self.size} {reason}", self.rank))

    def _fail(self, error: errors.PeerLostError) -> None:
        self._error = self._error or error

    @contextmanager
    def _call(self) -> Iterator[None]:
        """Leave the group for an error of the block, since other ranks may not have it."""
        if self._error is not None:
            raise errors.PeerLostError(str(self._error), self._error.rank)
        try:
            yield
        except BaseException as error:
            self.leave(f"stopped in a call: {type(error).__name__}")
            raise


@contextmanager
def collective(group: Group, function: str) -> Iterator["Agreement"]:
    """Agree in a call of all ranks; leave the group after an error that not all of them have."""
    call = Agreement(group, function)
    try:
        yield call
    except BaseException as error:
        if error is not call.agreed and hasattr(group, "leave"):
            group.leave(f"stopped in {function}: {type(error).__name__}")
        raise
    finally:
        call.agreed = call.error = None  # their tracebacks hold the arrays of the call


class Agreement(AbstractContextManager["Agreement", bool]):
    """What a rank does between two exchanges, so that the error of one reaches all.

    The errors of the block are held until :meth:`of_all` has told the other ranks.
    """

    def __init__(self, group: Group, function: str) -> None:
        for member in ("rank", "size", "all_gather"):
            if not hasattr(group, member):
                raise errors.GpukernTypeError(
                    f"{function}: group must have rank, size and all_gather, "
                    f"got {type(group).__name__}"
                )
        self.group = group
        self.function = function
        self.checked = False  # whether the ranks have agreed on the arguments
        self.error: BaseException | None = None
        self.agreed: BaseException | None = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Hold the error, unless another came first."""
        if self.error is None:
            self.error = error
        return True

    def of_all(
        self, call: str = "", numbers: Sequence[int] | Counts = (), **arguments: object
    ) -> Counts:
        """Return the numbers of all ranks, by rank, or raise the first error on each of them.

        `call` says what the ranks do; it and the arguments must be equal. Errors of arguments,
        which come before the first agreement, are the same on all ranks; others name their rank.
        """
        failed = None if self.error is None else self._sent(self.error)
        same = {"": call, **{name: repr(value) for name, value in arguments.items()}}
        message = json.dumps([same, [int(number) for number in numbers], failed])
        answers = self.group.all_gather(message.encode())
        if b"" in answers:
            rank = answers.index(b"")
            text = f"rank {rank} of {self.group.size} has closed the group"
            self.agreed = errors.PeerLostError(text, rank)
            raise self.agreed
        replies = [json.loads(answer) for answer in answers]
        failures = [(rank, *reply[2]) for rank, reply in enumerate(replies) if reply[2]]
        if failures:
            self.agreed = self._received(*failures[0])
        else:
            self.agreed = self._difference([reply[0] for reply in replies])
        if self.agreed is not None:
            raise self.agreed
        self.checked = True
        return np.array([reply[1] for reply in replies], np.int64)

    def _sent(self, error: BaseException) -> list[str]:
        """Return the kind of error that the other ranks raise, or '', and its text."""
        for each in type(error).__mro__:
            own = each.__module__ == errors.__name__
            kind = each.__name__ if own else f"Gpukern{each.__name__}"
            if hasattr(errors, kind) and (own or not self.checked or each is MemoryError):
                named = self.checked or issubclass(each, MemoryError)
                return [kind, f"rank {self.group.rank}: {error}" if named else str(error)]
        return ["", f"{type(error).__name__}: {error}"]

    def _received(self, rank: int, kind: str, text: str) -> BaseException:
        error = self.error
        if error is not None and (rank == self.group.rank or not isinstance(error, Exception)):
            return error
        if not kind:
            kind, text = "GpukernCancelledError", f"{self.function}: rank {rank} stopped: {text}"
        made: BaseException = getattr(errors, kind)(text)
        made.__cause__ = error
        return made

    def _difference(self, calls: Sequence[dict[str, str]]) -> BaseException | None:
        """Return an error that names the first argument that differs, and its values."""
        for name in calls[0]:
            values = [call.get(name, "") for call in calls]
            if any(value != values[0] for value in values):
                usual = max(values, key=values.count)
                others = [f"{v} on rank {rank}" for rank, v in enumerate(values) if v != usual]
                return errors.GpukernValueError(
                    f"{self.function}: the calls of the ranks differ{name and f' in {name}'}: "
                    f"{usual}, but {', '.join(others)}"
                )
        return None


def of_all_ranks(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Make unknown and missing arguments on one rank an error on all of them."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Parameters.args, **options: Parameters.kwargs) -> Result:
        try:
            signature.bind(*args, **options)
        except TypeError as error:
            name = function.__name__
            given: tuple[Any, ...] = (*args, *options.values())
            group = next((each for each in given if hasattr(each, "all_gather")), None)
            if group is None:
                raise
            with collective(group, name) as agreement:
                agreement.error = errors.GpukernTypeError(f"{name}: {error}")
                agreement.of_all()
        return function(*args, **options)

    return call


def as_int(name: str, value: Any) -> int:
    """Return an argument as an integer of Python."""
    try:
        return operator.index(value)
    except TypeError:
        raise errors.GpukernTypeError(f"{name} must be an integer, got {value!r}") from None


def as_dtype(function: str, dtype: Any) -> np.dtype[Any]:
    """Return an argument as a dtype of NumPy."""
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError as error:
        raise errors.GpukernTypeError(f"{function}: dtype: {error}") from None
    return found


def sizes_of(function: str, shape: Any) -> tuple[int, ...]:
    """Return a shape as Python's integers, which are exact."""
    given = (shape,) if isinstance(shape, str) or not isinstance(shape, Sequence) else shape
    sizes = tuple(as_int(f"{function}: shape", size) for size in given)
    if min(sizes, default=0) < 0:
        raise errors.GpukernValueError(f"{function}: shape must not be negative, got {sizes}")
    return sizes


def refuse_masked(function: str, **arrays: Any) -> None:
    """Raise a TypeError for a masked array, whose mask would be lost."""
    for name, array in arrays.items():
        if is_masked(array):
            raise errors.GpukernTypeError(f"{function}: {name} must not be a masked array")
