# SPDX-License-Identifier: Apache-2.0
"""Signals that end a run become the exception Interrupted, except where something is half made.

Inside `deferred()` a signal is noted, and raised at the end: a folder that was made is known to
whoever removes it, and a process that was started to whoever ends it. Code of the user's that
swallows the exception does not keep the run: `check()` raises it again.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from types import FrameType
from typing import Iterator, Optional

from .problem import Interrupted

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _State:
    """Of the main thread, which alone gets signals."""

    depth = 0
    number: Optional[int] = None


def _note(number: int, frame: Optional[FrameType]) -> None:
    _State.number = number
    if _State.depth == 0:
        raise Interrupted(number)


@contextmanager
def handled() -> Iterator[None]:
    """Signals are handled inside the block, unless they are ignored, as under nohup."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        _State.number = None
        for number in _SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                before[number] = signal.signal(number, _note)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def deferred() -> Iterator[None]:
    """No exception comes from a signal inside the block, but at its end."""
    _State.depth += 1
    try:
        yield
    finally:
        _State.depth -= 1
    if _State.depth == 0:
        check()


def check() -> None:
    """Raises the signal that has come, if there is one."""
    if _State.number is not None and threading.current_thread() is threading.main_thread():
        raise Interrupted(_State.number)
