# SPDX-License-Identifier: Apache-2.0
"""What ends a run: a sentence and the place that it is about."""

from __future__ import annotations

import difflib
from typing import Iterable, Optional


class Problem(Exception):
    """Something of the user's is wrong, or something failed.

    `sentence` says what, in one sentence without a final newline; `place` is the file and the field
    or the line; `details` are lines for people that come before the sentence: a traceback, messages
    of a compiler.
    """

    def __init__(self, sentence: str, place: Optional[str] = None, details: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.place = place
        self.details = details

    def __str__(self) -> str:
        return f"{self.place}: {self.sentence}" if self.place else self.sentence


class Interrupted(BaseException):
    """A signal ends the run; the exit status is 128 plus its number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def listed(names: Iterable[object]) -> str:
    """a, b or c."""
    words = [str(name) for name in names]
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " or " + words[-1]


def nearest(name: object, known: Iterable[str]) -> str:
    """The words to add to a sentence about an unknown name: the one that may be meant, or all."""
    names = list(known)
    close = difflib.get_close_matches(name, names, 1, 0.6) if isinstance(name, str) else []
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; there are {listed(names)}" if names else ""


def shown(value: object) -> str:
    """A value as it may stand in a sentence: on one line, and not long."""
    try:
        text = repr(value)
    except Exception:  # of the user's class
        text = f"<{type(value).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."
