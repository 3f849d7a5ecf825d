# SPDX-License-Identifier: Apache-2.0
"""What the runner prints: lines by level, and how far it is.

On a terminal the line of the phase that runs is rewritten in place; in a pipe each phase is one
line when it has ended. Results go to standard output, what is wrong to standard error.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from contextlib import contextmanager
from typing import Callable, Dict, Iterator, TextIO

from .problem import Problem

LEVELS = ("error", "warn", "info", "debug")
COMMAND = "tern example run"


def standard_output() -> TextIO:
    """sys.stdout, also where it has no UTF-8; where it is closed, one that takes everything.

    The numbers of closed streams are taken, so that no file of a run gets what somebody prints.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        return open(os.devnull, "w", encoding="utf-8")
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    return sys.stdout


def complain(problem: Problem) -> None:
    """The details, and the sentence with its place, on standard error, if that can be written."""
    details = [problem.details] if problem.details else []
    try:
        print(*details, f"{COMMAND}: {problem}", sep="\n", file=sys.stderr, flush=True)
    except OSError:
        pass  # the exit status and the report have it as well


class Output:
    """`level` is one of LEVELS; lines above it are not printed."""

    def __init__(self, level: str, stream: TextIO) -> None:
        self._level = LEVELS.index(level)
        self._stream = stream
        self._live = (stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
                      and self._level >= LEVELS.index("info"))
        self._shown = False
        self.seconds: Dict[str, float] = {}  # of each phase, together

    def say(self, text: str, level: str = "info") -> None:
        if LEVELS.index(level) <= self._level:
            try:
                self._clear()
                print(text, file=self._stream, flush=True)
            except ValueError:  # code of the user's has closed it
                raise OSError(errno.EBADF, os.strerror(errno.EBADF)) from None

    def debug(self, text: str) -> None:
        self.say(text, "debug")

    def flush(self) -> None:
        if not self._stream.closed:
            self._clear()
            self._stream.flush()

    def close(self) -> None:
        """What cannot be written is given up: the interpreter would try once more."""
        try:
            self.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def _clear(self) -> None:
        if self._shown:
            self._stream.write("\r\033[K")
            self._shown = False

    def problem(self, problem: Problem) -> None:
        """The details, and the sentence with its place, on standard error."""
        self.flush()
        complain(problem)

    @contextmanager
    def phase(self, name: str) -> Iterator["Phase"]:
        """Times the block; its line ends with what the block has put into `note`."""
        phase = Phase(name, self._update)
        try:
            yield phase
        finally:
            spent = phase.elapsed()
            self.seconds[name] = self.seconds.get(name, 0.0) + spent
        self.say(f"{name:8}{spent:6.2f} s{'  ' if phase.note else ''}{phase.note}")

    def _update(self, phase: "Phase") -> None:
        if self._live:
            self._stream.write(f"\r\033[K{phase.name:8}{phase.elapsed():6.1f} s  {phase.state}")
            self._stream.flush()
            self._shown = True


class Phase:
    """A part of a run."""

    def __init__(self, name: str, update: Callable[["Phase"], None]) -> None:
        self.name = name
        self.note = ""
        self.state = ""
        self._begin = time.monotonic()
        self._update = update

    def elapsed(self) -> float:
        return time.monotonic() - self._begin

    def update(self, state: str = "") -> None:
        """Shows on a terminal what it does; not while code of the user's runs, which may print."""
        self.state = state
        self._update(self)

