# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""``python -m gpukern {info,demo,bench}``."""

import argparse
import sys


def positive(text):
    """A number of at least one, for argparse."""
    number = int(text)
    if number < 1:
        raise ValueError(text)  # argparse words it: "invalid positive value: '0'"
    return number


def main(arguments=None):
    """Runs one of the commands and returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m gpukern", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="print versions, backends and devices, and what is missing")
    commands.add_parser("demo", help="run gather and saxpy at full size, verified and timed")
    bench = commands.add_parser("bench", help="time both operations next to NumPy, torch and CuPy")
    bench.add_argument("--shrink", type=positive, default=1, help="divide the sizes by this")
    options = parser.parse_args(arguments)
    if options.command == "info":
        from gpukern._runtime.info import describe

        print("\n".join(describe()))
        return 0
    if options.command == "bench":
        from gpukern._cli.bench import bench as run_bench

        return 0 if run_bench(options.shrink) else 1
    from gpukern._cli.demo import demo

    return 0 if demo() else 1


if __name__ == "__main__":
    sys.exit(main())
