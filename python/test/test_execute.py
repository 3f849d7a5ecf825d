# SPDX-License-Identifier: Apache-2.0
"""Plans run on arrays: every kind, in windows and elsewhere, in place, often, with errors."""

from __future__ import annotations

import functools
import os
import signal
import threading

import numpy as np
import pytest

import tern
from tern.plan import Plan

launch = functools.partial(tern.launch, timeout=30)
KINDS = "all_reduce reduce_scatter all_gather broadcast reduce gather scatter all_to_all".split()


def data(rank, size, dtype=np.float32):
    return (np.arange(size) % 50 + 3 * rank).astype(dtype)


def expected(kind, rank, n, root, size):
    """What `out` holds on a rank; None where there is none. size: elements of x."""
    inputs = [data(r, size) for r in range(n)]
    if kind in ("all_reduce", "reduce", "reduce_scatter"):
        total = sum(inputs[1:], inputs[0].copy())
        if kind == "reduce_scatter":
            return np.split(total, n)[rank]
        return total if kind == "all_reduce" or rank == root else None
    if kind == "broadcast":
        return inputs[root]
    if kind == "scatter":
        return np.split(inputs[root], n)[rank]
    if kind == "all_to_all":
        return np.concatenate([np.split(x, n)[rank] for x in inputs])
    return np.concatenate(inputs) if kind == "all_gather" or rank == root else None


def run_every_kind(comm):
    n, root = comm.size, comm.size - 1
    window = comm.window(1 << 16)
    for kind in KINDS:
        rooted = kind in ("broadcast", "reduce", "gather", "scatter")
        plan = Plan.make(kind, f"mesh:{n}", n * 4 * 30, root=root if rooted else 0)
        size = plan.buffer_bytes("in") // 4
        has_x = kind not in ("broadcast", "scatter") or comm.rank == root
        wanted = expected(kind, comm.rank, n, root, size)
        here = window.array(np.float32, size)
        there = window.array(np.float32, plan.buffer_bytes("out") // 4, offset=1 << 15)
        for x in (data(comm.rank, size), here):
            x[...] = data(comm.rank, size)
            made = plan.run(comm, x if has_x else None, dtype="f32")
            assert (made is None) == (wanted is None), kind
            assert wanted is None or np.array_equal(made, wanted), (kind, made, wanted)
            there[...] = -1
            given = plan.run(comm, x if has_x else None, there if wanted is not None else None)
            assert wanted is None or (given is there and np.array_equal(there, wanted)), kind
    return "well"


@pytest.mark.parametrize("nranks", [1, 3])
def test_every_kind_on_arrays(nranks):
    assert launch(run_every_kind, nranks) == ["well"] * nranks


def run_often(comm):
    n = comm.size
    plan = Plan.make("all_reduce", f"mesh:{n}", 4 * 60, algorithm="ring")
    x = np.zeros((5, 12), np.float32)
    with plan.prepare(comm, x, count_links=True) as run:
        for i in range(5):
            x[...] = i + comm.rank
            out = run.run()
            assert (out == n * i + n * (n - 1) / 2).all()
        run.start()
        while not run.test():
            pass
        assert run.link_bytes(comm.rank, (comm.rank + 1) % n) > 0
    with pytest.raises(tern.StateError, match="the run is closed"):
        run.run()
    run.close()
    assert (out == n * 4 + n * (n - 1) / 2).all()  # its memory stays
    return run.comm is comm


def test_a_run_is_repeated():
    assert all(launch(run_often, 3))


def run_in_place(comm, algorithm):
    n = comm.size
    plan = Plan.make("all_reduce", f"mesh:{n}", 4 * 120, algorithm=algorithm)
    window = comm.window(4096)
    array = window.array(np.int32, 120)
    array[...] = comm.rank + 1
    run = plan.prepare(comm, array, array, "max")
    copies = len(run._windows)
    run.run()
    assert (array == n).all()
    comm.destroy()  # closes it
    with pytest.raises(tern.StateError):
        run.run()
    return copies


def test_in_place_copies_only_what_the_plan_needs():
    assert launch(run_in_place, 3, "ring") == [0 if Plan.make(
        "all_reduce", "mesh:3", 480, algorithm="ring").check(in_place=True) else 1] * 3
    assert launch(run_in_place, 3, "one_shot") == [1] * 3


def run_partly_in_windows(comm):
    """The ranks do not agree where their arrays are: then all copy."""
    plan = Plan.make("all_reduce", f"mesh:{comm.size}", 400)
    window = comm.window(400)
    x = window.array(np.float32, 100) if comm.rank == 0 else np.empty(100, np.float32)
    bits = np.full(200, 0x3f80, np.uint16)  # ones of bfloat16
    x[...] = comm.rank
    out = np.empty((10, 10), np.float32)
    plan.run(comm, x, out)
    assert (out == sum(range(comm.size))).all()
    halves = Plan.make("all_reduce", f"mesh:{comm.size}", 400, unit=2)
    assert set(halves.run(comm, bits, dtype="bf16").tolist()) == {0x4040}
    return comm.rank


def test_arrays_in_windows_on_some_ranks_and_bfloat16():
    assert launch(run_partly_in_windows, 3) == [0, 1, 2]


def refuse(comm):
    plan = Plan.make("all_reduce", "mesh:1", 64)
    x = np.zeros(16, np.float32)
    for bad, words in [
        ({}, "there is no array for it"), ({"x": x[:8]}, "x has 32 bytes; the plan's in has 64"),
        ({"x": x.astype(np.float64)[:8]}, "x has elements of 8 bytes; those of the plan have 4"),
        ({"x": np.zeros((16, 2), np.float32)[:, 0]}, "not contiguous"),
        ({"x": x, "out": np.zeros(15, np.float32)}, "out has 60 bytes"),
        ({"x": [1.0] * 16}, "it must be an array of NumPy"),
        ({"x": x, "op": "xor"}, "op is 'xor'; plans have sum, prod, max, min"), ({"x": x, "op": "plus"}, "op is 'plus'; plans have sum"),
    ]:
        with pytest.raises(tern.ArgumentError, match=words):
            plan.run(comm, **bad)
    with pytest.raises(tern.ArgumentError, match="2 ranks|size"):
        Plan.make("all_reduce", "mesh:2", 64).run(comm, x)
    slots = Plan.make("all_reduce", "mesh:1", 64, as_run="slot")
    if slots.slots:
        with pytest.raises(tern.Error, match="slot"):
            slots.run(comm, x)
    return "well"


def test_what_does_not_fit_is_a_sentence():
    assert launch(refuse, 1) == ["well"]


def disagree(comm):
    plan = Plan.make("all_reduce", "mesh:2", 64, algorithm=("ring", "fused")[comm.rank])
    with pytest.raises(tern.MismatchError):
        plan.run(comm, np.zeros(16, np.float32))
    return "well"


def test_ranks_with_different_plans_are_told():
    assert launch(disagree, 2) == ["well"] * 2


def interrupt(comm):
    plan = Plan.make("all_reduce", "mesh:2", 64)
    x = np.zeros(16, np.float32)
    with plan.prepare(comm, x) as run:
        if comm.rank == 1:
            with pytest.raises(tern.InterruptedError):
                comm.barrier()
            return "told"
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            run.run()
        return "interrupted"


def test_ctrl_c_ends_a_wait():
    assert launch(interrupt, 2) == ["interrupted", "told"]
