# SPDX-License-Identifier: Apache-2.0
"""Transfers beside the thread that begins them: put and get of windows by a copy engine, a thread of
the library (include/tern/async.h)."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from typing import Any, Iterator, List, Optional, Tuple

import numpy as np

from . import _dtypes
from ._errors import argument_error, check, make, status_number
from ._library import lib
from .window import Window, _whole


class Session:
    """A sequence of transfers; to wait for one is to wait for all that were begun before it. Used by
    one thread at a time. Arrays are kept until their transfer has ended; until then what is read must
    not change, and what is written not be used."""

    def __init__(self) -> None:
        self._handle: Optional[int] = None
        handle = ctypes.c_void_p()
        check(lib().tern_session_create(ctypes.byref(handle)))
        self._handle = handle.value
        self._destroy = lib().tern_session_destroy
        self._lock = threading.Lock()
        self._kept: List[Tuple[int, Any]] = []  # transfers under way, with what they use

    def put(self, window: Window, rank: int, data: np.ndarray, offset: int = 0) -> int:
        """Begins window[rank][offset ..] = data; returns the number of the transfer."""
        address, _ = _dtypes.check_array("put: data", data)
        there = _part("put", window, rank, offset, data.nbytes)
        return self._begin(lib().tern_async_put, there, address, data)

    def get(self, window: Window, rank: int, out: np.ndarray, offset: int = 0) -> int:
        """Begins out = window[rank][offset ..]; returns the number of the transfer."""
        address, _ = _dtypes.check_array("get: out", out, writable=True)
        there = _part("get", window, rank, offset, out.nbytes)
        return self._begin(lib().tern_async_get, address, there, out)

    def _begin(self, begin: Any, to: Any, source: Any, local: np.ndarray) -> int:
        window_part = to if isinstance(to, np.ndarray) else source
        to, source = (one.ctypes.data if isinstance(one, np.ndarray) else one for one in (to, source))
        number = ctypes.c_uint64()
        with self._alone() as handle:
            check(begin(handle, to, source, local.nbytes, ctypes.byref(number)))
            self._kept.append((number.value, (local, window_part)))
        return number.value

    @contextlib.contextmanager
    def _alone(self) -> Iterator[int]:
        """The handle, while no other thread is in a call."""
        if not self._lock.acquire(False):
            raise make(status_number("TERN_ERR_STATE"),
                       "another thread is in a call of this session; one at a time")
        try:
            if self._handle is None:
                raise make(status_number("TERN_ERR_STATE"), "the session is closed")
            yield self._handle
        finally:
            self._lock.release()

    def _ended(self, number: int) -> None:
        self._kept = [row for row in self._kept if row[0] > number]

    def wait(self, number: Optional[int] = None) -> None:
        """Returns when the transfer of this number (None: the last one), and all before it, have
        ended; what was put is visible to who sees a notify of this thread that comes later."""
        if number is None:
            number = self._kept[-1][0] if self._kept else 0
        if number or not isinstance(number, int):
            with self._alone() as handle:
                check(lib().tern_session_wait(handle, number))
                self._ended(number)

    def test(self, number: int) -> bool:
        """Whether they have ended; does not wait."""
        with self._alone() as handle:
            done = check(lib().tern_session_test(handle, number)) == 1
            if done:
                self._ended(number)
        return done

    def close(self) -> None:
        """Ends what is under way first. May be called again."""
        if self._handle is not None:
            with self._alone() as handle:
                self._handle = None
                self._destroy(handle)
                self._kept.clear()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()


def _part(call: str, window: Window, rank: int, offset: int, size_bytes: int) -> np.ndarray:
    """The bytes of a rank's window that a transfer uses."""
    offset = _whole(f"{call}: offset", offset)
    if offset < 0 or offset + size_bytes > window.size:
        raise argument_error(f"{call}: {size_bytes} bytes at offset {offset} reach beyond the "
                             f"{window.size} bytes of the window")
    return window.array(np.uint8, size_bytes, offset, rank)
