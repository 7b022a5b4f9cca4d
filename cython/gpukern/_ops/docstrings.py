# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters that several operations share, for their docstrings."""

import textwrap

PLACE = """\
device : {'cpu', 'cuda', 'cuda:N'} or int, optional
    Where host arrays are computed; by default $GPUKERN_DEVICE, or the CPU.
stream : optional
    An int handle, or an object with ``__cuda_stream__``; by default the current stream of the
    library of the first array, or the legacy default stream.
"""

CALL_OPTIONS = f"""\
{PLACE}\
progress : callable, optional
    Called as ``progress(done_bytes, total_bytes)`` between the parts of a call on host arrays,
    at most ten times a second.
    An exception that it raises stops the call and propagates; the array that the call writes to
    is then partially written.
device_memory : int, optional
    Bytes of device memory for the chunks of host arrays; by default $GPUKERN_DEVICE_MEMORY, or
    1 GiB.
"""

WHOLE_CALL_OPTIONS = f"""\
{PLACE}\
device_memory : int, optional
    Bytes of device memory for copies of host arrays; by default $GPUKERN_DEVICE_MEMORY, or
    1 GiB. Arrays that need more are computed on the CPU.
"""

MODES = """\
mode : {'raise', 'wrap', 'clip', 'fill'}
    What to do with an index outside [0, n). 'raise': [-n, 0) counts from the end, anything else
    is an IndexError. 'wrap': modulo n. 'clip': to the nearest of 0 and n - 1. 'fill': [-n, 0)
    counts from the end, """

MODE = f"{MODES}anything else gives `fill_value`.\n"

WRITE_OPTIONS = (
    MODES
    + """\
and values with any other index are skipped.
reduce : {None, 'add', 'multiply', 'min', 'max', 'mean'}
    None: the last value in C order of the index replaces the element. Otherwise the element and
    all of its values are combined. Integers wrap around and have no mean; complex numbers have
    only 'add' and 'mean'. min and max give NaN if any is NaN, and -0 is less than +0.
order : {'fixed', 'any'}
    'fixed': the same bits on every device and in every run. 'any': a GPU may add floating-point
    values in an order that varies.
unique : bool
    Whether no two indices refer to the same element, which saves time on a GPU. If some do, these
    elements are unspecified afterwards; no other is written.
out : array, optional
    Of the target's shape and dtype. Gets a copy of the target with the values written, and is
    returned; the target is unchanged. May overlap the inputs.
"""
)

ROUNDING = """\
rounding : {'nearest', 'stochastic'}, optional
    How a result is rounded to the dtype of the output. 'stochastic' is from float32 to bfloat16: to
    one of the two neighbours, each with a probability that is proportional to the distance from the
    other one.
seed : int, optional
    In [0, 2**64); 'stochastic' requires it, and it is a ValueError with 'nearest'. The random
    numbers are a function of it and of the position in the output (Philox4x32-10), so that they are
    the same on every device. Use another one in each call.
"""

BAG_REDUCE = """\
reduce : {'sum', 'mean', 'min', 'max'}
    What to compute of the items; 0 without items. Integers wrap around and have no mean; complex
    numbers have only sum and mean; 16-bit types are combined in float32. min and max give NaN if
    any is NaN, and -0 is less than +0.
"""

PARAGRAPHS = {
    "{bag_reduce}": BAG_REDUCE,
    "{call_options}": CALL_OPTIONS,
    "{mode}": MODE,
    "{rounding}": ROUNDING,
    "{whole_call_options}": WHOLE_CALL_OPTIONS,
    "{write_options}": WRITE_OPTIONS,
}


def complete_docstring(function):
    """Replace the lines of a docstring that name a paragraph, which may be indented."""
    lines = []
    for line in function.__doc__.splitlines(keepends=True):
        indent = line[: len(line) - len(line.lstrip())]
        paragraph = PARAGRAPHS.get(line.strip())
        lines.append(line if paragraph is None else textwrap.indent(paragraph, indent))
    function.__doc__ = "".join(lines)
