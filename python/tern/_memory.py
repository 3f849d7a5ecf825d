# SPDX-License-Identifier: Apache-2.0
"""Memory of the library as arrays that can never point to nothing.

An array's `base` leads to the object here that stands for the memory; that goes when the last array
has gone. A window that is closed, or whose communicator is destroyed, before its arrays: tern lets
go of it, and the memory stays mapped for as long as there are arrays.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any, Optional, Set

import numpy as np

from . import _errors
from ._library import lib
from .context import Context


class _View:
    """What NumPy makes an array of bytes from: its `base`, which keeps the owner."""

    def __init__(self, owner: Any, address: int, size_bytes: int) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (address, False),
            "shape": (size_bytes,),
            "typestr": "|u1",
            "version": 3,
        }


def as_bytes(owner: Any, address: int, size_bytes: int) -> np.ndarray:
    """An array of uint8 over memory that lives at least as long as `owner`."""
    if size_bytes == 0:
        return np.empty(0, np.uint8)
    return np.asarray(_View(owner, address, size_bytes))


operating: Set[int] = set()  # threads that are in an operation of the caller (keep_function)


def refuse_in_operation() -> None:
    """A wait in an operation would go on with the very call that waits for the operation."""
    if operating and threading.get_ident() in operating:
        raise _errors.make(_errors.status_number("TERN_ERR_STATE"),
                           "an operation of a reduction must not call tern")


def closed_error() -> _errors.Error:
    return _errors.make(_errors.status_number("TERN_ERR_STATE"),
                        "the window is closed, or its communicator is destroyed")


class WindowMemory:
    """The memory of a window, of all ranks: mapped for as long as this object lives."""

    def __init__(self, handle: int, ranks: int) -> None:
        self.handle: Optional[int] = handle  # None: tern has let go of it
        self.size = lib().tern_window_size(handle)
        # Of rank 0's part, which may be on another machine: then nothing can be read there.
        self.address = Context.from_address(lib().tern_window_context(handle)).windowsIn[0]
        self.total = self.size * ranks
        self.users: list = []  # one item for each call of any thread that uses the handle
        self._library = lib()
        self._unmap = _munmap()

    def address_of(self, rank: int) -> int:
        return self.address + rank * self.size

    def __enter__(self) -> int:
        """The handle, which nobody releases before __exit__."""
        refuse_in_operation()
        self.users.append(None)
        if self.handle is None:
            self.users.pop()
            raise closed_error()
        return self.handle

    def __exit__(self, *_: Any) -> None:
        self.users.pop()

    def release(self) -> None:
        """Lets tern go of the window: no call takes it any more, and the memory stays. StateError
        while a call uses it."""
        handle, self.handle = self.handle, None
        if handle is not None:
            if self.users:  # none comes from now on
                self.handle = handle
                raise _errors.make(_errors.status_number("TERN_ERR_STATE"),
                                   "another thread is in a call of a window, which cannot be closed "
                                   "before that ends")
            self._library.tern_window_release(handle)

    def __del__(self) -> None:
        if getattr(self, "_unmap", None) is not None:
            self.release()
            self._unmap(self.address, self.total)


class Use:
    """Keeps a window open until its end; StateError when it is closed already."""

    memory: Optional[WindowMemory] = None

    def __init__(self, memory: WindowMemory) -> None:
        memory.__enter__()
        self.memory = memory

    def end(self) -> None:
        memory, self.memory = self.memory, None
        if memory is not None:
            memory.__exit__()

    __del__ = end


def end_uses(among: list) -> None:
    """Ends the uses in a list that has other things, too, and takes them out."""
    for one in among:
        if isinstance(one, Use):
            one.end()
    among[:] = [one for one in among if not isinstance(one, Use)]


class Blocks:
    """The blocks of tern_alloc of one communicator: what ends the last array of one, on any thread
    and at any moment, and what ends the communicator take turns."""

    def __init__(self, comm_handle: int) -> None:
        self.comm_handle: Optional[int] = comm_handle  # None: it is gone, and their memory stays
        self.count = 0
        self.turn = threading.RLock()  # a collector may end a block within a call of the same thread
        self._process = os.getpid()
        self._free = lib().tern_free

    def alloc(self, size_bytes: int) -> int:
        """The address of a new block."""
        address = ctypes.c_void_p()
        with self.turn:
            self.count += 1  # first: what interrupts the call may end the communicator
            status = lib().tern_alloc(self.comm_handle, size_bytes, ctypes.byref(address))
            if status < 0:
                self.count -= 1
        _errors.check(status)
        return address.value

    def free(self, address: int) -> None:
        if os.getpid() != self._process:
            return  # a child of fork, in which nobody may be left to end the turn
        with self.turn:
            if self.comm_handle is not None:
                self._free(address)
                self.count -= 1


class Block:
    """A block of tern_alloc; given back with the last array."""

    def __init__(self, blocks: Blocks, size_bytes: int) -> None:
        self._blocks = blocks
        self.address = 0
        self.address = blocks.alloc(size_bytes)

    def __del__(self) -> None:
        if self.address:
            self._blocks.free(self.address)


def _munmap():
    function = ctypes.CDLL(None, use_errno=True).munmap
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    function.restype = ctypes.c_int
    return function
