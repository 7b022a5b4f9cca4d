# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""A progress bar on stderr, if that is a terminal."""

import sys

BAR = 24


class Progress:
    """The progress through `total` steps. Lines are printed above the bar."""

    def __init__(self, total):
        self.total = total
        self.done = 0
        self.stream = sys.stderr  # None if it was closed before Python began

    def _write(self, line):
        if self.stream is not None and self.stream.isatty():
            self.stream.write(f"\r\033[K{line}")
            self.stream.flush()

    def step(self, text):
        """Names the step that begins; the one before it is done."""
        filled = "#" * (BAR * self.done // self.total)
        self._write(f"[{filled:.<{BAR}}] {self.done}/{self.total} {text}")
        self.done = min(self.done + 1, self.total)

    def print(self, *lines):
        """Prints lines in place of the bar."""
        self._write("")
        print(*lines, sep="\n", flush=True)
