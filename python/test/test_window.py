# SPDX-License-Identifier: Apache-2.0
"""Windows: arrays without a copy, put, get and signals; and that an array never points to nothing,
whatever becomes of its window, its communicator or its process."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import weakref

import numpy as np
import pytest
from conftest import RANKS

import tern


def shared_memory(comm):
    window = comm.window(1000)
    n, rank = comm.size, comm.rank
    assert window.size == 4096 and window.ranks == n
    mine = window.array(np.int32, (2, 3), offset=64)
    assert not mine.any() and mine.flags.c_contiguous and mine.flags.writeable
    mine[:] = rank + 1
    comm.barrier()
    for peer in range(n):
        assert (window.array("i32", 6, offset=64, rank=peer) == peer + 1).all()
    context = window.context
    assert (context.rankId, context.rankNum, context.winSize) == (rank, n, 4096)
    assert ctypes.sizeof(context) == 1056 and list(context.windowsIn) == list(context.windowsOut)
    assert context.windowsIn[rank] + 64 == mine.ctypes.data
    for peer in range(n):
        there = window.array(np.int32, 6, offset=64, rank=peer).ctypes.data
        assert context.remote(mine.ctypes.data, peer) == there
    comm.barrier()
    assert window.array(np.float64).shape == (512,)


@pytest.mark.parametrize("nranks", RANKS)
def test_arrays_are_the_memory_of_all_ranks(on_ranks, nranks):
    on_ranks(nranks, shared_memory)


def transfers(comm):
    right = (comm.rank + 1) % comm.size
    left = (comm.rank - 1) % comm.size
    with comm.window(4096) as window:
        window.put(right, np.arange(10.0) + comm.rank, offset=128)
        window.notify(right, offset=0)
        window.wait(0, 1)
        assert (window.array(np.float64, 10, offset=128) == np.arange(10.0) + left).all()
        assert window.signal() == 1 and window.test(0, 1) and not window.test(0, 1, "!=")
        out = np.empty(10)
        assert window.get(comm.rank, out, offset=128) is out and out[9] == 9 + left
        # A column block of a matrix goes into every second row of 40 bytes, and back.
        comm.barrier()
        matrix = np.arange(60.0).reshape(6, 10)
        window.put(right, matrix[::2, 2:7], offset=1024, stride=80)
        comm.barrier()
        rows = window.array(np.float64, (3, 10), offset=1024)
        assert (rows[:, :5] == matrix[::2, 2:7]).all() and not rows[:, 5:].any()
        back = np.zeros((6, 10))
        window.get(comm.rank, back[::2, 2:7], offset=1024, stride=80)
        assert (back[::2, 2:7] == matrix[::2, 2:7]).all() and back.sum() == matrix[::2, 2:7].sum()
        comm.barrier()
        for peer in range(comm.size):
            window.put_add(peer, np.array([1, comm.rank], np.int64), offset=2048)
        comm.barrier()
        n = comm.size
        assert window.array(np.int64, 2, offset=2048).tolist() == [n, n * (n - 1) // 2]
        comm.barrier()


@pytest.mark.parametrize("nranks", (1, 2, 5))
def test_put_get_and_signals(on_ranks, nranks):
    on_ranks(nranks, transfers)


def beside(comm):
    right, n = (comm.rank + 1) % comm.size, 1 << 16
    window = comm.window(8 * n)
    with tern.Session() as session:
        first = session.put(window, right, np.full(n // 2, comm.rank, np.int64))
        second = session.put(window, right, np.full(8, 100 + comm.rank, np.int64), offset=4 * n)
        session.wait(second)
        assert session.test(first) and not session._kept
        window.notify(right, 8 * n - 8)
        window.wait(8 * n - 8, 1)
        left = (comm.rank - 1) % comm.size
        assert (window.array(np.int64, n // 2) == left).all()
        out = np.zeros(8, np.int64)
        session.get(window, comm.rank, out, offset=4 * n)
        session.wait()
        session.wait()
        assert (out == 100 + left).all()
        for call, text in [
            (lambda: session.put(window, 0, out, offset=8 * n), "reach beyond"),
            (lambda: session.put(window, 99, out), "rank is 99"),
            (lambda: session.get(window, 0, out[::2]), "not contiguous"),
            (lambda: session.wait(77), "77"),
        ]:
            with pytest.raises(tern.ArgumentError, match=text):
                call()
        comm.barrier()  # all have looked
        session.put(window, right, np.zeros(n // 2, np.int64))
    with pytest.raises(tern.StateError, match="closed"):
        session.put(window, 0, out)
    comm.barrier()


@pytest.mark.parametrize("nranks", (1, 3))
def test_transfers_beside_the_caller(on_ranks, nranks):
    on_ranks(nranks, beside)


def several_signals(comm):
    window, other = comm.window(64), comm.window(64)
    for peer in range(comm.size):
        window.notify(peer, 4, 5, op="set")
        other.notify(peer, 8)
    tern.wait_all_signals([(window, 4, 5, "=="), (other, 8, comm.size)])
    assert tern.wait_any_signal([(window, 0, 1), (other, 8, 1)]) == 1
    with pytest.raises(TimeoutError, match="signal"):
        window.wait(0, 1, timeout=0.01)
    with pytest.raises(tern.TimeoutError):
        tern.wait_any_signal([(window, 0, 1)], timeout=0)
    comm.health()
    comm.barrier()


def test_conditions_on_several_windows(on_ranks):
    on_ranks(3, several_signals)


def refused(comm):
    window = comm.window(4096)
    for call, text in [
        (lambda: window.array(np.float32, 1025), "is 4100 bytes; from offset 0 on the window has 4096"),
        (lambda: window.array(np.float32, 1, offset=5000), "the window has 4096 bytes"),
        (lambda: window.array(np.float32, 1, offset=2), "aligned to 4"),
        (lambda: window.array(np.float32, -1), "0 or more"),
        (lambda: window.array("f33"), "the dtypes are f32"),
        (lambda: window.array(rank=7), "ranks 0..0"),
        (lambda: window.put(0, np.zeros(5000)), "reach beyond the 4096 bytes"),
        (lambda: window.put(9, np.zeros(1)), "rank is 9"),
        (lambda: window.put(0, [1, 2]), "of type list"),
        (lambda: window.put(0, np.zeros((4, 4))[:, ::2]), "rows that are contiguous"),
        (lambda: window.notify(0, 2), "4-byte aligned|multiple of 4|aligned"),
        (lambda: window.notify(0, op="mul"), "one of add, set"),
        (lambda: window.wait(0, 1, cmp="=>"), "one of =="),
        (lambda: window.wait(0, 1, timeout=-1), "0 or more, or None"),
        (lambda: comm.window(0), "at least 1 byte"),
        (lambda: comm.window("big"), "number of bytes"),
        (lambda: comm.window(1 << 60), "cannot be had|bytes"),
        (lambda: comm.alloc((-1, 2)), "0 or more"),
    ]:
        with pytest.raises((tern.ArgumentError, tern.OutOfMemoryError), match=text):
            call()
    frozen = np.zeros(4)
    frozen.flags.writeable = False
    with pytest.raises(tern.ArgumentError, match="read-only"):
        window.get(0, frozen)
    window.close()
    window.close()
    with pytest.raises(tern.StateError, match="closed"):
        window.array()
    assert "closed" in repr(window)


def test_wrong_use_is_a_sentence(on_ranks):
    on_ranks(1, refused)


def lifetimes(comm):
    window = comm.window(1 << 16)
    memory = weakref.ref(window._memory)
    array = window.array(np.int64, 100)
    part = array[10:20].reshape(2, 5)
    array[:] = np.arange(100)
    del array, window
    gc.collect()
    assert memory() is not None and part.sum() == sum(range(10, 20))
    comm.all_reduce(part, part)  # still a window for tern
    del part
    gc.collect()
    assert memory() is None
    closed = comm.window(4096)
    kept = closed.array(np.int64, 8)
    closed.close()
    kept[:] = 3
    assert comm.all_reduce(kept, kept)[0] == 3 * comm.size  # ordinary memory now
    block = comm.alloc((4, 4), np.int32)
    open_window = comm.window(4096)
    left = open_window.array(np.int32, 8, rank=comm.size - 1)
    split = comm.split(comm.rank % 2)
    split_window = split.window(4096).array(np.int32, 8)
    block[:] = 5
    if comm.rank == comm.size - 1:
        left[:] = 6
    comm.barrier()
    comm.destroy()
    assert comm.destroyed and split.destroyed
    assert (block == 5).all() and (left[:4] == 6).all() and not split_window[:4].any()
    block[:], left[7], kept[:], split_window[7] = 1, comm.rank, 2, 3
    with pytest.raises(tern.StateError, match="closed, or its communicator is destroyed"):
        open_window.array()
    with pytest.raises(tern.StateError, match="destroyed"):
        comm.all_reduce(kept, kept)
    del left, kept, split_window, open_window
    gc.collect()
    assert (block == 1).all()


@pytest.mark.parametrize("nranks", (1, 2, 5))
def test_arrays_outlive_windows_and_communicators(on_ranks, nranks):
    on_ranks(nranks, lifetimes)


def mappings():
    with open("/proc/self/maps") as maps:
        return sum("tern-window" in line for line in maps)


def nothing_is_leaked(comm):
    comm.alloc(1 << 20)[:] = 1  # the heap has parts of its own, once it is used
    before = mappings()
    for _ in range(20):
        window = comm.window(4096)
        array = window.array()
        window.close()
        assert mappings() > before
        del array
        comm.window(4096).array()
        comm.alloc(1 << 20)[:] = 1
    gc.collect()
    assert mappings() == before
    del window
    comm.destroy()  # nothing of it is left, or this was refused


def test_memory_is_given_back(on_ranks):
    on_ranks(2, nothing_is_leaked)


def forked(comm):
    window = comm.window(4096)
    array, block = window.array(np.int32, 8), comm.alloc(8, np.int32)
    array[:] = block[:] = comm.rank + 1
    comm.barrier()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            assert (array == comm.rank + 1).all() and (block == array).all()
            with pytest.raises(tern.StateError):
                comm.all_reduce(array)
            del window
            comm.destroy()
            gc.collect()
            assert (array == comm.rank + 1).all()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    assert comm.all_reduce(array)[0] == sum(range(comm.size + 1))


def test_the_child_of_a_fork_reads_and_lets_go(on_ranks):
    on_ranks(3, forked)


def changed_between_calls(comm):
    """The short path is for the very same arrays only."""
    x, out = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    for _ in range(3):
        comm.all_reduce(x, out)
    x.dtype = np.float32  # the same object, other elements
    with pytest.raises(tern.ArgumentError, match="x has dtype float32, out int32"):
        comm.all_reduce(x, out)
    x.dtype = np.int32
    comm.all_reduce(x, out)
    out.dtype = np.float32
    with pytest.raises(tern.ArgumentError, match="x has dtype int32, out float32"):
        comm.all_reduce(x, out)
    out.dtype = np.int32
    comm.all_reduce(x, out)
    out.flags.writeable = False
    with pytest.raises(tern.ArgumentError, match="read-only"):
        comm.all_reduce(x, out)
    out.flags.writeable = True
    comm.all_reduce(x, out)
    for length in range(1, 300):  # objects at the same address, of other lengths
        x, out = np.full(length, 2, np.int64), np.zeros(length, np.int64)
        assert (comm.all_reduce(x, out) == 2 * comm.size).all()
    with pytest.raises(ValueError, match="resize"):  # NumPy's, for what has weak references
        out.resize(7000, refcheck=False)
    assert (comm.all_reduce(x, out) == 2 * comm.size).all()
    entries = [comm._entries.get(key) for key in comm._entries]
    assert len(entries) <= 256
    del x, out
    assert not comm._entries
    assert sys.getrefcount(comm) < 20


def test_arrays_that_change_between_calls(on_ranks):
    on_ranks(2, changed_between_calls)
