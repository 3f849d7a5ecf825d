# SPDX-License-Identifier: Apache-2.0
"""Text that the library prints: into a FILE in memory, or memory that is freed."""

from __future__ import annotations

import ctypes
from typing import Callable

from . import _errors

_libc = None


def _c():
    global _libc
    if _libc is None:
        libc = ctypes.CDLL(None)
        libc.open_memstream.restype = ctypes.c_void_p
        libc.open_memstream.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        libc.fclose.argtypes = [ctypes.c_void_p]
        libc.free.argtypes = [ctypes.c_void_p]
        libc.free.restype = None
        _libc = libc
    return _libc


def taken(address: ctypes.c_void_p, length: int) -> str:
    """The text at an address that malloc gave, which is then free."""
    text = ctypes.string_at(address, length).decode()
    _c().free(address)
    return text


def printed(call: Callable[[int], int]) -> str:
    """What a function prints into the FILE that it is given."""
    address, length = ctypes.c_void_p(), ctypes.c_size_t()
    file = _c().open_memstream(ctypes.byref(address), ctypes.byref(length))
    if not file:
        raise MemoryError("no memory for a text")
    try:
        _errors.check(call(file))
    finally:
        _c().fclose(file)
        text = taken(address, length.value)
    return text
