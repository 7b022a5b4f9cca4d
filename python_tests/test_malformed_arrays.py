# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Generated arrays that break their protocols, in every argument: a right result or an exception.

A case is one array in one argument, and its number is its seed. GPUKERN_TEST_CASES=100000 runs a
million.
"""

import gc
import random
import resource
import sys
import warnings

import gpu_roles
import malformed_dlpack
import malformed_objects
import numpy as np
import pytest
from array_roles import (
    CERTAIN,
    CONVERTED,
    LIKE,
    RARELY_RIGHT,
    READ,
    WRITTEN,
    gather_nothing,
    to_device,
)
from conftest import CASES_PER_TEST, WITHOUT_GPU
from described import MEMORY

import gpukern

CASES = max(20_000, 10 * CASES_PER_TEST)
ALLOWED = (TypeError, ValueError, BufferError, IndexError, OverflowError, MemoryError,
           gpukern.GpukernError)  # fmt: skip
# What calls may keep for later: the descriptions of types and dtypes, of which there are few.
KEPT_BLOCKS, KEPT_KIB = 2000, 32 << 10


class CallerError(Exception):
    """What no library knows."""


ERRORS = (CallerError, TypeError, ValueError, AttributeError, BufferError, RuntimeError, KeyError,
          OSError, MemoryError, StopIteration, ZeroDivisionError, KeyboardInterrupt,
          SystemExit)  # fmt: skip
# These are nobody's way to say that an array cannot be shared.
UNCHANGED = (CallerError, MemoryError, KeyboardInterrupt, SystemExit)


def error_of(rng):
    return rng.choice(ERRORS)("an unexpected keyword argument" if rng.random() < 0.3 else "mine")


# Bytes of an array, such as a broadcast one, whose results a machine surely has memory for.
MOST = 64 << 20


class Case:
    """An array, and what is known of it: `ref`, an ndarray of the same memory; `error`, which a
    method of the array raises; whether it has to be refused; whether it may be read."""

    def __init__(self, number):
        self.number = number
        rng = self.rng = random.Random(number)
        self.ref = self.error = self.exports = None
        self.broken, self.readable, self.certain, self.readonly = False, True, False, False
        self.memory = MEMORY
        # A GPU would follow false addresses.
        draw = number % 10 if WITHOUT_GPU else rng.choice((0, 1, 2, 3, 4, 5, 8, 9))
        if draw < 6:
            self.set_dlpack(*malformed_dlpack.made(rng, error_of))
        elif draw < 8:
            self.given, self.error = malformed_objects.cuda(rng, error_of)
            self.broken = True
        else:
            made = malformed_objects.host_interface if draw == 8 else malformed_objects.buffer
            self.given, self.error, self.ref = made(rng, error_of)

    def set_dlpack(self, given, exports, fault):
        self.given, self.exports = given, exports
        self.error = exports.raises or exports.device_raises
        described = exports.described
        self.broken = described.is_broken() or fault is not None
        if not self.broken:
            self.ref = described.array()
            self.readable = self.ref is not None
            self.certain = self.readable and self.ref.size > 0

    def roles(self):
        if not WITHOUT_GPU and self.exports and self.exports.names_gpu():
            return []
        if not self.readable or (self.exports and self.ref is not None and self.ref.nbytes > MOST):
            # Larger items are copied, to be moved.
            return [gather_nothing] if self.exports.described.itemsize < 1 << 16 else []
        roles = [self.rng.choice(READ), self.rng.choice(READ), self.rng.choice(WRITTEN)]
        # Its memory comes first: where there is none, AddressSanitizer ends the process.
        return [role for role in roles if role is not to_device or not self.is_large()]

    def is_large(self):
        described = self.exports.described if self.exports else None
        return described and np.prod(described.sizes, dtype=object) * described.itemsize > MOST

    def __str__(self):
        described = self.exports.described if self.exports else getattr(self.given, "found", "")
        return f"case {self.number}: {type(self.given).__name__} {described!r:.300}"


def as_array(result):
    return result.numpy() if isinstance(result, gpukern.DeviceArray) else np.asarray(result)


def is_same(result, expected):
    result, expected = as_array(result), np.asarray(expected)
    return (
        result.dtype == expected.dtype
        and result.shape == expected.shape
        and result.tobytes() == expected.tobytes()
    )


def has_overlaps(array):
    """Whether elements share memory."""
    places = np.zeros(array.shape, int)
    for axis, stride in enumerate(array.strides):
        steps = stride * np.arange(array.shape[axis])
        places = places + steps.reshape((-1,) + (1,) * (array.ndim - 1 - axis))
    return len(np.unique(places)) < array.size


def expectation(case, compute):
    """What NumPy gives; None if it gives nothing."""
    if compute is None or case.ref is None:
        return None
    try:
        return compute()
    except Exception:
        return None


def has_cause(error, cause):
    while error is not None:
        if error is cause:
            return True
        error = error.__cause__ or error.__context__
    return False


def check_raised(case, role, error):
    own = case.error
    if own is not None and error is own:
        return
    if isinstance(case.given, malformed_objects.OwnInterface) and type(error) is RecursionError:
        return
    assert isinstance(error, ALLOWED), repr(error)
    assert not isinstance(error, gpukern.errors.GpukernInternalError), repr(error)
    if own is not None and getattr(own, "was_raised", False):
        if role in CONVERTED and isinstance(case.given, malformed_objects.Buffer):
            return
        assert not isinstance(own, UNCHANGED), repr(error)
        if not isinstance(own, AttributeError):
            assert isinstance(error, TypeError) or has_cause(error, own), repr(error)
    else:
        assert not (case.certain and role in CERTAIN), repr(error)


def run(case, role, accepted):
    """One call, as the checks see it."""
    like = LIKE if case.ref is None else case.ref
    memory, written = case.memory, role in WRITTEN or role in gpu_roles.WRITTEN
    try:
        call, compute = role(case.given, like)
    except Exception:  # NumPy has no such arrays
        return
    expected = expectation(case, compute)
    after = None
    if written and expected is not None and not has_overlaps(case.ref):
        case.ref[...] = expected
        after = memory.values.copy()
        memory.restore()
    try:
        result = call()
    except BaseException as error:
        check_raised(case, role, error)
        assert memory.is_as_before(), "refused, and yet written to"
        return
    finally:
        if case.error is not None:
            case.error.__traceback__ = case.error.__context__ = None
            case.error.was_raised = False
    assert not case.broken, "not refused"
    accepted[role] += 1
    if not written:
        assert memory.is_as_before(), "written to"
        assert expected is None or is_same(result, expected), (result, expected)
    else:
        assert result is case.given
        assert not case.readonly, "read-only, and yet written to"
        assert after is None or memory.holds(after)
        memory.restore()


def check(case, role, accepted):
    """One call, which leaves nothing behind."""
    before = sys.getrefcount(case.given)
    run(case, role, accepted)
    # Not in an assert, where pytest keeps references.
    kept = sys.getrefcount(case.given) - before
    assert kept == 0, f"{kept} references to the array are left"
    if case.exports is not None:
        counts = [sys.getrefcount(capsule) for capsule in case.exports.capsules]
        fresh = [sys.getrefcount(each) for each in [object()]]
        assert counts == fresh * len(counts), "a reference to the capsule is left"
        assert case.exports.release(), "a tensor is not deleted once"


def run_case(case, accepted):
    for role in case.roles():
        try:
            check(case, role, accepted)
        except AssertionError as error:
            raise AssertionError(f"{role.__name__} of {case}: {error}") from error


def memory_in_use():
    """Python's blocks, and the KiB that the process has had at most."""
    gc.collect()
    return sys.getallocatedblocks(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.fixture(autouse=True)
def _quiet():
    # NumPy warns of some of these arrays.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def test_malformed_arrays(cases):
    accepted = dict.fromkeys((*READ, *WRITTEN, gather_nothing), 0)
    before = memory_in_use()
    for number in range(CASES):
        if number == CASES // 2:
            before = memory_in_use()
        run_case(Case(number), accepted)
    grown = [after - earlier for after, earlier in zip(memory_in_use(), before, strict=True)]
    assert grown[0] < KEPT_BLOCKS
    assert grown[1] < KEPT_KIB
    # A test whose arrays are all refused would show nothing.
    few = {role.__name__: count for role, count in accepted.items() if count < CASES // 500}
    assert few.keys() <= {role.__name__ for role in RARELY_RIGHT}
    cases["malformed arrays", "cpu"] += CASES
