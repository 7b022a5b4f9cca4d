# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The site names what is public, and its check finds broken links."""

import re
from pathlib import Path

import pytest

import gpukern
from tools import check_site

ROOT = Path(__file__).resolve().parent.parent


def test_the_python_reference_is_complete():
    text = (ROOT / "docs" / "api" / "python.rst").read_text(encoding="utf-8")
    named = re.findall(r"^\.\. auto\w+:: (?:gpukern\.)?(\w+)$", text, re.MULTILINE)
    exceptions = {name for name in gpukern.__all__ if hasattr(gpukern.errors, name)}
    assert sorted(named) == sorted(set(gpukern.__all__) - exceptions - {"__version__"})


def test_the_reference_has_every_header():
    text = (ROOT / "docs" / "api" / "c.rst").read_text(encoding="utf-8")
    named = re.findall(r"^\.\. doxygenfile:: (\S+)$", text, re.MULTILINE)
    headers = (ROOT / "include" / "gpukern").glob("*.h")
    assert sorted(named) == sorted(header.name for header in headers)


def test_the_reference_has_every_concept():
    text = (ROOT / "docs" / "api" / "cpp.rst").read_text(encoding="utf-8")
    named = re.findall(r"^\.\. doxygenconcept:: gpukern::(\w+)$", text, re.MULTILINE)
    headers = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "include" / "gpukern").glob("*.hpp")
    )
    public = re.sub(r"namespace detail \{.*?\}  // namespace detail", "", headers, flags=re.DOTALL)
    assert sorted(named) == sorted(re.findall(r"^concept (\w+)", public, re.MULTILINE))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<p id="here"><a href="#here"></a><a href="sub/b.html#there"></a>', None),
        ('<a href="https://example.org/"></a>', None),
        ('<a href="c.html"></a>', "c.html does not exist"),
        ('<a href="#there"></a>', "#there has no such anchor"),
        ('<a href="sub/b.html#here"></a>', "sub/b.html#here has no such anchor"),
        ('<img src="plot.svg">', "plot.svg does not exist"),
        ('<script src="https://example.org/a.js"></script>', "loads https://example.org/a.js"),
    ],
)
def test_the_check_finds_links_that_lead_nowhere(body, problem, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.html").write_text(body, encoding="utf-8")
    (tmp_path / "sub" / "b.html").write_text('<p id="there"><a href="../a.html">', encoding="utf-8")
    found = list(check_site.problems(tmp_path))
    assert len(found) == bool(problem)
    assert not problem or found[0] == f"{tmp_path / 'a.html'}: {problem}"


def test_a_folder_without_pages_is_no_site(tmp_path):
    assert list(check_site.problems(tmp_path)) == [f"{tmp_path}: there is no page"]


def test_the_reliability_page_names_tests_that_exist():
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:test_\w+\.py)|(?:\w+_test)|fork_first_call)`", text))
    files = {path.name for path in (ROOT / "python_tests").iterdir()}
    files |= {path.stem for path in (ROOT / "tests").glob("*.cpp")}
    assert len(named) > 20
    assert named <= files
