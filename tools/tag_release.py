# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Tags a release, after a check that the files of the project name it: make release VERSION=1.2.3.

The tag is signed if git has a key (`git config user.signingkey`), and annotated otherwise. Nothing
is pushed.
"""

import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
HEADERS = Path("include", "gpukern")
PARTS = ("MAJOR", "MINOR", "PATCH")
SECTION = re.compile(r"^## \[(.*?)\](.*)\n((?:(?!## ).*\n?)*)", re.MULTILINE)


def git(*arguments, **options):
    """Return the output of git, which must succeed; its errors are shown."""
    command = ["git", *arguments]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, **options)
    if run.returncode != 0:
        raise SystemExit(f"release: git {arguments[0]} failed, see above")
    return run.stdout.strip()


def changelog_sections():
    """Return the text after the version and the body of each section of the changelog."""
    text = Path("CHANGELOG.md").read_text(encoding="utf-8")
    return {version: (rest, body.strip()) for version, rest, body in SECTION.findall(text)}


def value(path, pattern):
    """Return the group of a pattern in a file, or None."""
    match = re.search(pattern, Path(path).read_text(encoding="utf-8"), re.MULTILINE)
    return match and match.group(1)


def header_version():
    """Return the version that the C header states."""
    header = HEADERS / "gpukern.h"
    parts = [value(header, rf"#define GPUKERN_VERSION_{part} (\d+)") for part in PARTS]
    return ".".join(map(str, parts))


def file_problems(version):
    """Yield what the files say of another version, or do not say."""
    stated = {
        "include/gpukern/gpukern.h": header_version(),
        "CITATION.cff": value("CITATION.cff", r"^version: (.*)$"),
        "recipe/recipe.yaml": value("recipe/recipe.yaml", r'^  version: "?(.*?)"?$'),
    }
    for path, found in stated.items():
        if found != version:
            yield f"{path}: the version is {found}, not {version}"
    sections = changelog_sections()
    if version not in sections:
        yield f"CHANGELOG.md: there is no section [{version}]"
        return
    yield from date_problems(version, sections[version][0])
    if not sections[version][1]:
        yield f"CHANGELOG.md: the section [{version}] is empty"
    if sections.get("Unreleased", ("", ""))[1]:
        yield f"CHANGELOG.md: the section [Unreleased] has changes: move them to [{version}]"


def abi_problems():
    """Yield the functions that the headers and the baseline of the ABI do not have in common."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(HEADERS.glob("*.h")))
    declared = set(
        re.findall(r"\b(gpukern_\w+)\(", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    )
    version = value(HEADERS / "gpukern.h", r"#define GPUKERN_ABI_VERSION (\d+)")
    baseline = Path("abi", f"libgpukern.so.{version}.xml")
    known = baseline.read_text(encoding="utf-8") if baseline.exists() else ""
    stored = set(re.findall(r"<elf-symbol name='(\w+)'", known))
    if declared != stored:
        names = ", ".join(sorted(declared ^ stored))
        yield f"{baseline}: differs from the headers: make abi-renew ({names})"


def date_problems(version, heading):
    """Yield what is wrong with the dates of the release."""
    # A test chooses the day: https://reproducible-builds.org/specs/source-date-epoch/
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    today = (date.fromtimestamp(int(epoch)) if epoch else date.today()).isoformat()
    found = re.fullmatch(r" - (\d{4}-\d\d-\d\d)", heading)
    if not found:
        yield f'CHANGELOG.md: the section has no date: write "## [{version}] - {today}"'
        return
    last_commit = git("log", "-1", "--format=%cs")
    if not last_commit <= found.group(1) <= today:
        yield f"CHANGELOG.md: the date is not between that of the last commit and {today}"
    if value("CITATION.cff", r"^date-released: (.*)$") != found.group(1):
        yield f"CITATION.cff: date-released is not {found.group(1)}, as in CHANGELOG.md"


def problems(version):
    """Yield what prevents a release."""
    if git("status", "--porcelain"):
        yield "git: there are changes that are not committed"
    if git("tag", "--list", f"v{version}"):
        yield f"git: the tag v{version} exists"
    yield from file_problems(version)
    yield from abi_problems()


def main(arguments):
    """Check and tag; return the exit status."""
    if len(arguments) != 1 or not VERSION.fullmatch(arguments[0]):
        print("usage: make release VERSION=1.2.3", file=sys.stderr)
        return 2
    version = arguments[0]
    found = list(problems(version))
    if found:
        print(*(f"release: {problem}" for problem in found), sep="\n", file=sys.stderr)
        return 1
    key = subprocess.run(["git", "config", "user.signingkey"], capture_output=True, check=False)
    kind = "--sign" if key.returncode == 0 else "--annotate"
    message = f"gpukern {version}\n\n{changelog_sections()[version][1]}\n"
    # Lines that begin with # would be comments.
    git("tag", kind, "--cleanup=verbatim", "--file=-", f"v{version}", input=message)
    # git 2.39 makes a tag without a signature where SSH cannot read the key.
    signature = git("tag", "--list", "--format=%(contents:signature)", f"v{version}")
    if kind == "--sign" and not signature:
        git("tag", "--delete", f"v{version}")
        raise SystemExit("release: git did not sign the tag, see above; deleted it")
    print(f"release: tagged v{version}; to publish: git push origin v{version}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
