# SPDX-License-Identifier: Apache-2.0
"""Errors: a Python exception for each status of the library, with the library's own sentence.

`check(status)` is what every binding does with a status that a call returned. The table of names
and numbers is asked of the library, so it stands in one place only (include/tern/status.def).
"""

from __future__ import annotations

import builtins
import os
from typing import Any, Dict, NoReturn, Optional, Type

from . import _interrupt, _library


class Error(Exception):
    """A call of tern that failed.

    status    the number of the library (-5), negative
    name      its name ("TERN_ERR_PEER")
    sentence  what was wrong, where, and what would be right; also str() of the error
    """

    def __init__(self, status: int, sentence: str = "") -> None:
        Exception.__init__(self, status, sentence)
        self.status = int(status)
        self.sentence = sentence or status_text(self.status)

    @property
    def name(self) -> str:
        """The status as the C API names it: "TERN_ERR_ARG"."""
        return status_name(self.status)

    def __str__(self) -> str:
        return self.sentence

    def __reduce__(self):
        return (type(self), (self.status, self.sentence))


def text_of(error: Any) -> str:
    """str(error), which may raise."""
    try:
        return str(error)
    except Exception:
        return "its str() raises"


def sentence_bytes(sentence: str) -> bytes:
    """As C takes it; half of a surrogate pair, as in names of files that are no UTF-8, is spelled out."""
    return sentence.encode("utf-8", "backslashreplace")


class ArgumentError(Error, ValueError):
    """TERN_ERR_ARG: an argument is wrong; nothing has been done."""


class OutOfMemoryError(Error, builtins.MemoryError):
    """TERN_ERR_MEMORY: the machine, its cgroup or a limit of the process has not that much."""


class SystemCallError(Error):
    """TERN_ERR_SYSTEM: a system call failed."""


class TimeoutError(Error, builtins.TimeoutError):  # noqa: A001 - tern.TimeoutError is both
    """TERN_ERR_TIMEOUT: a deadline passed."""


class PeerError(Error):
    """TERN_ERR_PEER: a rank died; the communicator has failed."""


class LeftError(Error):
    """TERN_ERR_LEFT: a rank has left the communicator that the call needs."""


class MismatchError(Error):
    """TERN_ERR_MISMATCH: the ranks disagree about a call; the communicator has failed."""


class StateError(Error):
    """TERN_ERR_STATE: not possible in this state."""


class LimitError(Error):
    """TERN_ERR_LIMIT: beyond a limit of this build."""


class RefusedError(Error):
    """TERN_ERR_REFUSED: refused by the rendezvous."""


class CycleError(Error):
    """TERN_ERR_CYCLE: the graph has a cycle."""


class KernelError(Error):
    """TERN_ERR_KERNEL: a kernel is unknown or failed."""


class InterruptedError(Error):  # noqa: A001
    """TERN_ERR_INTERRUPTED: Ctrl-C, or a handler of a signal that raised, on some rank; on that rank
    it is what the handler raised instead. The communicator has failed."""


class AbortedError(Error):
    """TERN_ERR_ABORTED: a rank has ended the communicator (abort), with the sentence it gave."""


CLASSES: Dict[str, Type[Error]] = {
    "TERN_ERR_ARG": ArgumentError,
    "TERN_ERR_MEMORY": OutOfMemoryError,
    "TERN_ERR_SYSTEM": SystemCallError,
    "TERN_ERR_TIMEOUT": TimeoutError,
    "TERN_ERR_PEER": PeerError,
    "TERN_ERR_LEFT": LeftError,
    "TERN_ERR_MISMATCH": MismatchError,
    "TERN_ERR_STATE": StateError,
    "TERN_ERR_LIMIT": LimitError,
    "TERN_ERR_REFUSED": RefusedError,
    "TERN_ERR_CYCLE": CycleError,
    "TERN_ERR_KERNEL": KernelError,
    "TERN_ERR_INTERRUPTED": InterruptedError,
    "TERN_ERR_ABORTED": AbortedError,
}


for _class in (Error, *CLASSES.values()):
    _class.__module__ = "tern"  # the name that people catch, and that tracebacks show


def status_name(status: int) -> str:
    """The name of a status, such as "TERN_ERR_PEER"."""
    return _library.lib().tern_status_name(status).decode()


def status_text(status: int) -> str:
    """The text of a status, such as "a rank died"."""
    return _library.lib().tern_status_text(status).decode()


def status_table() -> Dict[str, int]:
    """Every status of the library: name to number, from TERN_OK downwards."""
    stranger = status_name(1)
    table: Dict[str, int] = {}
    number = 0
    while status_name(number) != stranger:
        table[status_name(number)] = number
        number -= 1
    return table


def status_number(name: str) -> int:
    """The number of a name of the table; KeyError for another name."""
    return status_table()[name]


def last_sentence() -> str:
    """The sentence of the last failed call of this thread."""
    return _library.lib().tern_last_error().decode("utf-8", "replace")


def make(status: int, sentence: Optional[str] = None) -> Error:
    """The exception of a status; without a sentence, that of the thread's last failed call."""
    text = last_sentence() if sentence is None else sentence
    return CLASSES.get(status_name(status), Error)(status, text)


def fail(status: int) -> NoReturn:
    """Raises the exception of a status that a call of this thread has just returned; when Ctrl-C
    or another signal ended its wait, what the handler raised."""
    error = make(status)
    raised = _interrupt.take()
    if raised is not None:
        raise raised from (None if isinstance(error, InterruptedError) else error)
    raise error


def check(status: int) -> int:
    """Raises when status is negative; returns it otherwise (tests give 0 or 1)."""
    if status < 0:
        fail(status)
    return status


def argument_error(sentence: str) -> ArgumentError:
    """For what a binding finds wrong before it calls the library."""
    return ArgumentError(status_number("TERN_ERR_ARG"), sentence)


def name_bytes(what: str, text: Any) -> bytes:
    """A word or a name as C takes it. ArgumentError for what is no text, or has a NUL in it."""
    if not isinstance(text, str):
        raise argument_error(f"{what} is of type {type(text).__name__}; it is a str")
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise argument_error(f"{what} is {text!r}, which is no UTF-8") from None
    return _without_nul(what, text, data)


def path_bytes(what: str, path: Any) -> bytes:
    """Likewise the name of a file."""
    try:
        data = os.fsencode(path)
    except (TypeError, UnicodeEncodeError):
        raise argument_error(f"{what} is {path!r}; it is the name of a file") from None
    return _without_nul(what, path, data)


def _without_nul(what: str, given: Any, data: bytes) -> bytes:
    if b"\0" in data:
        raise argument_error(f"{what} is {given!r}, which has a NUL in it")
    return data
