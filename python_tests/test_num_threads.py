# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""How many threads compute on the CPU: what sets it, and what it is by default."""

import os
import subprocess
import sys

import pytest

import gpukern


@pytest.fixture
def restored():
    yield
    gpukern.set_num_threads(None)


def default_in_a_process(prefix=(), **environment):
    """What a fresh process answers, without the variables that could be set here."""
    kept = {name: text for name, text in os.environ.items() if name != "OMP_NUM_THREADS"}
    code = "import gpukern; print(gpukern.get_num_threads(), gpukern.info()['num_threads'])"
    result = subprocess.run(
        [*prefix, sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**kept, **environment},
    )
    first, second = map(int, result.stdout.split())
    assert first == second
    return first


@pytest.mark.usefixtures("restored")
def test_a_number_is_kept():
    default = gpukern.get_num_threads()
    assert default >= 1
    gpukern.set_num_threads(3)
    assert gpukern.get_num_threads() == 3
    assert gpukern.info()["num_threads"] == 3
    gpukern.set_num_threads(None)
    assert gpukern.get_num_threads() == default


@pytest.mark.parametrize("number", [0, -1, 2**31, -(2**70)])
def test_a_number_below_one_is_refused(number):
    with pytest.raises(ValueError, match=f"set_num_threads: .* at least 1, got {number}"):
        gpukern.set_num_threads(number)


@pytest.mark.parametrize("number", [1.0, "2", [1]])
def test_what_is_no_number_is_refused(number):
    with pytest.raises(TypeError, match="set_num_threads: threads must be an int or None"):
        gpukern.set_num_threads(number)


def test_the_default_is_bounded_by_the_affinity_mask():
    cores = os.sched_getaffinity(0)
    assert default_in_a_process() <= len(cores)
    one = ("taskset", "-c", str(min(cores)))
    assert default_in_a_process(one) == 1


@pytest.mark.parametrize(
    ("text", "number"), [("3", 3), ("5,2", 5), (" 4 ", 4), ("0", None), ("-2", None), ("x", None)]
)
def test_the_environment_sets_the_default(text, number):
    expected = default_in_a_process() if number is None else number
    assert default_in_a_process(OMP_NUM_THREADS=text) == expected
