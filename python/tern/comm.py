# SPDX-License-Identifier: Apache-2.0
"""The communicator: ranks that know each other, one process each."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import sys
import threading
import weakref
from typing import Any, Iterator, Optional

import numpy as np

from . import _dtypes
from ._coll import Call, describe, kinds
from ._errors import (argument_error, check, fail, make, path_bytes, sentence_bytes,
                      status_number)
from ._library import lib
from ._memory import Block, Blocks, as_bytes, operating, refuse_in_operation
from .collectives import Array, Cache, Collectives, Op, can_cache
from .requests import Preparer, Starter
from .window import Shape, Window, deadline_ns

_open: "set[Comm]" = set()  # not destroyed yet; a rank leaves at the end of its program


class _Options(ctypes.Structure):  # tern_options
    _fields_ = [("timeout_ns", ctypes.c_int64)]


class Comm(Collectives):
    """A communicator, made by tern.init, tern.init_at or split. All ranks make the same collective
    calls in the same order; one thread at a time, else StateError. It fails as a whole: when a rank
    dies, misses a deadline or is interrupted by Ctrl-C, calls on every rank raise an error that names
    it, until it is destroyed; by destroy, or at the end of the program, never by being forgotten.

    handle   the tern_comm * of the library, for what these bindings have no call for
    rank, size   this process's rank, 0..size-1, and the number of ranks
    start, prepare   the same calls, non-blocking and persistent (requests.py)
    """

    def __init__(self, handle: int, parent: Optional["Comm"] = None) -> None:
        self._handle: Optional[int] = handle
        self._parent = parent  # which must outlive it
        self.rank = check(lib().tern_comm_rank(handle))
        self.size = check(lib().tern_comm_size(handle))
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._acquire, self._release = self._lock.acquire, self._lock.release
        self._run = lib().tern_coll_run
        self._argument = ctypes.c_void_p.from_param(handle)
        self._cache = Cache()
        self._entries = self._cache.entries
        self._windows: "weakref.WeakSet" = weakref.WeakSet()
        self._blocks = Blocks(handle)
        self._parts: "set[Comm]" = set()
        self._requests: set = set()
        self._users: "weakref.WeakSet" = weakref.WeakSet()  # what else is closed before it
        self.start = Starter(self)
        self.prepare = Preparer(self)
        _open.add(self)

    @property
    def handle(self) -> int:
        """Of the library's communicator, for calls of the C API; StateError once it is destroyed."""
        if self._handle is None:
            raise make(status_number("TERN_ERR_STATE"), "the communicator is destroyed")
        return self._handle

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        self._enter()
        try:
            yield
        finally:
            self._lock.release()

    def _enter(self) -> None:
        refuse_in_operation()
        if not self._lock.acquire(False):
            raise make(status_number("TERN_ERR_STATE"),
                       "another thread, or a handler's outer code, is in a call of this communicator; "
                       "one at a time")

    def _go(self, call: Call) -> Any:
        self._enter()
        try:
            self.handle  # StateError once it is destroyed
            status = self._run(self._argument, call.reference)
        finally:
            self._lock.release()
        if status:
            fail(status)
        return call.finish()

    def _do(self, word: str, x: Optional[Array], out: Optional[Array], op: Any, root: int,
            dtype: Any, algorithm: Optional[str] = None, any_order: bool = False) -> Any:
        if algorithm is not None or any_order:
            return Collectives._do(self, word, x, out, op, root, dtype, algorithm, any_order)
        # Short path: nothing here asks an array for its address, or makes an object of its own.
        key = (id(x), id(out), word, op, root, dtype)
        entry = self._entries.get(key)
        if entry is None:
            return self._do_first(key, x, out)
        x_ref, dtype, out_ref, reference, _ = entry
        if (x_ref() is not x or out_ref() is not out or x.dtype is not dtype
                or out.dtype is not dtype or not x.flags.c_contiguous or not out.flags.carray):
            del self._entries[key]
            return self._do_first(key, x, out)
        if operating or not self._acquire(False):
            self._enter()
        try:
            if self._handle is None:  # another thread has destroyed it
                self.handle
            status = self._run(self._argument, reference)
        finally:
            self._release()
        if status:
            fail(status)
        return out

    def _do_first(self, key: tuple, x: Optional[Array], out: Optional[Array]) -> Any:
        _, _, word, op, root, dtype = key
        call = describe(kinds()[word], self.rank, self.size, x, out, op, root, dtype)
        result = self._go(call)
        if can_cache(call, x, out):
            self._cache.add(key, x, out, call)
        return result

    def window(self, size_bytes: int, *, prefault: bool = False, huge: bool = False) -> Window:
        """A window of at least size_bytes on every rank, zero at first. Collective: all ranks pass
        the same. prefault: its pages are touched now; huge: 2 MiB pages."""
        with self._alone():
            window = Window(self, size_bytes, prefault, huge)
        self._windows.add(window._memory)
        return window

    def alloc(self, shape: Shape, dtype: Any = np.float32) -> np.ndarray:
        """An array of this rank alone, of memory that collective calls use where it lies, at the
        speed of windows. Not collective. Its content is undefined. Given back with the last array
        that uses it."""
        dtype = _dtypes.memory_dtype("alloc", dtype)
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        size = dtype.itemsize
        for length in shape:
            if length < 0:
                raise argument_error(f"alloc: shape is {shape}; lengths are 0 or more")
            size *= int(length)
        if size >= 1 << 63:
            raise argument_error(f"alloc: shape {shape} of {dtype} is {size} bytes")
        with self._blocks.turn:
            self.handle  # StateError once it is destroyed
            block = Block(self._blocks, max(size, 1))
        return as_bytes(block, block.address, size).view(dtype).reshape(shape)

    def split(self, color: int, key: int = 0) -> Optional["Comm"]:
        """Splits into communicators of the ranks with the same colour, ordered by (key, rank); None
        for a rank with a colour below 0. Collective."""
        part = ctypes.c_void_p()
        with self._alone():
            check(lib().tern_comm_split(self.handle, color, key, ctypes.byref(part)))
        if part.value is None:
            return None
        made = Comm(part.value, self)
        self._parts.add(made)
        return made

    def health(self) -> None:
        """Raises why the communicator has failed; returns when it works."""
        with self._blocks.turn:  # nobody destroys it meanwhile
            check(lib().tern_comm_health(self.handle))

    def abort(self, sentence: str = "") -> None:
        """Ends the communicator for all of its ranks: every call on it, also those under way in other
        threads, raises AbortedError with this rank and the sentence. Any thread. What was split
        from it goes on."""
        if not isinstance(sentence, str):
            raise argument_error(f"abort: sentence is of type {type(sentence).__name__}; it is a str")
        with self._blocks.turn:  # nobody destroys it meanwhile
            check(lib().tern_comm_abort(self.handle, sentence_bytes(sentence)))

    @property
    def destroyed(self) -> bool:
        """Whether destroy has been called, or the Session has ended."""
        return self._handle is None

    def destroy(self) -> None:
        """Leaves the communicator. Waits for nobody, so peers' later calls fail with LeftError.

        Communicators split from it are destroyed and its windows closed with it; arrays in windows
        and of alloc stay good, as memory of this process. Requests that run must end before
        (StateError). May be called again.
        """
        if self._handle is None:
            return
        with self._alone():
            if self._handle is None:  # by another thread, meanwhile
                return
            for user in list(self._users):
                user.close()
            for part in list(self._parts):
                part.destroy()
            for request in list(self._requests):
                self._end_request(request)
            for memory in list(self._windows):
                memory.release()
            blocks = self._blocks
            with blocks.turn:
                end = lib().tern_comm_release if blocks.count else lib().tern_comm_destroy
                check(end(self._handle))
                self._handle = blocks.comm_handle = None
            self._entries.clear()
            _open.discard(self)
            if self._parent is not None:
                self._parent._parts.discard(self)

    @staticmethod
    def _end_request(request: Any) -> None:
        """Frees what is not under way: persistent ones, and those that failed with all calls."""
        number = ctypes.byref(request._number)
        if request._running:
            lib().tern_request_test(number)
        if request.persistent and lib().tern_request_free(number) == 0:
            request._running = False

    def __enter__(self) -> "Comm":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        # After an error the others learn that this rank failed when its process ends, and how.
        if kind is None:
            self.destroy()

    def __repr__(self) -> str:
        state = "" if self._handle is not None else ", destroyed"
        return f"<tern.Comm rank {self.rank} of {self.size}{state}>"


def init(timeout: Optional[float] = None) -> Comm:
    """Joins the job that `tern run` started this process in; a process that nothing launched is a
    job of one rank. timeout: seconds, the deadline of every wait that is not given its own, and of
    the start; math.inf: none; None: TERN_TIMEOUT of the environment, else 60."""
    return _join(lambda options, comm: lib().tern_init(options, comm), timeout)


def init_at(rank: int, nranks: int, path: str, timeout: Optional[float] = None) -> Comm:
    """The same for processes that anything else started: all call it with the same nranks and path,
    of which no file exists, and each with a rank of its own, 0..nranks-1."""
    name = path_bytes("init_at: path", path)
    return _join(lambda options, comm: lib().tern_init_at(rank, nranks, name, options, comm), timeout)


def _join(call: Any, timeout: Optional[float]) -> Comm:
    """Joins on a thread of its own when this is the main one, which Ctrl-C can then interrupt."""
    options = _Options(deadline_ns(timeout))
    handle = ctypes.c_void_p()
    errors = []
    wanted = [True]

    def join() -> None:
        try:
            check(call(ctypes.byref(options), ctypes.byref(handle)))
        except BaseException as error:
            errors.append(error)
        if not wanted[0] and handle.value is not None:
            lib().tern_comm_destroy(handle)

    if threading.current_thread() is not threading.main_thread():
        join()
    else:
        thread = threading.Thread(target=join, name="tern.init", daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.1)
        except BaseException:
            wanted[0] = False  # if it comes about later, nobody uses it
            raise
    if errors:
        raise errors[0]
    return Comm(handle.value)


def _leave_all() -> None:
    """At the end of a program that has not failed: leaves what it has not left itself."""
    if getattr(sys, "last_value", None) is not None:
        return
    for comm in [one for one in list(_open) if one._parent is None]:
        if comm._handle is not None and comm._process == os.getpid():
            with contextlib.suppress(Exception):
                comm.destroy()


atexit.register(_leave_all)
