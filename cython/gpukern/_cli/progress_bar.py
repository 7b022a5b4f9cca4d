# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""A bar on stderr for what takes long; nothing where stderr is no terminal."""

import sys

BAR = 24


class Progress:
    """So many steps of a whole. The bar overwrites itself, and makes room for printed lines."""

    def __init__(self, total):
        self.total = total
        self.done = 0
        self.stream = sys.stderr

    def _write(self, line):
        if self.stream.isatty():
            self.stream.write(f"\r\033[K{line}")
            self.stream.flush()

    def step(self, text):
        """Says what is done now, behind the steps that are done."""
        filled = "#" * (BAR * self.done // self.total)
        self._write(f"[{filled:.<{BAR}}] {self.done}/{self.total} {text}")
        self.done = min(self.done + 1, self.total)

    def print(self, *lines):
        """Prints lines in place of the bar."""
        self._write("")
        print(*lines, sep="\n", flush=True)
