# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The command ``gpukern``, also as ``python -m gpukern``."""

import argparse
import os
import sys

from gpukern._runtime.info import __version__
from gpukern.errors import GpukernError

EXIT_CODES = """
exit codes: 0 success; 1 an error, or a wrong result; 2 wrong usage; 130 interrupted by Ctrl-C;
141 the output was closed
"""


def positive(text):
    """A number of at least one, for argparse."""
    number = int(text)
    if number < 1:
        raise ValueError(text)  # argparse words it: "invalid positive value: '0'"
    return number


def svg_path(text):
    """A path that can be written, for argparse: a mistake is found before the measurement."""
    folder = os.path.join(os.path.dirname(text), ".")  # which a file in its place does not have
    if not text.endswith(".svg"):
        raise argparse.ArgumentTypeError(f"{text!r} must end with .svg")
    if os.path.isdir(text) or not os.access(text if os.path.exists(text) else folder, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text!r} is no file that can be written to")
    return text


# What runs a command imports it: --help and --version need nothing else.
def info(options):
    """Print what was found and what is missing."""
    from gpukern._cli.info import print_info

    print_info(options.json)
    return True


def demo(options):
    """Run gather and saxpy at full size."""
    from gpukern._cli.demo import demo

    return demo()


def bench(options):
    """Time the operations."""
    from gpukern._cli.bench import bench

    return bench(options.shrink, options.plot)


def cache(options):
    """Show or empty the cache of compiled programs."""
    from gpukern._cli.cache import run

    return run(options.action)


class Parser(argparse.ArgumentParser):
    """A parser that raises the error of an output that cannot be written."""

    def _print_message(self, message, file=None):
        if file is not None:  # it is None if it was closed before Python began
            print(message, end="", file=file)


def command_line():
    """Returns the parser of the command line."""
    parser = Parser(
        prog="gpukern",
        description="gather, scatter and saxpy on the CPU and on GPUs.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"gpukern {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)

    def add(run, text):
        description = f"{text[0].upper()}{text[1:]}."
        made = commands.add_parser(run.__name__, help=text, description=description)
        made.set_defaults(run=run)
        return made

    command = add(info, "print versions, backends and devices, what is missing, and how to get it")
    command.add_argument("--json", action="store_true", help="as JSON")
    add(demo, "run gather and saxpy at full size, verified and timed; needs 1 GiB of memory")
    command = add(
        bench, "time gather and saxpy next to torch and CuPy, or without a GPU next to NumPy"
    )
    command.add_argument(
        "--shrink", type=positive, default=1, metavar="N", help="divide sizes by N"
    )
    command.add_argument("--plot", type=svg_path, metavar="FILE.svg", help="draw the rates as well")
    command = add(cache, "list, measure or remove the compiled programs on disk")
    command.add_argument("action", choices=["list", "size", "clear"])
    return parser


def main(arguments=None):
    """Runs one of the commands and returns the exit status."""
    try:
        try:
            options = command_line().parse_args(arguments)
            succeeded = options.run(options)
        finally:
            try:
                if sys.stdout is not None:
                    sys.stdout.flush()  # here a closed pipe is caught, for --help as well
            except OSError:  # Python would write what is left when it exits
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise
    except KeyboardInterrupt:
        print(file=sys.stderr)  # a line below the progress bar
        return 130
    except BrokenPipeError:
        return 141
    except (GpukernError, MemoryError, OSError, UnicodeError) as error:
        print(f"gpukern: {str(error) or 'out of memory'}", file=sys.stderr)
        return 1
    return 0 if succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
