# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""A progress line on stderr."""

import sys
import time

BAR = 24


class Progress:
    """A progress bar on a terminal, occasional lines elsewhere."""

    def __init__(self, total, stream=None):
        self.total = total
        self.done = 0
        self.stream = stream or sys.stderr
        self.start = self.printed = time.monotonic()

    def elapsed(self):
        """Seconds since the start."""
        return time.monotonic() - self.start

    def show(self, text):
        """Show the current step."""
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
        """Count another step as done."""
        self.done += 1

    def finish(self, text="done"):
        """End the progress line."""
        self.show(text)
        if self.stream.isatty():
            self.stream.write("\n")
