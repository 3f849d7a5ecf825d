# SPDX-License-Identifier: Apache-2.0
"""The device context: what kernels see of a window (include/tern/context.h)."""

from __future__ import annotations

import ctypes

RANKS_MAX = 64


class Context(ctypes.Structure):
    """1056 bytes. Addresses are those of this process and mean nothing in another one. A peer's copy
    of a local object is at windowsIn[peer] + (local - windowsIn[rankId])."""

    _fields_ = [
        ("workSpace", ctypes.c_uint64),
        ("workSpaceSize", ctypes.c_uint64),
        ("rankId", ctypes.c_uint32),
        ("rankNum", ctypes.c_uint32),
        ("winSize", ctypes.c_uint64),
        ("windowsIn", ctypes.c_uint64 * RANKS_MAX),
        ("windowsOut", ctypes.c_uint64 * RANKS_MAX),
    ]

    def remote(self, local: int, peer: int) -> int:
        """The address at which rank `peer` has what `local` is the address of in the own window."""
        if not 0 <= peer < self.rankNum:
            raise ValueError(f"peer is {peer}; the window has ranks 0..{self.rankNum - 1}")
        offset = local - self.windowsIn[self.rankId]
        if not 0 <= offset < self.winSize:
            raise ValueError(f"0x{local:x} is not in the own window, which has {self.winSize} "
                             f"bytes from 0x{self.windowsIn[self.rankId]:x} on")
        return self.windowsIn[peer] + offset


assert ctypes.sizeof(Context) == 1056
