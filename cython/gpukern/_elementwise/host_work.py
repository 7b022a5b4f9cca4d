# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The blocks of one element-wise call on the host, and the threads that compute them."""

import contextvars
import threading

import numpy as np

from gpukern._elementwise.blocking import cutter
from gpukern._elementwise.temporaries import Scratch, axes_of, varying
from gpukern._elementwise.thread_budget import ThreadShare


class Quiet(threading.local):
    """A context, one for each thread, in which NumPy ignores floating-point errors.

    To enter it costs a tenth of `numpy.errstate`. Nothing but NumPy's own code is to run in it.
    """

    def __init__(self):
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


QUIET = Quiet()


def quietly(function, arguments):
    """Call a Python function that computes with ndarrays, without warnings."""
    try:
        return QUIET.run(function, *arguments)
    except RuntimeError as error:
        if error.__traceback__.tb_next is not None:
            raise  # of the function, or of the handler of a signal
        # Already in there: a finalizer or the handler of a signal called.
        with np.errstate(all="ignore"):
            return function(*arguments)


class Work:
    """A function, its arguments and its output, with axes in the order of the output's memory."""

    def __init__(self, function, arguments, out, held, block):
        shape = out.shape
        self.write = function.write
        self.cutters = [cutter(each, shape) for each in arguments]
        self.out = out
        self.chosen = function.places.chosen(
            tuple([varying(each, shape) for each in arguments]), axes_of(shape), held
        )
        self.block = min(block, out.size)  # elements, no block has more

    def compute(self, parts, wanted):
        """Compute some blocks, by so many threads if they are free."""
        share = ThreadShare(wanted)
        try:
            if share.count == 1:
                self.run(parts)
            else:
                self.together(batched(parts, -(-len(parts) // share.count)))
        finally:
            share.give_back()

    def together(self, batches):
        """Compute by a thread for each batch, the caller's being one; an error stops them all."""
        errors = []

        def work(mine, busy):
            try:
                with busy:
                    self.run(mine, errors)
            except BaseException as error:  # for the caller's thread
                errors.append(error)

        # Threads of this call alone: none is left to a fork() or to the end of the process.
        others = [(each, threading.Lock()) for each in batches[1:]]
        threads = [threading.Thread(target=work, args=each) for each in others]
        try:
            for thread in threads:
                thread.start()
            self.run(batches[0], errors)
            for thread in threads:
                thread.join()
        except BaseException as error:
            errors.append(error)
            # A thread that begins from here on ends at once. The others are not joined: before
            # Python 3.13, a join() that Ctrl-C has stopped lets the next one return too early.
            for _, busy in others:
                with busy:
                    pass
            raise
        if errors:
            raise errors[0]

    def run(self, parts, errors=()):
        """Compute some blocks, until there is an error elsewhere."""
        scratch = Scratch(self.chosen, self.block)
        for part in parts:
            if errors:
                return
            out = self.out[part]
            pieces = [cut(part) for cut in self.cutters]
            quietly(self.write, (*pieces, out, *scratch.beside(out)))


def batched(parts, count):
    """Lists of so many parts, the last one of what is left."""
    return [parts[first : first + count] for first in range(0, len(parts), count)]
