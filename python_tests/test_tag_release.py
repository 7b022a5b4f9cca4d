# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""tools/tag_release.py tags what names its version everywhere, and nothing else."""

import datetime
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.thread_unsafe(reason="a repository is changed"),
    pytest.mark.skipif(not shutil.which("git"), reason="git is not installed"),
]

TOOL = Path(__file__).resolve().parent.parent / "tools" / "tag_release.py"
NOW = 1780315200
TODAY = datetime.date.fromtimestamp(NOW).isoformat()
CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - {}\n\n- **New**: a thing.\n# as it is\n"
FILES = {
    "include/gpukern/gpukern.h": (
        "#define GPUKERN_VERSION_MAJOR 1\n"
        "#define GPUKERN_VERSION_MINOR 2\n"
        "#define GPUKERN_VERSION_PATCH 3\n"
        "#define GPUKERN_ABI_VERSION 7\n"
        "/* as gpukern_other() */\n"
        "int gpukern_call(void);\n"
    ),
    "abi/libgpukern.so.7.xml": "<elf-symbol name='gpukern_call' type='func-type'/>\n",
    "CITATION.cff": f"title: gpukern\nversion: 1.2.3\ndate-released: {TODAY}\n",
    "recipe/recipe.yaml": 'context:\n  version: "1.2.3"\n',
    "CHANGELOG.md": CHANGELOG.format(TODAY) + "\n## [1.2.2] - 2026-01-01\n\n- **Old**\n",
}


class Repository:
    """A repository with the files that name a version, and no settings of the user."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_AUTHOR_DATE": f"@{NOW} +0000",
            "GIT_COMMITTER_DATE": f"@{NOW} +0000",
            "SOURCE_DATE_EPOCH": str(NOW),
        }
        self.git("init", "--quiet")
        self.git("config", "user.name", "A")
        self.git("config", "user.email", "a@example.org")

    def run(self, *command):
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def git(self, *arguments):
        run = self.run("git", *arguments)
        assert run.returncode == 0, run.stderr
        return run.stdout

    def write(self, path, text):
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=All")

    def release(self, version="1.2.3"):
        return self.run(sys.executable, str(TOOL), version)


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path)
    for path, text in FILES.items():
        made.write(path, text)
    made.commit()
    return made


def test_a_release_is_an_annotated_tag_with_its_changes(repository):
    run = repository.release()
    assert run.returncode == 0, run.stderr
    assert "git push origin v1.2.3" in run.stdout
    assert repository.git("cat-file", "-t", "v1.2.3") == "tag\n"
    message = repository.git("tag", "--list", "--format=%(contents)", "v1.2.3").strip()
    assert message == "gpukern 1.2.3\n\n- **New**: a thing.\n# as it is"
    again = repository.release()
    assert again.returncode == 1
    assert again.stderr == "release: git: the tag v1.2.3 exists\n"


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen is not installed")
def test_a_key_signs(repository):
    # Of SSH, for which no agent need run.
    key = repository.folder / ".git" / "key"
    made = repository.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
    assert made.returncode == 0, made.stderr
    repository.git("config", "gpg.format", "ssh")
    repository.git("config", "user.signingkey", str(key))
    run = repository.release()
    assert run.returncode == 0, run.stderr
    assert "BEGIN SSH SIGNATURE" in repository.git("cat-file", "tag", "v1.2.3")


@pytest.mark.parametrize(("form", "error"), [("ssh", "/nowhere"), ("openpgp", "failed to sign")])
def test_a_tag_that_cannot_be_signed_is_not_made(repository, form, error):
    repository.git("config", "gpg.format", form)
    repository.git("config", "gpg.program", "false")
    repository.git("config", "user.signingkey", "/nowhere")
    run = repository.release()
    assert run.returncode == 1
    assert error in run.stderr
    assert "Traceback" not in run.stderr
    assert repository.git("tag") == ""


@pytest.mark.parametrize(
    ("path", "old", "new", "problem"),
    [
        ("include/gpukern/gpukern.h", "PATCH 3", "PATCH 2", "the version is 1.2.2, not 1.2.3"),
        ("include/gpukern/gpukern.h", "_call", "_new", "abi-renew (gpukern_call, gpukern_new)"),
        (
            "include/gpukern/gpukern.h",
            "VERSION 7",
            "VERSION 8",
            "so.8.xml: differs",
        ),
        ("CITATION.cff", "version: 1.2.3", "", "CITATION.cff: the version is None"),
        ("CITATION.cff", TODAY, "2026-01-01", f"date-released is not {TODAY}"),
        ("recipe/recipe.yaml", "1.2.3", "1.2.2", "recipe.yaml: the version is 1.2.2"),
        ("CHANGELOG.md", "[1.2.3]", "[1.2.4]", "there is no section [1.2.3]"),
        ("CHANGELOG.md", f" - {TODAY}", "", f'write "## [1.2.3] - {TODAY}"'),
        ("CHANGELOG.md", TODAY, "2025-01-01", "not between that of the last commit and"),
        ("CHANGELOG.md", TODAY, "2999-01-01", "not between that of the last commit and"),
        ("CHANGELOG.md", "- **New**: a thing.\n# as it is\n", "", "[1.2.3] is empty"),
        ("CHANGELOG.md", "## [1.2.3]", "- More\n\n## [1.2.3]", "[Unreleased] has changes"),
    ],
)
def test_what_prevents_a_release(repository, path, old, new, problem):
    assert old in FILES[path]
    repository.write(path, FILES[path].replace(old, new))
    repository.commit()
    run = repository.release()
    assert run.returncode == 1
    assert problem in run.stderr
    assert repository.git("tag") == ""


def test_a_tree_with_changes_is_not_released(repository):
    repository.write("new.txt", "")
    run = repository.release()
    assert run.returncode == 1
    assert "not committed" in run.stderr


@pytest.mark.parametrize("version", ["", "1.2", "v1.2.3", "1.2.3rc1", "01.2.3"])
def test_a_version_has_three_numbers(repository, version):
    run = repository.release(version)
    assert run.returncode == 2
    assert "VERSION=1.2.3" in run.stderr
