# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Devices to test on, and a count of the generated cases."""

import contextlib
import os
import signal
import threading
import time
from collections import Counter

import hypothesis
import numpy as np
import oracle
import pytest
from libraries import KINDS, opened
from places import HOST_MEMORY, Place

import gpukern

# Numba warns of small launches, and a warning fails a test.
os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
# JAX would take three quarters of a GPU in each process of pytest-xdist.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

# Their assertions show the values, as those of test files do.
pytest.register_assert_rewrite(
    "formulas", "gpu_tables", "large_arrays", "read_cases", "write_cases"
)

CASES = pytest.StashKey[Counter]()

# A case is one call whose result was compared. CI runs few; a release runs 100000.
CASES_PER_TEST = int(os.environ.get("GPUKERN_TEST_CASES", "1000"))
# The cases of fresh random data that are tested for each example of hypothesis.
CASES_PER_EXAMPLE = 10

hypothesis.settings.register_profile(
    "gpukern",
    max_examples=max(CASES_PER_TEST // CASES_PER_EXAMPLE, 1),
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("gpukern")

WITHOUT_GPU = gpukern.info()["cuda"]["device_count"] == 0


class ReadMonkeyPatch(pytest.MonkeyPatch):
    """Lets gpukern read the environment after each change."""

    def setenv(self, name, value, prepend=None):
        super().setenv(name, value, prepend)
        gpukern.reload_environment()

    def delenv(self, name, raising=True):
        super().delenv(name, raising)
        gpukern.reload_environment()

    def undo(self):
        super().undo()
        gpukern.reload_environment()


@pytest.fixture
def monkeypatch():
    """Replaces pytest's fixture by one that gpukern sees the changes of."""
    patch = ReadMonkeyPatch()
    yield patch
    patch.undo()


def pytest_configure(config):
    config.stash[CASES] = Counter()
    config.addinivalue_line("markers", "gpu: needs a CUDA device")
    config.addinivalue_line(
        "markers",
        "alone: measures time or memory, or interrupts its process; no other test runs meanwhile",
    )
    config.addinivalue_line(
        "markers", "thread_unsafe(reason): pytest-run-parallel runs it on one thread"
    )


def pytest_collection_modifyitems(items):
    skip = pytest.mark.skip(reason="no CUDA device")
    for item in items:
        if WITHOUT_GPU and "gpu" in item.keywords:
            item.add_marker(skip)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Add the cases of a worker of pytest-xdist."""
    node.config.stash[CASES].update(getattr(node, "workeroutput", {}).get("cases", {}))


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["cases"] = dict(session.config.stash[CASES])


def pytest_terminal_summary(terminalreporter, config):
    cases = config.stash[CASES]
    if not cases:
        return
    terminalreporter.section("generated cases")
    for (operation, place), count in sorted(cases.items()):
        terminalreporter.write_line(f"{operation} on {place}: {count}")


PLACE_PARAMETERS = [
    pytest.param(Place(name), id=name, marks=[pytest.mark.gpu] if "cuda" in name else [])
    for name in ("cpu", "cpu-array", "cuda", "cuda-array")
]


@pytest.fixture(params=PLACE_PARAMETERS)
def place(request):
    """The device and memory of arrays; those of CUDA skip without a GPU."""
    return request.param


@pytest.fixture(params=sorted(HOST_MEMORY))
def to_host(request):
    """Copies an array to one kind of host memory."""
    return HOST_MEMORY[request.param]


@pytest.fixture(params=KINDS)
def theirs(request):
    """Each library whose arrays calls take, NumPy among them."""
    return opened(request.param)


@pytest.fixture(params=sorted(oracle.SAXPY_TYPES))
def kind(request):
    """A dtype of saxpy, with its arithmetic."""
    return oracle.SAXPY_TYPES[request.param]


@pytest.fixture(scope="session")
def places():
    """The devices and memories of this machine."""
    return [
        parameter.values[0]
        for parameter in PLACE_PARAMETERS
        if not (WITHOUT_GPU and parameter.marks)
    ]


@pytest.fixture(scope="session")
def cases(request):
    """Counts compared calls by (operation, place)."""
    return request.config.stash[CASES]


@pytest.fixture
def restored_threads():
    """Lets a test set the number of threads: the next one has the default again."""
    yield
    gpukern.set_num_threads(None)


@pytest.fixture
def stopped_by_ctrl_c():
    """Repeats a call until a Ctrl-C stops it, within seconds."""

    def interrupt():
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    def repeat(call, until):
        while time.monotonic() < until:
            call()

    def stopped(call):
        thread = threading.Thread(target=interrupt)
        began = time.monotonic()
        # Background processes of a shell ignore Ctrl-C.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        thread.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                repeat(call, until=began + 30)
        finally:
            with contextlib.suppress(KeyboardInterrupt):  # must not reach another test
                thread.join()
            signal.signal(signal.SIGINT, before)
        assert time.monotonic() < began + 10

    return stopped


@pytest.fixture
def rng():
    """Fresh random numbers; the output of a failing test shows the seed."""
    seed = int.from_bytes(os.urandom(8), "little")
    print(f"seed of rng: {seed}")
    return np.random.default_rng(seed)
