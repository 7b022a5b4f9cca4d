# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What the cache knows an element-wise kernel by before types are found and its source is written.

A kernel of a C expression for contiguous arrays is cached by its text, not under its source, with
a note of what else a call has to know: from disk it needs no typing and no source.
"""

import functools
import os

import numpy as np

from gpukern._elementwise import cuda_codegen
from gpukern._elementwise.frontend import (
    c_parser,
    constant_folding,
    graph,
    type_resolution,
    ufuncs,
)

MAKERS = (c_parser, cuda_codegen, graph, ufuncs, constant_folding, type_resolution)


@functools.cache
def makers():
    """Tells what makes kernels from another release or edit of it; None where that has no files."""
    files = [module.__file__ for module in MAKERS]
    files += [cuda_codegen.HEADER_FOLDER / name for name in cuda_codegen.HEADERS]
    try:
        facts = [os.stat(file) for file in files]
    except OSError:
        return None
    return np.__version__, *((each.st_size, each.st_mtime_ns) for each in facts)


def key(function, types):
    """The key of a function for types, as bytes that specialization.pyx compares; None for none."""
    made_by = makers()
    if not function.is_c or made_by is None:
        return None
    more = function.dtype, function.name, function.preamble, function.options
    return ascii((function.text, function.inputs, more, types, made_by))


def note(out_name, items, limits):
    """The dtype of the result, the elements of a thread, and the limits of Python ints."""
    parts = [out_name, items, *(number for limit in limits for number in limit)]
    return " ".join(map(str, parts))


def from_note(text):
    """What note() was given."""
    out_name, items, *numbers = text.split()
    limits = [tuple(map(int, numbers[i : i + 4])) for i in range(0, len(numbers), 4)]
    return out_name, int(items), limits
