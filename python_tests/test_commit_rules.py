# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The rules for commit messages."""

import pytest

from tools import check_commit

SUBJECT = "Keep subnormals in the AVX2 kernel"
BODY = "The flag was left set by a caller, and results differed.\n"


@pytest.mark.parametrize(
    "message",
    [
        f"{SUBJECT}\n\n{BODY}",
        "S" + "s" * 71 + f"\n\n{BODY}",
        f"Pass the stream on\n\n{BODY}",
        f"Need no lock for a read\n\n{BODY}",
        f"{SUBJECT}\n\n{BODY}\n    {'quoted ' * 20}\nhttps://example.org/{'x' * 80}\n",
    ],
)
def test_good_messages(message):
    assert list(check_commit.problems(message, 100)) == []


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("S" + "s" * 72 + f"\n\n{BODY}", "73 characters, of 72"),
        (f"{SUBJECT}.\n\n{BODY}", "full stop"),
        (f"keep subnormals\n\n{BODY}", "capital"),
        (f"Keeping subnormals\n\n{BODY}", "imperative"),
        (f"Fixed subnormals\n\n{BODY}", "imperative"),
        (f"Notes: what was measured\n\n{BODY}", "imperative"),
        (f"{SUBJECT}\n{BODY}", "not empty"),
        (f"{SUBJECT}\n", "no body"),
        (f"{SUBJECT}\n\n{'word ' * 15}\n", "74 characters, of 72"),
    ],
)
def test_bad_messages(message, problem):
    found = list(check_commit.problems(message, 100))
    assert len(found) == 1
    assert problem in found[0]


def test_a_small_change_needs_no_body():
    assert list(check_commit.problems("Fix a typo\n", 2)) == []


def test_lines_of_a_change_are_counted():
    text = " 2 files changed, 3 insertions(+), 1 deletion(-)\n"
    assert check_commit.count_lines(text) == 4
    assert check_commit.count_lines("") == 0


def test_what_git_adds_to_the_message_is_ignored(tmp_path, monkeypatch):
    monkeypatch.setattr(check_commit, "git", lambda *_: "")
    path = tmp_path / "COMMIT_EDITMSG"
    scissors = "# ------------------------ >8 ------------------------"
    path.write_text(f"{SUBJECT}\n\n{BODY}# comment\n{scissors}\ndiff {'x ' * 50}\n")
    assert list(check_commit.check_file(path)) == []
    path.write_text("fixup! whatever it was.\n")
    assert list(check_commit.check_file(path)) == []


def test_the_hook_refuses_what_the_history_would_not_pass(tmp_path, monkeypatch):
    monkeypatch.setattr(check_commit, "git", lambda *_: "")
    path = tmp_path / "COMMIT_EDITMSG"
    revert = 'Revert "{}"\n\nThis reverts commit 44ad0220df0781c6ff270f074c05b37b828dbdb6.\n'
    path.write_text(revert.format(SUBJECT))
    assert list(check_commit.check_file(path)) == []
    path.write_text(revert.format("s" * 70))
    (found,) = check_commit.check_file(path)
    assert "79 characters, of 72" in found
