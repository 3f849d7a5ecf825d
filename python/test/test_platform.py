# SPDX-License-Identifier: Apache-2.0
"""The comm_* functions and the device context."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import tern
from tern import platform


def test_the_layout_of_the_context():
    assert ctypes.sizeof(tern.Context) == 1056
    offsets = {name: getattr(tern.Context, name).offset for name, _ in tern.Context._fields_}
    assert offsets == {"workSpace": 0, "workSpaceSize": 8, "rankId": 16, "rankNum": 20,
                       "winSize": 24, "windowsIn": 32, "windowsOut": 544}


def at(address, count):
    data = (ctypes.c_int32 * count).from_address(address)
    return np.frombuffer(data, np.int32)


def all_five(comm, path):
    rank, nranks = comm.rank, comm.size
    handle = platform.comm_init(rank, nranks, path)
    with pytest.raises(platform.PlatformError, match="comm_barrier"):
        platform.comm_barrier(handle)  # there is no window yet
    device_ctx = platform.comm_alloc_windows(handle, 4096)
    context = platform.comm_context(device_ctx)
    base = platform.comm_get_local_window_base(handle)
    assert (context.rankId, context.rankNum) == (rank, nranks)
    assert context.winSize == platform.comm_get_window_size(handle) >= 4096
    assert context.windowsIn[rank] == base
    at(base + 256, 4)[:] = rank + 1
    platform.comm_barrier(handle)
    for peer in range(nranks):
        assert (at(context.remote(base + 256, peer), 4) == peer + 1).all()
    with pytest.raises(ValueError, match="peer is"):
        context.remote(base, nranks)
    with pytest.raises(ValueError, match="not in the own window"):
        context.remote(base - 1, 0)
    platform.comm_barrier(handle)
    platform.comm_destroy(handle)


@pytest.mark.parametrize("nranks", (1, 3))
def test_the_five_functions(on_ranks, tmp_path, nranks):
    on_ranks(nranks, all_five, str(tmp_path / "rootinfo"))


def test_wrong_arguments(tmp_path):
    with pytest.raises(platform.PlatformError, match="nranks|ranks"):
        tern.comm_init(0, 65, str(tmp_path / "rootinfo"))
    with pytest.raises(tern.Error):
        tern.comm_alloc_windows(None, 64)
