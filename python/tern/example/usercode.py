# SPDX-License-Identifier: Apache-2.0
"""Runs Python code of the user's: kernel_config.py, golden.py and their functions.

What goes wrong in it becomes a Problem with the user's own frames. Its folder is first on sys.path
while it runs and not afterwards, modules that it imports from there are forgotten again (the folder
of a golden may have another module of the same name), and nothing is written beside it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import Callable, Iterator, Optional, Tuple, Type

from .interrupts import check
from .problem import Interrupted, Problem, shown

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_NOT_THE_USERS = (_HERE, "<frozen", str(sys.modules["contextlib"].__file__))


class _Deadline(BaseException):
    """The user's code runs for too long. Not an Exception, which it might catch."""


@contextmanager
def _limited(seconds: Optional[float]) -> Iterator[None]:
    """Raises _Deadline inside the block after so many seconds, again each second if it is
    caught."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: Optional[FrameType]) -> None:
        raise _Deadline

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    path, known, bytecode = list(sys.path), set(sys.modules), sys.dont_write_bytecode
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.path[:] = path
        sys.dont_write_bytecode = bytecode
        prefix = str(folder) + os.sep
        for name in set(sys.modules) - known:
            file = getattr(sys.modules[name], "__file__", None)
            if isinstance(file, str) and file.startswith(prefix):
                del sys.modules[name]


def _own_frames(trace: Optional[TracebackType]) -> Optional[TracebackType]:
    """The traceback from the user's first frame on."""
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_NOT_THE_USERS):
            break
        trace = trace.tb_next
    return trace



def _told(kind: Type[BaseException], error: BaseException, place: str, sentence: str) -> Problem:
    trace = _own_frames(error.__traceback__)
    while trace is not None and trace.tb_next is not None and kind is _Deadline:
        if trace.tb_next.tb_frame.f_code.co_filename.startswith(_HERE):
            trace.tb_next = None  # the handler of the signal
            break
        trace = trace.tb_next
    error.__traceback__ = _own_frames(error.__traceback__)
    if kind is _Deadline:
        details = "Traceback (most recent call last):\n" + "".join(
            traceback.format_tb(error.__traceback__))
    else:
        details = "".join(traceback.format_exception(kind, error, error.__traceback__))
    last = traceback.extract_tb(error.__traceback__)
    if last:
        place = f"{place}, line {_line_in(last, place)}"
    return Problem(sentence, place, details.rstrip("\n"))


def _line_in(frames: traceback.StackSummary, place: str) -> int:
    """The line of the last frame that is in the file of the place, else of the last one."""
    inside = [frame.lineno for frame in frames if frame.filename == place.split(": ")[0]]
    return int((inside or [frames[-1].lineno])[-1] or 0)


def run_user_code(folder: Path, place: str, function: Callable[..., object], arguments: Tuple = (),
                  seconds: Optional[float] = None) -> object:
    """function(*arguments), as code of the user's in `folder`.

    Raises Problem, with the place and the line, when it raises, exits, or has not returned after
    `seconds`.
    """
    try:
        with _inside(folder), _limited(seconds):
            result = function(*arguments)
        check()
        return result
    except SystemExit as error:
        raise _told(SystemExit, error, place, f"it calls sys.exit({shown(error.code)})") from None
    except _Deadline as error:
        raise _told(_Deadline, error, place, f"it has not returned after {seconds:g} s") from None
    except SyntaxError as error:
        if error.filename and os.path.isabs(error.filename):
            where = f"{error.filename}, line {error.lineno}"
            details = "".join(traceback.format_exception_only(SyntaxError, error)).rstrip("\n")
            raise Problem(f"it is not Python: {error.msg}", where, details) from None
        raise _told(type(error), error, place, f"it raises {_words(error)}") from None
    except (Problem, Interrupted):
        raise
    except BaseException as error:  # KeyboardInterrupt as well: Ctrl-C is Interrupted
        raise _told(type(error), error, place, f"it raises {_words(error)}") from None


def _words(error: BaseException) -> str:
    name = type(error).__name__
    try:
        text = " ".join(str(error).split())
    except Exception:  # of the user's class
        text = ""
    return f"{name}: {text}" if text else name


def load_module(path: Path, name: str, seconds: Optional[float] = None) -> ModuleType:
    """The module that a file is, run from its text: no bytecode is read that could be older."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise Problem(f"it cannot be read: {error.strerror}", str(path)) from None
    module = ModuleType(name)
    module.__file__ = str(path)
    before = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses look there

    def run() -> None:
        exec(compile(source, str(path), "exec"), module.__dict__)

    try:
        run_user_code(path.parent, str(path), run, (), seconds)
    except BaseException:
        sys.modules.pop(name, None)
        if before is not None:
            sys.modules[name] = before
        raise
    return module
