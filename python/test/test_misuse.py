# SPDX-License-Identifier: Apache-2.0
"""What is passed by mistake: a sentence, never a crash and never a result that is silently wrong."""

from __future__ import annotations

import numpy as np
import pytest

import tern

PAIR = np.dtype([("value", "f4"), ("index", "i4")], align=True)
SWAPPED = np.dtype({"names": ["value", "index"], "formats": ["f4", "i4"], "offsets": [4, 0]})


def refused(text, call, *args, **kwargs):
    with pytest.raises(tern.ArgumentError, match=text):
        call(*args, **kwargs)


def wrong_elements(comm):
    objects = np.array([[1], [2]], object)
    window = comm.window(4096)
    refused("objects of this process", comm.all_reduce, objects, dtype="i64")
    refused("objects of this process", comm.broadcast, objects, dtype="u64")
    refused("objects of this process", window.put, 0, objects)
    refused("objects of this process", window.put, 0, np.empty((4, 4), object)[:, :2])
    refused("objects of this process", window.array, object)
    refused("of 0 bytes", window.array, "V0")
    refused("of 0 bytes", comm.alloc, 3, "S0")
    pairs = np.zeros(4, PAIR)
    for call in (comm.broadcast, comm.all_gather, comm.start.all_gather):
        refused("the array has dtype", call, pairs)
    refused("the array has dtype", window.put_add, 0, pairs)
    refused("the array has dtype", comm.all_reduce, pairs.astype(SWAPPED), op="minloc")
    pairs["value"] = comm.rank
    assert (comm.all_reduce(pairs, op="maxloc")["value"] == comm.size - 1).all()
    assert (comm.all_gather(pairs, dtype="u64")["value"].reshape(comm.size, 4).T
            == np.arange(comm.size)).all()


def test_elements_that_a_call_would_misread_are_refused(on_ranks):
    on_ranks(2, wrong_elements)


NO_WORDS = ((5, "of type int"), (b"ring:2", "of type bytes"), ("\udcff", "no UTF-8"),
            ("ring:2\0", "a NUL in it"))


@pytest.mark.parametrize("word, text", NO_WORDS)
def test_what_is_no_word_is_refused(word, text):
    """Half a surrogate, and a NUL, behind which C would see nothing."""
    mesh = tern.Topology("mesh:2")
    plan = tern.Plan.make("all_reduce", mesh, 64)
    refused(text, tern.Topology, word)
    refused(text, tern.Topology, "mesh:4", cut=[word])
    refused(text, tern.Topology, "mesh:4", slow=[word])
    refused(text, tern.Plan.parse, word)
    refused(text, tern.Plan.make, word, mesh, 64)
    refused(text, tern.Plan.make, "all_reduce", word, 64)
    refused(text, tern.Plan.make, "all_reduce", mesh, 64, algorithm=word)
    refused(text, tern.Plan.make, "all_reduce", mesh, 64, as_run=word)
    refused(text, tern.PlanBuilder, word, 2)
    refused(text, tern.PlanBuilder, "all_reduce", 2, algorithm=word)
    refused(text, tern.Program, word, 4, 64)
    refused(text, plan.check, word)
    refused(text, plan.sim, word)
    refused(text, plan.sim, mesh, fail=[word])


@pytest.mark.parametrize("name, text", ((5, "the name of a file"), (None, "the name of a file"),
                                        ("a\0b", "a NUL in it")))
def test_what_names_no_file_is_refused(name, text):
    plan = tern.Plan.make("all_reduce", "mesh:2", 64)
    for call in (tern.Plan.load, plan.save, tern.Certificate.load, tern.Kernels,
                 lambda path: tern.init_at(0, 1, path), lambda path: tern.comm_init(0, 1, path)):
        refused(text, call, name)


def wrong_words_of_a_call(comm):
    one = np.ones(1, np.float32)
    refused("no UTF-8", comm.all_reduce, one, algorithm="\udcff")
    refused("timeout is soon", comm.within, "soon")
    refused("sentence is of type int", comm.abort, 3)
    comm.barrier()
    if comm.rank == 0:
        comm.abort("half a pair: \udcff")
    with pytest.raises(tern.AbortedError, match=r"half a pair: \\udcff"):
        comm.barrier()


def test_words_of_a_call_that_are_none(on_ranks):
    on_ranks(2, wrong_words_of_a_call)


def wrong_counts(comm):
    one, n = np.ones(1, np.float32), comm.size
    refused("no list of numbers", comm.all_gather_v, one, [1.9] * n)
    refused("no list of numbers", comm.all_gather_v, one, 1)
    refused("elements", comm.reduce_scatter_v, one, [0] + [1 << 62] * 4) if n == 5 else None
    for root in (0.5, "0", None, n):
        refused("root is", comm.gather_v, one, [1] * n, root=root)
    assert comm.all_gather_v(one, np.ones(n, np.uint8)).tolist() == [1] * n


@pytest.mark.parametrize("nranks", (2, 5))
def test_counts_and_roots_are_whole_numbers(on_ranks, nranks):
    on_ranks(nranks, wrong_counts)


def wrong_numbers(comm):
    window, a = comm.window(4096), np.ones(4, np.float32)
    two = np.ones((2, 4), np.float32)[:, :2]
    session = tern.Session()
    for call, args in ((window.put, (1 << 32, a)), (window.put, (0, a, 1 << 64)),
                       (window.put, (0, a, -4)), (window.get, ("0", a)), (window.put, (None, a)),
                       (window.notify, (0, 0, (1 << 32) + 1)), (window.test, (0, 1 << 32)),
                       (window.wait, (1 << 64, 0)), (window.array, ("f4", 1, 0.5)),
                       (comm.window, ((1 << 64) + 8,)), (comm.split, (1 << 32,)),
                       (comm.alloc, (1 << 62,)), (session.wait, ((1 << 64) + 1,)),
                       (tern.wait_any_signal, ([(window, 1 << 64, 0)],)),
                       (tern.init_at, (0, (1 << 32) + 1, "nowhere"))):
        refused(" is ", call, *args)
    refused("stride", window.put, 0, two, stride=(1 << 64) + 8)
    assert not window.array(np.uint8).any()
    window.put(np.int64(comm.rank), a, np.uint8(8))
    assert window.array(offset=np.int64(8), rank=np.int32(comm.rank))[0] == 1
    refused("nranks is", tern.PlanBuilder, "broadcast", (1 << 32) + 2)
    refused("aic_count is", tern.Chip, aic=1 << 32)
    refused("blocks is", tern.Graph().add, None, blocks=1 << 32)
    refused("window is", tern.TensorGraph, window=1 << 32)
    refused("a length", tern.Out, ((1 << 32) + 1,))


def test_numbers_that_c_has_no_room_for_are_refused(on_ranks):
    on_ranks(1, wrong_numbers)


def test_other_numbers_are_no_handles(tmp_path):
    for call in (tern.platform.comm_barrier, tern.platform.comm_destroy,
                 tern.platform.comm_get_window_size, tern.platform.comm_get_local_window_base,
                 lambda handle: tern.platform.comm_alloc_windows(handle, 64),
                 tern.platform.comm_context):
        for number in (4096, 0, -1, None, "handle"):
            with pytest.raises(tern.platform.PlatformError, match="is no"):
                call(number)
    handle = tern.comm_init(0, 1, str(tmp_path / "meet"))
    context = tern.comm_alloc_windows(handle, 64)
    assert tern.platform.comm_context(context).rankNum == 1
    tern.comm_destroy(handle)
    with pytest.raises(tern.platform.PlatformError, match="is no address"):
        tern.platform.comm_context(context)
    with pytest.raises(tern.platform.PlatformError, match="has been destroyed"):
        tern.comm_destroy(handle)


def kept_by_an_operation(comm):
    kept = []

    def add(result, other):
        kept.append((result, other))
        result += other

    x = np.ones(4, np.float32)
    assert comm.all_reduce(x, op=np.add).tolist() == [comm.size] * 4  # a ufunc, which returns it
    refused("op has returned something", comm.all_reduce, x, op=lambda one, other: one + other)
    assert comm.all_reduce(x, op=add).tolist() == [comm.size] * 4
    comm.destroy()
    return sum(float(array.sum()) for arrays in kept for array in arrays)


def test_what_an_operation_keeps_stays(on_ranks):
    on_ranks(3, kept_by_an_operation)
