# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the words of tools/words.txt in files and names the term to use instead.

python tools/check_words.py [--report] [FILE ...]. Without files, checks all that git tracks.
Exits with 1 if it finds any, unless --report is given.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("words.txt")
# The list itself, its test, licences and measured data.
EXEMPT = re.compile(
    r"(^|/)(LICENSE|words\.txt|test_words\.py)$|^(benchmarks/results|licenses)/|\.(json|csv|svg|png|patch)$"
)
# The end of a line, and the mark that begins the next line of a comment.
GAP = r"[ \t]*(?:\s|\n[ \t]*(?://[/!]?|\#:?|\*)?)[ \t]*"


@dataclass(frozen=True)
class Rule:
    """A pattern to avoid and the term that replaces it."""

    pattern: re.Pattern
    term: str


def compile_rule(section, pattern, term):
    """Return the rule for a line of the list."""
    flags = re.IGNORECASE if section == "prose" else 0
    if section == "prose":
        pattern = pattern.replace(" ?", "\0").replace(" ", GAP).replace("\0", " ?")
    return Rule(re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])", flags), term)


def read_rules(text):
    """Return the rules of a list."""
    rules, section = [], None
    for line in text.splitlines():
        if match := re.fullmatch(r"\[(names|prose)\]", line):
            section = match.group(1)
        elif line and not line.startswith("#"):
            # From the right: a pattern may hold C's "->".
            pattern, _, term = line.rpartition(" -> ")
            rules.append(compile_rule(section, pattern, term))
    return rules


def find(rules, text):
    """Yield (line number, matched words, term) for each match."""
    for rule in rules:
        for match in rule.pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, " ".join(match.group().split()), rule.term


def tracked_files():
    """Return the files that git tracks."""
    listing = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True)
    return listing.stdout.rstrip("\0").split("\0")


def read_text(path):
    """Return the text of a file, or an empty string if it is not text."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def main(arguments):
    """Check the files and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true", help="always exit with 0")
    parser.add_argument("paths", nargs="*", metavar="FILE")
    options = parser.parse_args(arguments)
    rules = read_rules(LIST.read_text(encoding="utf-8"))
    counts = Counter()
    for path in options.paths or tracked_files():
        if EXEMPT.search(path) or not Path(path).is_file():
            continue
        for line, words, term in sorted(find(rules, read_text(path))):
            print(f'{path}:{line}: "{words}": say {term}')
            counts[words.lower()] += 1
    if counts:
        summary = ", ".join(f"{words} {count}" for words, count in counts.most_common())
        print(f"{counts.total()} to replace: {summary}")
    return 1 if counts and not options.report else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
