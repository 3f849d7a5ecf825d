# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in a wait of the library: handlers of Python run, and what they raise ends the wait.

Python runs handlers of signals between bytecodes of its main thread, so a call that waits in C would
hold them back. tern asks now and then whether a wait of the main thread shall go on
(include/tern/interrupt.h); here that is one turn of a generator. Python looks for signals when the
generator goes on behind its `yield`, which is inside its `try`: a function would be interrupted
before it had begun to.
"""

from __future__ import annotations

import atexit
import ctypes
from typing import Iterator, Optional

_ASK = ctypes.CFUNCTYPE(ctypes.c_int)

_raised: Optional[BaseException] = None
_kept = None  # the callback, which the library points to


def _turns() -> Iterator[int]:
    """0: go on; 1: a handler has raised, and the wait ends."""
    global _raised
    answer = 0
    while True:
        try:
            while True:
                yield answer
                answer = 0
        except GeneratorExit:
            return
        except BaseException as error:  # whatever a handler raises; take() hands it on
            _raised = error
            answer = 1


def arm(library) -> None:
    """Lets waits of this library ask."""
    global _kept
    turns = _turns()
    next(turns)
    _kept = _ASK(turns.__next__)
    library.tern_interrupt_set(_kept)
    atexit.register(library.tern_interrupt_set, None)


def take() -> Optional[BaseException]:
    """What a handler raised in the wait that has just ended, once."""
    global _raised
    error, _raised = _raised, None
    return error
