# SPDX-License-Identifier: Apache-2.0
"""The comm_* platform API (include/faces/comm.h) at its own names: a communicator, one window per
rank, a barrier, and the device context that kernels use.

Arguments as in C, but for results, which are returned; what returns -1 or NULL there raises
PlatformError with tern's sentence here.
"""

from __future__ import annotations

import ctypes
import os
from typing import Dict, Set, Union

from ._errors import Error, last_sentence, path_bytes, status_number
from ._library import lib
from .context import Context

CommContext = Context

__all__ = [
    "CommContext", "PlatformError", "comm_alloc_windows", "comm_barrier", "comm_context",
    "comm_destroy", "comm_get_local_window_base", "comm_get_window_size", "comm_init",
]


_handles: Set[int] = set()  # all that there were: the library knows which it has destroyed
_contexts: Dict[int, int] = {}  # of handles that were not destroyed


class PlatformError(Error):
    """A comm_* function returned -1, or NULL."""


PlatformError.__module__ = "tern.platform"


def _check(result: int) -> None:
    if result != 0:
        raise PlatformError(status_number("TERN_ERR_ARG"), last_sentence())


def _known(call: str, handle: int) -> int:
    """A handle of comm_init. Any other number would be followed as an address."""
    if not isinstance(handle, int) or handle not in _handles:
        raise PlatformError(status_number("TERN_ERR_ARG"), f"{call}: {handle!r} is no CommHandle")
    return handle


def comm_init(rank: int, nranks: int, rootinfo_path: Union[str, os.PathLike]) -> int:
    """Joins nranks processes at a path of which no file exists; returns the CommHandle."""
    path = path_bytes("comm_init: rootinfo_path", rootinfo_path)
    handle = lib().comm_init(rank, nranks, path)
    if not handle:
        raise PlatformError(status_number("TERN_ERR_ARG"), last_sentence())
    _handles.add(handle)
    return handle


def comm_alloc_windows(handle: int, win_size: int) -> int:
    """Collective. Makes one window of at least win_size bytes on every rank, once per handle; returns
    the address of the device context (comm_context), good until comm_destroy."""
    device_ctx = ctypes.c_uint64()
    _check(lib().comm_alloc_windows(_known("comm_alloc_windows", handle), win_size,
                                    ctypes.byref(device_ctx)))
    _contexts[handle] = device_ctx.value
    return device_ctx.value


def comm_context(device_ctx: int) -> Context:
    """The context at an address that comm_alloc_windows has returned. Not to be read after
    comm_destroy."""
    if device_ctx not in _contexts.values():
        raise PlatformError(status_number("TERN_ERR_ARG"),
                            f"comm_context: {device_ctx!r} is no address of a context")
    return Context.from_address(device_ctx)


def comm_get_local_window_base(handle: int) -> int:
    """The address of the own window."""
    base = ctypes.c_uint64()
    _check(lib().comm_get_local_window_base(_known("comm_get_local_window_base", handle),
                                            ctypes.byref(base)))
    return base.value


def comm_get_window_size(handle: int) -> int:
    """The bytes really allocated per rank."""
    size = ctypes.c_size_t()
    _check(lib().comm_get_window_size(_known("comm_get_window_size", handle),
                                      ctypes.byref(size)))
    return size.value


def comm_barrier(handle: int) -> None:
    """Returns when all ranks have entered it. An error before comm_alloc_windows."""
    _check(lib().comm_barrier(_known("comm_barrier", handle)))


def comm_destroy(handle: int) -> None:
    """Frees everything; waits for nobody. The handle must not be used again."""
    _check(lib().comm_destroy(_known("comm_destroy", handle)))
    _contexts.pop(handle, None)
