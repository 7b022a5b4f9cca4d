# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""A line on stderr that says how far a run has come."""

import sys
import time

BAR = 24


class Progress:
    """A bar that overwrites itself on a terminal, and a line now and then elsewhere."""

    def __init__(self, total, stream=None):
        self.total = total
        self.done = 0
        self.stream = stream or sys.stderr
        self.start = self.printed = time.monotonic()

    def elapsed(self):
        """Seconds since the start."""
        return time.monotonic() - self.start

    def show(self, text):
        """Say what is being done now."""
        filled = BAR * self.done // max(self.total, 1)
        bar = "#" * filled + "." * (BAR - filled)
        line = f"[{bar}] {self.done:3}/{self.total} {self.elapsed():5.0f} s  {text}"
        if self.stream.isatty():
            self.stream.write(f"\r\033[K{line[:118]}")
        elif self.done in (0, self.total) or time.monotonic() - self.printed > 5:
            self.printed = time.monotonic()
            self.stream.write(f"{line}\n")
        self.stream.flush()

    def step(self):
        """Count one more as done."""
        self.done += 1

    def finish(self, text="done"):
        """Leave the last line standing."""
        self.show(text)
        if self.stream.isatty():
            self.stream.write("\n")
