# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in a wait of the library: handlers of Python run, and what they raise ends the wait.

Python runs handlers of signals between bytecodes of its main thread, so a call that waits in C would
hold them back. tern asks now and then whether a wait of the main thread shall go on
(include/tern/interrupt.h); here that is one turn of a generator. Python looks for signals when the
generator goes on behind its `yield`, which is inside its `try`: a function would be interrupted
before it had begun to. A handler may wait, too: that asks another generator.
"""

from __future__ import annotations

import atexit
import ctypes
import threading
from typing import Iterator, List, Optional

NESTED = 8  # waits in handlers of waits; one deeper says so on stderr, and cannot be interrupted
_ASK = ctypes.CFUNCTYPE(ctypes.c_int)

_raised: Optional[BaseException] = None
_free: List[int] = []  # generators that are at their `yield`
_kept = None  # the callback, which the library points to


def _turns(number: int) -> Iterator[int]:
    """0: go on; 1: a handler has raised, and the wait ends."""
    global _raised
    answer = 0
    while True:
        try:
            while True:
                if number not in _free:
                    _free.append(number)
                yield answer
                answer = 0 if _raised is None else 1  # 1: its wait has ended well, so this one does
        except GeneratorExit:
            return
        except BaseException as error:  # whatever a handler raises; take() hands it on
            _raised = error
            answer = 1


def arm(library) -> None:
    """Lets waits of this library ask."""
    global _kept
    turns = [_turns(number) for number in range(NESTED)]
    for one in turns:
        next(one)
    # All of it in C, up to the generator: the next one that is free.
    asked = map(next, map(turns.__getitem__, iter(_free.pop, None)))
    _kept = _ASK(asked.__next__)
    library.tern_interrupt_set(_kept)
    atexit.register(library.tern_interrupt_set, None)


def take() -> Optional[BaseException]:
    """What a handler raised in a wait of the main thread that has ended, once."""
    global _raised
    if threading.current_thread() is not threading.main_thread():
        return None
    error, _raised = _raised, None
    return error
