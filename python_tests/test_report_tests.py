# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""tools/report_tests.py counts the tests of `make test` and decides whether it passes."""

import importlib.util
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parent.parent / "tools"
SPEC = importlib.util.spec_from_file_location("report_tests", TOOLS / "report_tests.py")
report_tests = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(report_tests)

PASSED = '<testcase name="a"/>'


def ctest_skip(reason):
    output = f"a_test.cpp:1: Skipped\n{reason}\n\n[  SKIPPED ] A.B (0 ms)\n"
    message = report_tests.CTEST_SKIPPED
    return (
        f'<testcase name="A.B" status="notrun"><skipped message="{message}"/>'
        f"<system-out>{output}</system-out></testcase>"
    )


def pytest_skip(reason):
    return f'<testcase name="b"><skipped message="{reason}"/></testcase>'


@pytest.fixture
def report(tmp_path, capsys):
    """Return a function that returns the exit status and the output for test cases."""

    def run(*cases):
        path = tmp_path / "junit.xml"
        path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
        status = report_tests.main([f"some={path}"])
        return status, " ".join(capsys.readouterr().out.split())

    return run


def test_tests_that_pass(report):
    status, output = report(PASSED, PASSED)
    assert status == 0
    assert "some 2 passed 0 failed 0 skipped for want of a GPU 0 skipped otherwise" in output
    assert output.endswith("all passed")


@pytest.mark.parametrize(
    "case",
    [
        '<testcase name="c"><failure/></testcase>',
        '<testcase name="c"><error/></testcase>',
        '<testcase name="c" status="notrun"><skipped message="Unable to find it"/></testcase>',
    ],
)
def test_a_test_that_fails(case, report):
    status, output = report(PASSED, case)
    assert status == 1
    assert "1 passed 1 failed" in output
    assert output.endswith("FAILED")


def test_no_test_is_a_failure(report, tmp_path):
    assert report()[0] == 1
    assert report_tests.main([f"some={tmp_path / 'nowhere.xml'}"]) == 1


@pytest.mark.parametrize("skip", [ctest_skip, pytest_skip])
@pytest.mark.parametrize(
    "reason",
    [
        "no CUDA device",
        "needs two GPUs",
        "torch has no GPU",
        "no second CUDA device",
        "needs 80 GiB of GPU memory, has 0 GiB",
        "too little GPU memory",
        "no NVRTC: built without CUDA",
    ],
)
def test_skips_for_want_of_a_gpu_are_counted(reason, skip, report):
    status, output = report(PASSED, skip(reason))
    assert status == 0
    assert "1 skipped for want of a GPU 0 skipped otherwise" in output
    assert reason not in output


@pytest.mark.parametrize("skip", [ctest_skip, pytest_skip])
@pytest.mark.parametrize(
    "reason",
    [
        "cmake is not installed",
        "there is a GPU",
        "there is a CUDA device",
        "host and device arrays do not mix",
        "the peers of the host are measured without a GPU",
    ],
)
def test_other_skips_are_listed(reason, skip, report):
    status, output = report(PASSED, skip(reason))
    assert status == 0
    assert "0 skipped for want of a GPU 1 skipped otherwise" in output
    assert f": {reason}" in output
