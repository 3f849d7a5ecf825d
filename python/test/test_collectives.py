# SPDX-License-Identifier: Apache-2.0
"""Every kind on every dtype, in place and not, in windows, in memory of tern_alloc and in ordinary
memory, against NumPy: sums in rank order, f16 in f32, so the bits are the same."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
from conftest import RANKS

import tern
from tern import _dtypes

MOVED = ("bool", "c64", "c128", "f8e4m3", "f8e5m2")
WORDS = [word for word in _dtypes.words() if word != "bf16" and word not in MOVED]
COUNT = 5
PLACES = ("window", "alloc", "ordinary")


class Places:
    """Arrays that lie where a test wants them."""

    def __init__(self, comm):
        self.comm = comm
        self.window = comm.window(1 << 16)

    def __call__(self, place, dtype, length, at):
        if place == "window":
            return self.window.array(dtype, length, offset=at * 8192)
        if place == "alloc":
            return self.comm.alloc(length, dtype)
        return np.empty(length, dtype)


def inputs(comm, dtype, length):
    """The input of every rank, which every rank can compute."""
    rows = (np.arange(comm.size)[:, None] * 7 + np.arange(length) * 3) % 11 + 1
    return rows.astype(dtype)


def total(rows):
    """The sum in rank order, of f16 in f32."""
    wide = np.float32 if rows.dtype == np.float16 else rows.dtype
    result = np.zeros(rows.shape[1:], wide)
    for row in rows:
        result = (result + row.astype(wide)).astype(wide)
    return result.astype(rows.dtype)


def shares(comm, row):
    return row.reshape(comm.size, -1)


def expectations(comm, dtype):
    """kind -> (input of this rank, output; offset of the own share where it is done in place)."""
    n, rank, root = comm.size, comm.rank, comm.size - 1
    one, every = inputs(comm, dtype, COUNT), inputs(comm, dtype, n * COUNT)
    own = slice(rank * COUNT, (rank + 1) * COUNT)
    is_root = rank == root
    gathered = one.reshape(-1)
    return {
        "all_reduce": (one[rank], total(one), None),
        "reduce_scatter": (every[rank], total(every)[own], "out"),
        "all_gather": (one[rank], gathered, "in"),
        "reduce": (one[rank], total(one) if is_root else None, None),
        "gather": (one[rank], gathered if is_root else None, "in"),
        "scatter": (every[root] if is_root else None, every[root][own], "out"),
        "all_to_all": (every[rank],
                       np.concatenate([shares(comm, row)[rank] for row in every]), None),
    }


def buffers(comm, places, place, kind, dtype, wanted, in_place):
    x_value, out_value, share = wanted
    own = slice(comm.rank * COUNT, (comm.rank + 1) * COUNT)
    x = None if x_value is None else places(place, dtype, len(x_value), 0)
    out = None if out_value is None else places(place, dtype, len(out_value), 1)
    if in_place and x is not None and out is not None:
        if share == "in":
            x = out[own]
        elif share == "out":
            out = x[own]
        else:
            out = x
    if x is not None:
        x[:] = x_value
    return x, out


def check_kind(comm, places, place, kind, dtype, in_place):
    wanted = expectations(comm, dtype)[kind]
    rooted = {"root": comm.size - 1} if kind in ("reduce", "gather", "scatter") else {}
    for _ in range(2):  # the second goes the short path
        x, out = buffers(comm, places, place, kind, dtype, wanted, in_place)
        got = getattr(comm, kind)(x, out, **rooted)
        assert got is out, kind
        if out is not None:
            assert out.tobytes() == wanted[1].tobytes(), (kind, dtype, place, in_place)


def every_kind(comm):
    places = Places(comm)
    for dtype in map(_dtypes.numpy_dtype, WORDS):
        for place in PLACES:
            for kind in expectations(comm, np.float32):
                for in_place in (False, True):
                    check_kind(comm, places, place, kind, dtype, in_place)
            data = places(place, dtype, COUNT, 2)
            data[:] = comm.rank
            assert comm.broadcast(data, root=comm.size // 2) is data
            assert (data == comm.size // 2).all()
    comm.barrier()


@pytest.mark.parametrize("nranks", RANKS)
def test_every_kind_dtype_place_and_in_place(on_ranks, nranks):
    on_ranks(nranks, every_kind)


ROUNDS = 3


def every_kind_without_blocking(comm):
    """All kinds are under way at once; prepared ones run again and again."""
    n, rank, root = comm.size, comm.rank, comm.size - 1
    places = Places(comm)
    for how in (comm.start, comm.prepare):
        under_way = []
        for kind, (x, wanted, _) in expectations(comm, np.float32).items():
            out = None if wanted is None else np.zeros(len(wanted), np.float32)
            rooted = {"root": root} if kind in ("reduce", "gather", "scatter") else {}
            under_way.append((getattr(how, kind)(x, out, **rooted), x, out, wanted))
        data = places("window", np.float32, COUNT, 0)
        data[:] = rank
        under_way.append((how.broadcast(data, root), None, data, np.full(COUNT, root, np.float32)))
        counts, row = [q % 3 for q in range(n)], np.full(rank % 3, rank, np.float32)
        packed = np.concatenate([np.full(q % 3, q, np.float32) for q in range(n)])
        own = np.zeros(rank % 3, np.float32)
        mine, on_root = (counts, packed) if rank == root else (None, None), rank == root
        for request, x, out, wanted in (
                (how.all_gather_v(row, counts, got := np.zeros_like(packed)), row, got, packed),
                (how.gather_v(row, mine[0], got := np.zeros_like(packed) if on_root else None,
                              root=root), row, got, packed if on_root else None),
                (how.scatter_v(mine[1], mine[0], got := own.copy(), root=root), mine[1], got, row),
                (how.reduce_scatter_v(packed, counts, got := own.copy()), packed, got, n * row)):
            under_way.append((request, x, out, wanted))
        under_way.append((how.barrier(), None, None, None))
        for turn in range(1 if how is comm.start else ROUNDS):
            for request, x, out, _ in under_way:
                if how is comm.prepare:
                    if out is not None and x is not None:
                        out[:] = -1
                    request.start()
            for request, x, out, wanted in reversed(under_way) if turn % 2 else under_way:
                assert request.wait() is out
                assert wanted is None or out.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("nranks", RANKS)
def test_every_kind_without_blocking(on_ranks, nranks):
    on_ranks(nranks, every_kind_without_blocking)


def made_outputs(comm):
    n = comm.size
    x = np.full((2, 3), comm.rank, np.int32)
    assert comm.all_reduce(x).shape == (2, 3)
    assert comm.all_gather(x).shape == (2 * n, 3)
    assert (comm.all_gather(x)[2 * (n - 1)] == n - 1).all()
    every = np.arange(n * 4, dtype=np.int64).reshape(2 * n, 2)
    assert (comm.reduce_scatter(every) == n * every[2 * comm.rank :][:2]).all()
    assert (comm.scatter(every if comm.rank == 0 else None, np.empty((2, 2), np.int64))
            == every[2 * comm.rank :][:2]).all()
    got = comm.gather(x)
    assert (got is None) == (comm.rank != 0)
    got = comm.reduce(x, op="max")
    assert got is None if comm.rank != 0 else got.max() == n - 1
    assert comm.all_to_all(every).shape == (2 * n, 2)
    assert comm.all_gather(np.array(comm.rank)).tolist() == list(range(n))


@pytest.mark.parametrize("nranks", (1, 3))
def test_outputs_that_are_made_have_the_shape_that_is_documented(on_ranks, nranks):
    on_ranks(nranks, made_outputs)


def with_counts(comm, dtype):
    n, rank, root = comm.size, comm.rank, comm.size - 1
    counts = [(3 * r + 1) % 5 for r in range(n)]
    offsets = [sum(counts[:r]) + r for r in range(n)]
    rows = [np.arange(counts[r]).astype(dtype) + r for r in range(n)]
    packed = np.concatenate(rows)
    x = np.ascontiguousarray(rows[rank])
    assert (comm.all_gather_v(x, counts) == packed).all()
    spread = np.zeros(sum(counts) + n, dtype)
    comm.all_gather_v(x, counts, spread, offsets)
    for r in range(n):
        assert (spread[offsets[r] :][: counts[r]] == rows[r]).all()
    got = comm.gather_v(x, counts if rank == root else None, root=root)
    assert got is None if rank != root else (got == packed).all()
    out = np.zeros(counts[rank], dtype)
    comm.scatter_v(packed if rank == root else None, counts if rank == root else None, out,
                   root=root)
    assert (out == rows[rank]).all()
    assert (comm.reduce_scatter_v(packed, counts)
            == total(np.stack([packed] * n))[sum(counts[:rank]) :][: counts[rank]]).all()
    at = offsets if rank == root else None
    got = comm.gather_v(x, counts if rank == root else None, spread, at, root=root)
    assert got is None if rank != root else (got[offsets[-1] :][: counts[-1]] == rows[-1]).all()
    out[:] = 0
    comm.scatter_v(spread if rank == root else None, counts if rank == root else None, out, at,
                   root=root)
    assert (out == rows[rank]).all()
    to = [(rank + q) % 3 for q in range(n)]
    sent = [np.full(count, 10 * rank + q).astype(dtype) for q, count in enumerate(to)]
    got = comm.all_to_all_v(np.concatenate(sent), to, to)
    wanted = [np.full((q + rank) % 3, 10 * q + rank).astype(dtype) for q in range(n)]
    assert (got == np.concatenate(wanted)).all()
    apart = [5 * q for q in range(n)]
    x, out = np.zeros((2, 5 * n), dtype)
    for q, one in enumerate(sent):
        x[apart[q] :][: to[q]] = one
    comm.all_to_all_v(x, to, to, out, apart, apart)
    for q, one in enumerate(wanted):
        assert (out[apart[q] :][: len(one)] == one).all()


def nothing_to_move(comm):
    nothing = np.zeros(0)
    assert comm.all_reduce(nothing).size == comm.all_gather(nothing).size == 0
    assert comm.all_gather_v(nothing, [0] * comm.size).size == 0
    comm.broadcast(nothing)
    return comm.all_reduce(np.array(2.0)).shape


def test_arrays_without_elements_and_without_axes(on_ranks):
    assert on_ranks(3, nothing_to_move) == [()] * 3


def every_count(comm):
    for word in WORDS:
        with_counts(comm, _dtypes.numpy_dtype(word))


@pytest.mark.parametrize("nranks", RANKS)
def test_kinds_with_counts(on_ranks, nranks):
    on_ranks(nranks, every_count)


def operations(comm):
    n = comm.size
    values = [np.array([r + 2, 5 - r], np.int32) for r in range(n)]
    reference = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum,
                 "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    for op, function in reference.items():
        assert (comm.all_reduce(values[comm.rank], op=op) == function.reduce(values)).all(), op
    mean = comm.all_reduce(values[comm.rank].astype(np.float64), op="avg")
    assert np.allclose(mean, np.mean(values, axis=0))
    pair = np.dtype([("value", np.float32), ("index", np.int32)], align=True)
    x = np.array([(abs(comm.rank - n // 2), comm.rank)], pair)
    assert comm.all_reduce(x, op="minloc")["index"][0] == n // 2
    wide = np.dtype([("value", np.float64), ("index", np.int32)], align=True)
    x = np.array([(comm.rank, comm.rank)], wide)
    assert comm.all_reduce(x, op="maxloc")["index"][0] == n - 1

    def subtract(accumulator, source):
        accumulator -= source

    x = np.full(3, comm.rank + 1.0)
    assert (comm.all_reduce(x, op=subtract) == 1 - sum(range(2, n + 1))).all()


@pytest.mark.parametrize("nranks", (1, 2, 5))
def test_operations(on_ranks, nranks):
    on_ranks(nranks, operations)


def own_operation_raises(comm):
    def bad(accumulator, source):
        raise KeyError("in the operation")

    with pytest.raises(KeyError, match="in the operation"):
        comm.all_reduce(np.ones(2), op=bad)
    return comm.all_reduce(np.ones(2))[0]


def test_what_an_own_operation_raises_is_raised(on_ranks):
    assert on_ranks(2, own_operation_raises) == [2, 2]


def interrupted_before_its_operation(comm):
    def add(accumulator, source):
        accumulator += source

    def trace(frame, event, _):  # raises where a handler of a signal may: before the first line
        if event == "call" and frame.f_code.co_name == "reduce":
            raise KeyError("at the beginning")

    sys.settrace(trace)
    try:
        with pytest.raises(KeyError, match="at the beginning"):
            comm.all_reduce(np.ones(2), op=add)
    finally:
        sys.settrace(None)
    return comm.all_reduce(np.ones(2), op=add)[0]


def test_what_a_handler_raises_in_an_operation_is_raised(on_ranks):
    assert on_ranks(2, interrupted_before_its_operation) == [2, 2]


class Grumbles:
    def __del__(self):
        raise ValueError("of somebody else")


def tells_others_of_theirs(comm):
    told = []
    sys.unraisablehook = lambda what: told.append(str(what.exc_value))
    interrupted_before_its_operation(comm)
    mine = sys.unraisablehook
    sys.unraisablehook = lambda what: mine(what)  # as who looks at all of them
    interrupted_before_its_operation(comm)
    Grumbles()
    return told


def test_what_is_not_of_an_operation_is_told_as_before(on_ranks):
    assert on_ranks(2, tells_others_of_theirs) == [["of somebody else"]] * 2


def bits_of_bf16(comm):
    x = (np.array([1.5, -2.0], np.float32).view(np.uint32) >> 16).astype(np.uint16)
    out = comm.all_reduce(x, dtype="bf16")
    if _dtypes.bfloat16() is not None:
        assert (comm.all_reduce(x.view(_dtypes.bfloat16())).view(np.uint16) == out).all()
    return (out.astype(np.uint32) << 16).view(np.float32).tolist()


def test_bf16_in_uint16(on_ranks):
    assert on_ranks(2, bits_of_bf16) == [[3.0, -4.0]] * 2


def dtype_of_a_package(comm):
    """A package that has the dtype: here one of two bytes that NumPy does not know either."""
    package = types.ModuleType("ml_dtypes")
    package.bfloat16 = np.dtype("V2")
    sys.modules["ml_dtypes"] = package
    for cached in (_dtypes._ml_dtype, _dtypes._numbers):
        cached.cache_clear()
    assert _dtypes.numpy_dtype("bf16") == np.dtype("V2")
    x = np.array([0x3FC0], np.uint16).view("V2")  # 1.5
    out = comm.all_reduce(x)
    assert out.dtype == x.dtype
    return int(out.view(np.uint16)[0])


def test_bf16_of_a_package(on_ranks):
    assert on_ranks(2, dtype_of_a_package) == [0x4040] * 2  # 3.0


def messages(comm):
    n, rank = comm.size, comm.rank
    right, left = (rank + 1) % n, (rank - 1) % n
    out = np.empty(300000, np.int32)
    request = comm.start.recv(out, left)
    comm.send(np.full(300000, rank, np.int32), right)
    assert request.wait() is out and (out == left).all()
    if rank == 0 and n > 1:
        comm.send(np.arange(4.0), n - 1)
    if rank == n - 1 and n > 1:
        assert comm.recv(np.empty(4), 0).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("nranks", (1, 2, 5))
def test_messages(on_ranks, nranks):
    on_ranks(nranks, messages)


def tagged(comm):
    n, rank = comm.size, comm.rank
    outs = [np.zeros(rank + 3, np.complex64) for _ in range(2)]
    requests = [comm.start.recv(outs[tag], (rank - 1) % n, tag=tag, at_most=True) for tag in (0, 1)]
    for tag in (1, 0):
        comm.send(np.full(2, rank + tag * 1j, np.complex64), (rank + 1) % n, tag=tag)
    for tag in (0, 1):
        out, source, count = requests[tag].wait()
        assert out is outs[tag] and source == (rank - 1) % n and count == 2
        assert (out[:2] == source + tag * 1j).all() and not out[2:].any()
    comm.barrier()
    if rank != 0:
        comm.send(np.arange(rank), 0, tag=9)
        return []
    got = [comm.recv(np.empty(n, int), -1, tag=9) for _ in range(n - 1)]
    assert all(entry.count == entry.source for entry in got)
    with pytest.raises(tern.ArgumentError, match="tag is -1"):
        comm.send(np.empty(1), 0, tag=-1)
    return sorted(entry.source for entry in got)


def test_tags_and_any_rank(on_ranks):
    assert on_ranks(3, tagged)[0] == [1, 2]


def moved(comm):
    for dtype in ("bool", "complex64", "complex128"):
        x = (np.arange(6) % 3 - comm.rank).astype(dtype)
        rows = [(np.arange(6) % 3 - rank).astype(dtype) for rank in range(comm.size)]
        assert (comm.all_gather(x).reshape(-1, 6) == rows).all()
        with pytest.raises(tern.ArgumentError, match="does not exist"):
            comm.all_reduce(x)
    bits = np.full(3, comm.rank, np.uint8)
    assert comm.all_gather(bits, dtype="f8e4m3").tolist() == [0] * 3 + [1] * 3 + [2] * 3
    with pytest.raises(tern.MismatchError, match="c64"):
        comm.broadcast(np.zeros(2, "complex64" if comm.rank == 0 else "float64"), 0)
        comm.barrier()


def test_dtypes_that_are_only_moved(on_ranks):
    on_ranks(3, moved)


def lists(comm):
    n, rank = comm.size, comm.rank
    x = np.arange(4.0) + rank
    outs = [np.zeros(4) for _ in range(n)]
    assert comm.all_gather(x, outs) is outs
    assert all((outs[r] == np.arange(4.0) + r).all() for r in range(n))
    ins = [np.full(3, 10 * rank + r, np.int32) for r in range(n)]
    assert (comm.all_to_all(ins) == [[10 * r + rank] * 3 for r in range(n)]).all()
    assert (comm.reduce_scatter(ins) == 10 * sum(range(n)) + n * rank).all()
    assert comm.scatter(ins if rank == 1 else None, np.empty(3, np.int32), 1)[0] == 10 + rank
    gathered = [np.zeros(2) for _ in range(n)] if rank == 0 else None
    comm.gather(np.full(2, rank, float), gathered)
    assert rank != 0 or [int(array[1]) for array in gathered] == list(range(n))
    counts = list(range(1, n + 1))
    uneven = [np.zeros(count) for count in counts]
    comm.all_gather_v(np.full(rank + 1, rank + 0.5), counts, uneven)
    assert all((array == r + 0.5).all() for r, array in enumerate(uneven))
    comm.all_to_all(ins, ins)
    assert [int(array[2]) for array in ins] == [10 * r + rank for r in range(n)]
    with pytest.raises(tern.ArgumentError, match="one array for each"):
        comm.all_gather(x, outs[1:])
    with pytest.raises(tern.ArgumentError, match="lists are for shares"):
        comm.all_reduce([x] * n)


def test_lists(on_ranks):
    on_ranks(3, lists)


def any_algorithm(comm):
    x = np.arange(64, dtype=np.float64)
    assert (comm.all_reduce(x, algorithm="ring", any_order=True) == comm.size * x).all()
    assert (comm.all_reduce(x, any_order=True) == comm.size * x).all()
    assert (comm.all_gather(x, algorithm="ring").reshape(-1, 64) == x).all()
    with pytest.raises(tern.ArgumentError, match="no-such"):
        comm.all_reduce(x, algorithm="no-such")


def test_algorithms_by_name(on_ranks):
    on_ranks(3, any_algorithm)
