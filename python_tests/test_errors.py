# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The exceptions: what they derive from, and that every status has one."""

import copy
import copyreg
import pickle

import numpy as np
import pytest

import gpukern
from gpukern import errors

BUILT_IN = {
    "CompileError": RuntimeError,
    "ContextLostError": gpukern.errors.GpukernCudaError,
    "GpukernValueError": ValueError,
    "GpukernTypeError": TypeError,
    "GpukernIndexError": IndexError,
    "GpukernAxisError": np.exceptions.AxisError,
    "GpukernOverflowError": OverflowError,
    "GpukernBufferError": BufferError,
    "GpukernMemoryError": MemoryError,
    "GpukernDeviceError": RuntimeError,
    "GpukernCudaError": RuntimeError,
    "GpukernCancelledError": RuntimeError,
    "PeerLostError": RuntimeError,
    "GpukernInternalError": RuntimeError,
}


def test_every_error_is_named():
    found = {
        name
        for name, each in vars(errors).items()
        if isinstance(each, type) and issubclass(each, gpukern.GpukernError)
    }
    assert found == {*BUILT_IN, "GpukernError"}


@pytest.mark.parametrize(("name", "built_in"), BUILT_IN.items())
def test_errors_are_what_people_catch(name, built_in):
    error = getattr(errors, name)
    assert issubclass(error, built_in)
    assert issubclass(error, gpukern.GpukernError)
    assert str(error("index 5")) == "index 5"


def test_the_package_itself_has_the_errors_that_stand_alone():
    found = {name for name in dir(gpukern) if isinstance(getattr(gpukern, name), type)}
    named = {name for name in found if issubclass(getattr(gpukern, name), Exception)}
    assert named == {"GpukernError", "CompileError", "ContextLostError"}


@pytest.mark.parametrize("name", BUILT_IN)
def test_errors_can_be_pickled(name, monkeypatch):
    error = getattr(errors, name)("index 5")
    # Dask, once it is imported, has all exceptions pickled in another way.
    monkeypatch.delitem(copyreg.dispatch_table, type(error), raising=False)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert str(again) == "index 5"


def test_every_status_but_success_has_its_error():
    assert sorted(errors.ERROR_OF_STATUS) == list(range(1, 12))
    assert len(set(errors.ERROR_OF_STATUS.values())) == 11


@pytest.mark.parametrize(
    "error",
    [
        errors.CompileError("f.cu(1): error", "f.cu(1): error\nf.cu(2): error"),
        errors.GpukernAxisError("axis 2 is out of bounds for array of dimension 1"),
        errors.PeerLostError("rank 3 of 4 has ended", 3),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_carry_more_than_their_message(error, monkeypatch):
    monkeypatch.delitem(copyreg.dispatch_table, type(error), raising=False)  # as above
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert str(again) == str(error)
        for name in ("log", "axis", "ndim", "rank"):
            assert getattr(again, name, None) == getattr(error, name, None)


@pytest.mark.parametrize(
    ("stream", "error"), [("x", TypeError), (1.5, TypeError), (True, TypeError), (-1, ValueError)]
)
def test_streams_that_are_none(stream, error):
    with pytest.raises(error, match="stream must be"):
        gpukern.gather(np.zeros(3), [0], stream=stream)


def test_streams_by_protocol():
    class Stream:
        version = 0

        def __cuda_stream__(self):
            return self.version, 0

    assert gpukern.gather(np.ones(3), [0], stream=Stream()) == [1.0]
    Stream.version = 1
    with pytest.raises(gpukern.errors.GpukernValueError, match="version 0"):
        gpukern.gather(np.ones(3), [0], stream=Stream())


@pytest.mark.parametrize("before", ["", "-"])
def test_a_long_message_is_cut_at_a_character(monkeypatch, before):
    monkeypatch.setenv("GPUKERN_DEVICE", before + "\u00e9" * 600)
    with pytest.raises(ValueError, match="GPUKERN_DEVICE") as raised:
        gpukern.saxpy(1, np.ones(2), np.ones(2))
    message = str(raised.value)
    assert 1000 < len(message.encode()) <= 1023
    assert message.endswith("\u00e9")
