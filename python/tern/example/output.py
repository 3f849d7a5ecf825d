# SPDX-License-Identifier: Apache-2.0
"""What the runner prints: lines by level, and how far it is.

On a terminal the line of the phase that runs is rewritten in place; in a pipe each phase is one
line when it has ended. Results go to standard output, what is wrong to standard error.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import Callable, Dict, Iterator, TextIO

from .problem import Problem

LEVELS = ("error", "warn", "info", "debug")
COMMAND = "tern example run"


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
            self._clear()
            print(text, file=self._stream, flush=True)

    def debug(self, text: str) -> None:
        self.say(text, "debug")

    def flush(self) -> None:
        self._clear()
        self._stream.flush()

    def _clear(self) -> None:
        if self._shown:
            self._stream.write("\r\033[K")
            self._shown = False

    def problem(self, problem: Problem) -> None:
        """The details, and the sentence with its place, on standard error."""
        self.flush()
        if problem.details:
            print(problem.details, file=sys.stderr)
        print(f"{COMMAND}: {problem}", file=sys.stderr, flush=True)

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

