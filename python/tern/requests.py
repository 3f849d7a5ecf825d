# SPDX-License-Identifier: Apache-2.0
"""Requests: calls that are begun here and ended there, once (Comm.start) or as often as wanted
(Comm.prepare). The arrays of a call belong to tern until it has ended; a request keeps them."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, List, Optional, Sequence

from ._coll import Call
from ._errors import argument_error, check, fail
from ._library import lib
from .collectives import Collectives

if TYPE_CHECKING:
    from .comm import Comm


class Request:
    """A call under way. Any thread ends it, by wait or a test that says True.

    Ctrl-C in wait fails the communicator, and with it the request, as the communicator's deadline
    does.
    """

    def __init__(self, comm: "Comm", call: Call, persistent: bool) -> None:
        self.comm = comm
        self.persistent = persistent
        self._call = call
        self._result: Any = call.result
        self._number = ctypes.c_uint64(0)
        self._running = False
        begin = lib().tern_coll_prepare if persistent else lib().tern_coll_start
        with comm._alone():
            check(begin(comm.handle, call.reference, ctypes.byref(self._number)))
        self._running = not persistent
        comm._requests.add(self)

    @property
    def running(self) -> bool:
        """Whether it is under way: begun, and not ended by wait or test."""
        return self._running

    def start(self) -> "Request":
        """Begins a run of a persistent request; all ranks in the same order as their other calls."""
        if not self.persistent:
            raise argument_error("start: the request is not persistent: it was started when it was made")
        with self.comm._alone():
            check(lib().tern_request_start(self._number))
        self._running = True
        return self

    def test(self) -> bool:
        """Whether the call has ended; does not wait. Raises what it failed with."""
        with self.comm._alone():
            status = lib().tern_request_test(ctypes.byref(self._number))
        if status == 0:
            return False
        self._end(min(status, 0))
        return True

    def wait(self) -> Any:
        """Returns the output of the call when it has ended. Raises what it failed with."""
        with self.comm._alone():
            status = lib().tern_request_wait(ctypes.byref(self._number))
        self._end(status)
        return self._result

    def free(self) -> None:
        """Frees a persistent request that is not running. May be called again."""
        if self._number.value:
            with self.comm._alone():
                check(lib().tern_request_free(ctypes.byref(self._number)))
            self.comm._requests.discard(self)

    def _end(self, status: int) -> None:
        was_running, self._running = self._running, self._number.value != 0 and self._is_on(status)
        if not self._number.value:
            self.comm._requests.discard(self)
        if status < 0:
            fail(status)
        if was_running:
            self._result = self._call.finish()

    def _is_on(self, status: int) -> bool:
        """Whether it goes on after an error: what was refused is as it was."""
        return self._running and not self.persistent and status < 0

    def __enter__(self) -> "Request":
        return self

    def __exit__(self, *_: Any) -> None:
        if self.persistent:
            self.free()
        elif self._running:
            self.wait()


def wait_all(requests: Sequence[Request]) -> List[Any]:
    """Waits for all; returns their outputs, or raises the first error when all have ended."""
    first: Optional[BaseException] = None
    results = []
    for request in requests:
        try:
            results.append(request.wait())
        except BaseException as error:
            first = first or error
    if first is not None:
        raise first
    return results


def wait_any(requests: Sequence[Request]) -> int:
    """Waits until one has ended and returns its index; -1 when none is running."""
    if not requests:
        return -1
    numbers = (ctypes.c_uint64 * len(requests))(*(r._number.value for r in requests))
    index = ctypes.c_int(-1)
    with requests[0].comm._alone():
        status = lib().tern_request_wait_any(numbers, len(requests), ctypes.byref(index))
    ended = index.value
    if ended < 0:
        check(status)
        return -1
    requests[ended]._number.value = numbers[ended]
    requests[ended]._end(status)
    return ended


class Starter(Collectives):
    """Comm.start: the calls of Collectives, begun; each returns a Request."""

    persistent = False

    def __init__(self, comm: "Comm") -> None:
        self._comm = comm
        self.rank = comm.rank
        self.size = comm.size

    def _go(self, call: Call) -> Request:
        return Request(self._comm, call, self.persistent)


class Preparer(Starter):
    """Comm.prepare: the calls of Collectives, looked up; each returns a persistent Request, whose
    start begins a run."""

    persistent = True
