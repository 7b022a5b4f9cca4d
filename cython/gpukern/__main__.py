# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""``python -m gpukern {info,demo}``."""

import argparse
import sys


def main(arguments=None):
    """Runs one of the commands and returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m gpukern", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="print versions, backends and devices, and what is missing")
    commands.add_parser("demo", help="run gather and saxpy at full size, checked and timed")
    if parser.parse_args(arguments).command == "info":
        from gpukern._info import describe

        print("\n".join(describe()))
        return 0
    from gpukern._demo import demo

    return 0 if demo() else 1


if __name__ == "__main__":
    sys.exit(main())
