# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""elementwise: makes element-wise functions of arrays."""

import functools
import sys
from collections.abc import Iterable, Mapping

from gpukern._elementwise.dispatch import Elementwise
from gpukern._elementwise.frontend import c_parser, python_frontend, type_resolution
from gpukern._program.program import at_clear
from gpukern.errors import GpukernTypeError

CALL_OPTIONS = ("out", "device", "stream", "progress", "device_memory")
KEPT = 1024  # expressions, as many as the library keeps programs in memory


@functools.lru_cache(KEPT, typed=True)  # a str of a subclass may have another str()
def of_expression(text, inputs, dtype, name, preamble, options):
    """The Function of a C expression, with the kernels that it has by now."""
    return c_parser.translate(text, inputs, **fields(dtype, name, preamble, options))


at_clear(of_expression.cache_clear)


def checked_options(options):
    """The options as a tuple."""
    is_listed = isinstance(options, Iterable) and not isinstance(options, (str, bytes, Mapping))
    listed = tuple(options) if is_listed else None
    if listed is None or not all(isinstance(each, str) for each in listed):
        raise GpukernTypeError(f"elementwise: options must be a sequence of str, got {options!r}")
    return listed


def fields(dtype, name, preamble, options):
    """The fields of a Function that are given."""
    for what, text in (("preamble", preamble), ("name", "" if name is None else name)):
        if not isinstance(text, str):
            raise GpukernTypeError(f"elementwise: {what} must be a str, got {type(text).__name__}")
    return {
        "dtype": type_resolution.dtype_name(dtype),
        "preamble": preamble,
        "options": options,
        **({} if name is None else {"name": str(name)}),
    }


def elementwise(function=None, *, inputs=None, dtype=None, name=None, preamble="", options=()):
    """Makes an element-wise function of arrays from a C expression or a Python function.

    For example::

        polynomial = gpukern.elementwise("(a * 10 + 2) * ((b + 2) * 10 - 5) * 5")

        @gpukern.elementwise
        def clipped_sine(x, limit):
            y = np.sin(x)
            return y if abs(y) < limit else limit

    The result is called with arrays and numbers: see :class:`Elementwise`.

    Parameters
    ----------
    function : str or function
        A C expression: numbers, names, ``+ - * / %``, comparisons, ``&& || !``, ``& | ^ ~ << >>``,
        ``c ? a : b``, conversions such as ``(float)a`` and ``int32_t(a)``, ``M_PI``, ``INFINITY``,
        and calls; with C's precedence. Its arguments are its free names, in order of appearance,
        or `inputs`.

        Or a Python function: assignments to local names and a ``return``, of arithmetic,
        comparisons, ``and or not``, ``a if c else b``, conversions such as ``np.float32(a)``, and
        calls. Other names are constants, with their values at decoration.

        The functions are NumPy's numeric ufuncs, under their NumPy, C or Python names
        (``np.arctan2``, ``math.atan2``, ``atan2``), ``where``, and ``min``, ``max``, ``abs``,
        ``pow``. In a C expression any other name is a function of CUDA C++ (``fmaf(a, x, y)``, or
        one of the preamble), which needs a GPU; its result is converted to the type to which its
        arguments promote.
    inputs : sequence of str, optional
        The names of the arguments of a C expression.
    dtype : dtype, optional
        The dtype of the result; by default given by promotion.
    name : str, optional
        The name in messages and profiles; by default that of the Python function, or
        'elementwise'.
    preamble : str
        CUDA C++ before the kernels: includes, ``__device__`` functions.
    options : sequence of str
        Options of NVRTC, as in :class:`Program`. Without ``--fmad=true`` there are no fused
        multiply-adds, so the GPU rounds as NumPy does.

    Returns
    -------
    Elementwise
        Or a decorator, if `function` is None.

    Raises
    ------
    ValueError
        For a construct that cannot be translated; the message names the file and line, or the
        column.

    Notes
    -----
    Both forms have the same meaning. Dtypes are those of NumPy's ufuncs; Python numbers and
    literals are weak (NEP 50), ``/`` of integers gives float64, ``%`` has the sign of the divisor,
    integers wrap around, and ``and``, ``or``, ``not`` give booleans. A C literal with an ``f`` is a
    float32. As in Python, operators and functions of ``math`` and Python itself give weak numbers
    for numbers only; NumPy functions, and all functions in a C expression, do not. Both branches of
    a conditional expression are computed, as with ``np.where``. No value raises an error or a
    warning: integer division by zero gives 0, and an integer to a negative power gives its integer
    part (a negative literal as the exponent is an error, as in NumPy). bfloat16 stays bfloat16 with
    numbers, bool and 8-bit integers, and promotes to float32.

    ``+ - * / sqrt``, comparisons, conversions between floats and all operations on integers give
    the same bits as NumPy; transcendental functions may differ in the last bits, on GPUs and
    between CPUs. Complex numbers support ``+ - * /``, ``==``, ``!=``, ``abs``, ``square``,
    ``reciprocal``, ``conj``, ``real``, ``imag``, ``isnan``, ``isinf``, ``isfinite``, ``where``,
    ``exp``, ``log``, ``sqrt``, ``sin``, ``cos`` and ``tanh``.

    Equal expressions with equal options share their kernels.

    """
    if function is None:
        return functools.partial(
            elementwise, inputs=inputs, dtype=dtype, name=name, preamble=preamble, options=options
        )
    options = checked_options(options)
    if isinstance(function, str):
        if not (inputs is None or isinstance(inputs, Iterable)):
            raise GpukernTypeError(f"elementwise: inputs must be a sequence of str, got {inputs!r}")
        inputs = tuple(inputs) if type(inputs) is list else inputs
        given = function, inputs, dtype, name, preamble, options
        try:
            return Elementwise(of_expression(*given))
        except TypeError:  # raised again, unless one of them cannot be hashed
            return Elementwise(of_expression.__wrapped__(*given))
    if not hasattr(function, "__code__"):
        raise GpukernTypeError(
            f"elementwise: expected a str or a Python function, got {type(function).__name__}"
        )
    if inputs is not None:
        raise GpukernTypeError("elementwise: inputs are given with an expression only")
    made = Elementwise(
        python_frontend.translate(function, **fields(dtype, name, preamble, options))
    )
    functools.update_wrapper(made, function)
    if name is not None:
        made.__name__ = made.__qualname__ = str(name)
    return made


def signature_of(made):
    """What inspect.signature() gives: the parameters by position, and the options of a call."""
    import inspect  # which takes longer than a small call

    positional, keyword = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [inspect.Parameter(name, positional) for name in made.inputs]
        + [inspect.Parameter(name, keyword, default=None) for name in CALL_OPTIONS]
    )


def reduced(made, function):
    """What a pickle of an Elementwise holds, see object.__reduce__().

    A decorated function is found by its name, an expression is made from its text, any other
    function from its graph.
    """
    attributes = dict(vars(made))
    if attributes.pop("__wrapped__", None) is not None and is_found_by_name(made):
        return made.__qualname__
    if not function.is_c:
        return Elementwise, (function,), attributes
    options = {
        each: getattr(function, each) for each in ("inputs", "dtype", "name", "preamble", "options")
    }
    return functools.partial(elementwise, function.text, **options), (), attributes


def is_found_by_name(made):
    """Whether a module has this very object under its qualified name."""
    found = sys.modules.get(made.__module__)
    for name in made.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is made
