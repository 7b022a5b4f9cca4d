# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Checks commit messages against the rules of CONTRIBUTING.md.

python tools/check_commit.py FILE checks the message of the commit that is being made (the hook
commit-msg); --history checks the commits since the rules are checked, as far as the clone has them.
"""

import re
import subprocess
import sys
from pathlib import Path

# The last commit before the rules were checked, and its date, for a clone that does not contain it.
START = "44ad0220df0781c6ff270f074c05b37b828dbdb6"
START_TIME = 1795395655
WIDTH = 72
TRIVIAL_LINES = 6  # added and removed; a larger change needs a body
# Endings that are not imperative, and exceptions.
NOT_IMPERATIVE = re.compile(r"(ing|ed|[^sui]s)$")
IMPERATIVE = {
    "Bring",
    "String",
    "Need",
    "Embed",
    "Feed",
    "Seed",
    "Shed",
    "Speed",
    "Exceed",
    "Proceed",
}
SCISSORS = re.compile(r"^# -+ >8 -+$.*", re.MULTILINE | re.DOTALL)


def subject_problems(subject):
    """Yield the errors of a subject."""
    first = re.split(r"\W", subject, maxsplit=1)[0]
    if len(subject) > WIDTH:
        yield f"the subject has {len(subject)} characters, of {WIDTH} at most"
    if subject.endswith("."):
        yield "the subject ends with a full stop"
    if not first[:1].isupper():
        yield "the subject does not begin with a capital letter"
    if NOT_IMPERATIVE.search(first) and first not in IMPERATIVE:
        yield f'the subject is not imperative: "{first}"'


def problems(message, changed_lines):
    """Yield the errors of a commit message, given the number of changed lines."""
    subject, _, body = message.strip().partition("\n")
    yield from subject_problems(subject)
    lines = body.split("\n")
    if lines[0]:
        yield "the line after the subject is not empty"
    if not body.strip() and changed_lines > TRIVIAL_LINES:
        yield "there is no body that says why"
    for line in lines:
        # Indented lines are quotations; a line without a space, such as a link, cannot be wrapped.
        if len(line) > WIDTH and not line.startswith("    ") and " " in line.strip():
            yield f"a line of the body has {len(line)} characters, of {WIDTH} at most"


def git(*arguments):
    """Return the output of git."""
    run = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    return run.stdout


def count_lines(shortstat):
    """Return the number of lines that a change adds and removes."""
    return sum(map(int, re.findall(r"(\d+) (?:insertion|deletion)", shortstat)))


def history():
    """Return the commits to check, newest first, without merges."""
    known = subprocess.run(
        ["git", "merge-base", "--is-ancestor", START, "HEAD"], capture_output=True, check=False
    )
    if known.returncode == 0:
        return git("rev-list", "--no-merges", f"{START}..HEAD").split()
    lines = git("log", "--no-merges", "--format=%H %ct").splitlines()
    commits = [line.split() for line in lines]
    return [commit for commit, time in commits if int(time) > START_TIME]


def check_history():
    """Yield the errors of the commits in the history."""
    for commit in history():
        message = git("log", "-1", "--format=%B", commit)
        changed = count_lines(git("show", "--format=", "--shortstat", commit))
        for problem in problems(message, changed):
            yield f"{commit[:7]} {message.splitlines()[0]}\n    {problem}"


def check_file(path):
    """Yield the errors of the message that git has written to a file."""
    text = SCISSORS.sub("", Path(path).read_text(encoding="utf-8"))
    message = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    if message.startswith(("fixup! ", "squash! ", "amend! ", "Merge ")):
        return
    yield from problems(message, count_lines(git("diff", "--cached", "--shortstat")))


def main(arguments):
    """Check the history or a message, and return the exit status."""
    if arguments == ["--history"]:
        found = list(check_history())
    else:
        found = [problem for path in arguments for problem in check_file(path)]
    for problem in found:
        print(f"commit message: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
