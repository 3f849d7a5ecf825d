# SPDX-License-Identifier: Apache-2.0
"""Task graphs from Python over compiled kernels and over functions: the three builders, waits on
peers, what lives how long, and what goes wrong."""

from __future__ import annotations

import functools
import gc
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import tern
from tern import In, InOut, NoDep, Out, OutTo, _library

SOURCE = Path(__file__).parent / "kernels/basic.c"
INCLUDE = Path(__file__).resolve().parents[2] / "include"
launch = functools.partial(tern.launch, timeout=30)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    made = tmp_path_factory.mktemp("kernels") / "basic.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", f"-I{INCLUDE}", str(SOURCE), "-o", str(made)],
                   check=True)
    return str(made)


@pytest.fixture(scope="module")
def kernels(library):
    return tern.Kernels(library)


def numbers(count, factor=1):
    return np.arange(count, dtype=np.float32) * np.float32(factor)


def test_a_graph_runs_in_the_order_of_its_edges_and_often(kernels):
    a, b, c, d = numbers(8), numbers(8, 2), np.zeros(8, np.float32), np.zeros(8, np.float32)
    graph = tern.Graph()
    first = graph.add(kernels.add, [a, b, c, 8])
    second = graph.add(kernels["add"], [c, c, d, c.size], core="aic", after=first, name="twice")
    graph.add(kernels.scale_block, [d, np.float32(0.5)], after=[first, second], blocks=8)
    assert len(graph) == 3 and [graph.name(i) for i in range(3)] == ["add", "twice", "scale_block"]
    with tern.Chip(aic=1, aiv=3) as chip:
        assert (chip.cores("aic"), chip.cores("aiv")) == (1, 3)
        for _ in range(3):
            chip.run(graph)
            assert np.array_equal(c, numbers(8, 3)) and np.array_equal(d, c)
            a += 0  # in place: the graph has its address
        with pytest.raises(tern.StateError):
            graph.add(kernels.add, [a, b, c, 8])


def test_arrays_live_as_long_as_the_graph_and_the_run(kernels):
    graph, out = tern.Graph(), np.zeros(4, np.float32)

    def add_with_temporaries():
        a = numbers(4)
        graph.add(kernels.add, [a, numbers(4, 10), out, 4])
        return weakref.ref(a)

    a = add_with_temporaries()
    assert a() is not None
    chip = tern.Chip()
    chip.launch(graph)
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is not None  # the chip has it
    chip.synchronize()
    assert np.array_equal(out, numbers(4, 11))
    gc.collect()
    assert gone() is None and a() is None
    chip.close()
    chip.close()
    with pytest.raises(tern.StateError, match="the chip is closed"):
        chip.cores("aic")


def test_kernels_by_name_mixed_and_with_predicates(kernels, library):
    a, c, go = numbers(4), np.zeros((3, 4), np.float32), np.zeros(1, np.int32)
    graph = tern.Graph()
    graph.load(library)
    graph.add("add", [a, a, c[0], 4])
    graph.add((None, kernels.add, "add"), [a, a, c[1], 4], core="mix")
    graph.add(kernels.add, [a, a, c[2], 4], predicate=(go, "==", 1))
    with tern.Chip(aic=1, aiv=2) as chip:
        chip.run(graph)
        assert np.array_equal(c, [2 * a, 2 * a, 0 * a])
        go[0] = 1
        chip.run(graph)
        assert np.array_equal(c[2], 2 * a)


def test_functions_of_python_are_kernels_and_what_they_raise_is_the_cause():
    x, y = numbers(4), np.zeros(4, np.float32)
    graph, seen = tern.Graph(), []
    graph.add(lambda a, b, n: np.multiply(a, n, out=b), [x, y, 3], name="product")
    graph.add(lambda: seen.append((tern.kernel_block(), tern.kernel_run())), blocks=2, after=0)
    with tern.Chip(aiv=2) as chip:
        chip.run(graph)
        assert np.array_equal(y, 3 * x) and sorted(seen) == [(0, 0), (1, 0)]
        broken = tern.Graph()
        broken.add(lambda: {}["key"], name="lookup")
        broken.add(lambda: seen.append("not reached"), after=0)
        with pytest.raises(tern.KernelError, match="task 'lookup' failed: it raised KeyError") as e:
            chip.run(broken)
        assert isinstance(e.value.__cause__, KeyError) and "not reached" not in seen
        chip.run(graph)  # the chip goes on


def test_an_orchestration_builds_while_tasks_run(kernels):
    a, c, d = numbers(4), np.zeros(4, np.float32), np.zeros(4, np.float32)

    def build(graph):
        first = graph.add(kernels.add, [a, a, c, 4])
        assert graph.run_number == 0 and not graph.failed
        graph.add(kernels.add, [c, a, d, 4], after=first)

    with tern.Chip() as chip:
        chip.orchestrate(tern.Graph(), build)
        chip.synchronize()
        assert np.array_equal(d, 3 * a)

        def fail(graph):
            raise LookupError("no weights")

        for graph in (tern.Graph(), tern.TensorGraph()):
            chip.orchestrate(graph, fail)
            with pytest.raises(tern.KernelError, match="LookupError: no weights") as caught:
                chip.synchronize()
            assert isinstance(caught.value.__cause__, LookupError)
            assert chip.code == "EXPLICIT_ORCH_FATAL"


def test_order_follows_from_what_tasks_read_and_write(kernels):
    big, out = np.zeros((8, 8), np.float32), np.zeros(16, np.float32)
    seen = []

    def build(graph):
        for i in range(4):  # a chain through one array, tiles of which are written one by one
            graph.submit(kernels.add_to_all, [In(big[:4, 2:6]), OutTo(big[:4, 2:6]), 1])
            graph.submit(kernels.add_to_all, [In(big[:4, 2:6]), InOut(big[4:, 2:6]), 10])
        made = graph.submit(kernels.add_to_all, [In(big[0]), Out(8), 0], core="aic")
        with graph.scope():
            inner = graph.submit(lambda a, b: np.copyto(b, a * 2), [In(made.out), Out(8, "f32")])
            graph.submit(kernels.add_to_all, [In(inner.out), OutTo(out[:8]), 5])
        filled = graph.submit(None, [Out((2, 4), "f32", fill=7)])
        graph.submit(kernels.add_to_all, [In(filled.out.reshape([8])), OutTo(out[8:]), 0])
        seen.append(float(graph.get(out, 2)))
        graph.set(out, 15, -1)

    graph = tern.TensorGraph(window=64, heap=1 << 20)
    with tern.Chip(aic=2, aiv=4) as chip:
        for run in range(1, 4):
            chip.orchestrate(graph, build)
            chip.synchronize()
            assert (big[:4, 2:6] == 4 * run).all() and (big[4:, 2:6] == 4 * run + 10).all()
            assert (big[:, :2] == 0).all() and (big[:, 6:] == 0).all()
            assert np.array_equal(out[:8], 2 * big[0] + 5)
            assert (out[8:15] == 7).all() and out[15] == -1
        assert seen == [13, 21, 29]
        marks = graph.marks()
        assert marks["tasks"] == 13 and marks["window"][0] > 0


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_kernels_of_the_chip_runtime_take_tensors(tmp_path):
    command = Path(_library.lib().path).resolve().parents[1] / "bin/tern"
    subprocess.run(
        [str(command), "kernel-cc", "--runtime", "tensormap_and_ringbuffer", "-O1", "-shared",
         str(SOURCE.parents[3] / "test/simpler/tensors/add.cpp"), "-o", str(tmp_path / "add.so")],
        check=True)
    add = tern.Kernels(tmp_path / "add.so").kernel_entry
    a = np.arange(128 * 128, dtype=np.float32).reshape(128, 128)
    b, c = np.ones_like(a), np.zeros_like(a)

    def build(graph):
        both = graph.submit(add, [In(a), In(b), Out(a.shape), a.size], name="both")
        graph.submit(add, [In(both.out), In(b), OutTo(c), a.size])

    with tern.Chip() as chip:
        chip.orchestrate(tern.TensorGraph(), build)
        chip.synchronize()
    assert np.array_equal(c, a + 2)


def test_regions_are_parts_of_their_array():
    whole = np.zeros((4, 6, 8), np.float16)
    region = tern.Region(whole[1:3, 2:5, 4:])
    assert region.shape == (2, 3, 4) and region.dtype == "f16"
    raw = region.raw
    assert (raw.address, raw.start) == (whole.ctypes.data, 1 * 48 + 2 * 8 + 4)
    assert list(raw.offset[:3]) == [1, 2, 4] and list(raw.stride[:3]) == [48, 8, 1]
    again = tern.Region(whole).view([1, 2, 4], [2, 3, 4])
    assert bytes(again.raw) == bytes(raw)
    assert tern.Region(whole).transpose(0, 2).shape == (8, 6, 4)
    # Any other view: elements of the same memory.
    for view in (whole[2], whole[:, 3], whole[::2, 1:, ::3], whole.transpose(2, 0, 1), whole[:0]):
        made = tern.Region(view).raw
        size = whole.itemsize
        assert tuple(made.shape[:view.ndim]) == view.shape
        if view.size:
            assert made.address + made.start * size == view.ctypes.data
            assert [made.stride[i] * size for i in range(view.ndim)] == list(view.strides)
    assert tern.Region(np.zeros(4, np.uint16), "bf16").dtype == "bf16"
    for bad, words in [(np.zeros(2), "f64"), (np.zeros(()), "0 dimensions"), ([1], "type list"),
                       (np.zeros(4, np.float32)[::-1], "goes forwards"),
                       (np.zeros((1,) * 6, np.int8), "6 dimensions")]:
        with pytest.raises(tern.ArgumentError, match=words):
            tern.Region(bad)


def neighbours(comm, library):
    """Each rank's graph waits for the left one's, and tells the right one; runs grow the values."""
    kernels, window = tern.Kernels(library), comm.window(4096)
    x = window.array(np.float32, 4, offset=256)
    x[...] = comm.rank
    graph, out = tern.Graph(), np.zeros(4, np.float32)
    right = (comm.rank + 1) % comm.size
    told = graph.add(kernels.notify, [window, right, 0], notifies=[(window, right, 0)])
    graph.add(kernels.add, [x, x, out, 4], waits=[(window, 0, 1)], step_per_run=1, name="late")
    chip = tern.Chip(comm, aiv=2)
    assert told == 0
    for _ in range(3):
        chip.run(graph)
    assert window.signal(0) >= 3 and (out == 2 * comm.rank).all()
    tensors = tern.TensorGraph()

    def build(graph):
        after = 4 + graph.run_number
        graph.submit(kernels.notify, [window, right, 0], notifies=[(window, right, 0)])
        graph.submit(kernels.add_to_all, [In(x), OutTo(out), 1], waits=[(window, 0, after)])

    for _ in range(2):
        chip.orchestrate(tensors, build)
        chip.synchronize()
    assert window.signal(0) >= 5 and (out == comm.rank + 1).all()
    comm.barrier()
    comm.destroy()  # closes the chip
    return "well"


def test_graphs_wait_for_signals_of_peers(library):
    assert launch(neighbours, 3, library) == ["well"] * 3


def fail_on_one(comm, library):
    kernels, window = tern.Kernels(library), comm.window(4096)
    graph = tern.Graph()
    chip = tern.Chip(comm)
    if comm.rank == 1:
        graph.add(kernels.refuse, [7], name="check")
    else:
        graph.add(kernels.notify, [window, comm.rank, 64], waits=[(window, 0, 1)], name="in vain",
                  notifies=[(window, None, 64)])
    with pytest.raises(tern.KernelError, match="task 'check' failed: 7 is too many in run 0"):
        comm.barrier()  # so that all have built; it may end with the failure already
        chip.run(graph)
    return "told"


def test_peers_are_told_why_a_kernel_failed(library):
    assert launch(fail_on_one, 3, library) == ["told"] * 3


def test_what_is_wrong_is_a_sentence(kernels, library):
    graph, x = tern.Graph(), numbers(4)
    for call, words in [
        (lambda: graph.add(kernels.add, [1.5]), "task 'add': argument 0 .*numpy.float32"),
        (lambda: graph.add(kernels.add, ["x"]), "of type str"),
        (lambda: graph.add(kernels.add, [x, x[::2]]), "argument 1 is not contiguous"),
        (lambda: graph.add(kernels.add, [1 << 64]), "have 64 bits"),
        (lambda: graph.add(7), "a kernel is of type int"),
        (lambda: graph.add(kernels.add, core="gpu"), "'gpu' is none of aic, aiv, mix, none"),
        (lambda: graph.add(kernels.add, core="mix"), "are three"),
        (lambda: graph.add(kernels.add, predicate=(x, "~", 1)), "predicate is"),
        (lambda: tern.Chip(aic=-1), "aic|cores"),
    ]:
        with pytest.raises(tern.ArgumentError, match=words):
            call()
    with pytest.raises(tern.LimitError, match="49 arguments; 48"):
        graph.add(kernels.add, range(49))
    with pytest.raises(tern.KernelError, match="has no kernel 'sub'"):
        kernels.sub
    with pytest.raises(tern.KernelError, match="/nowhere.so cannot be opened"):
        tern.Kernels("/nowhere.so")
    with pytest.raises(tern.Error, match="nowhere"):
        graph.load("/nowhere.so")
    with pytest.raises(IndexError):
        graph.name(5)
    one, other = graph.add(kernels.add, [x, x, x, 4]), graph.add(kernels.add, [x, x, x, 4])
    graph.edge(one, other)
    graph.edge(other, one)
    with tern.Chip() as chip:
        with pytest.raises(tern.CycleError):
            chip.run(graph)
        with pytest.raises(tern.StateError, match="nothing was launched"):
            chip.synchronize()
        with pytest.raises(tern.ArgumentError, match="orchestrate runs it"):
            chip.launch(tern.TensorGraph())

        def forget(graph):
            graph.submit(kernels.add_to_all, [x, Out(4), 1])

        chip.orchestrate(tern.TensorGraph(), forget)
        with pytest.raises(tern.Error, match="argument 0 is memory; how is it used"):
            chip.synchronize()
    assert NoDep(x).access == "no_dep"


def test_what_a_chip_says_of_itself():
    with tern.Chip(aic=2, aiv=3) as chip:
        assert repr(chip) == "<tern.Chip alone: 2 AIC, 3 AIV>"
    assert repr(chip) == "<tern.Chip alone: closed>"


def test_one_thread_at_a_time_uses_a_chip():
    graph, seen, chip = tern.Graph(), [], tern.Chip()

    def use():
        try:
            chip.launch(graph)
        except tern.StateError as error:
            seen.append(str(error))

    graph.add(use)  # a part of the run that would wait for itself
    chip.run(graph)
    chip.close()
    assert len(seen) == 1 and "one at a time" in seen[0]


def test_a_deadline_names_the_task(kernels):
    graph = tern.Graph()
    graph.add(lambda: time.sleep(0.6), name="sleeper")
    with tern.Chip(timeout=0.2) as chip:
        with pytest.raises(tern.TimeoutError, match="task 'sleeper' is running"):
            chip.run(graph)
        assert chip.code == "SCHEDULER_TIMEOUT"


@pytest.mark.parametrize("seconds, said", [(0, "is 0;"), (-1, "is -1;"), (math.nan, "is nan;")])
def test_deadlines_of_chips_are_above_zero(seconds, said):
    with pytest.raises(tern.ArgumentError, match=said):
        tern.Chip(timeout=seconds)


def test_a_chip_may_have_no_deadline():
    seen, graph = [], tern.Graph()
    graph.add(lambda: seen.append(1))
    with tern.Chip(timeout=math.inf) as chip:
        chip.run(graph)
    assert seen == [1]


class Speechless(Exception):
    def __str__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize("error, said", [(ValueError("a\udcffb"), r"a\\udcffb"),
                                         (Speechless(), "its str\\(\\) raises")])
def test_what_cannot_be_spelled_fails_a_run_too(error, said):
    def fail(*_):
        raise error

    graph = tern.Graph()
    graph.add(fail)
    with tern.Chip() as chip:
        for run in (lambda: chip.run(graph),
                    lambda: (chip.orchestrate(tern.TensorGraph(), fail), chip.synchronize())):
            with pytest.raises(tern.KernelError, match=said) as caught:
                run()
            assert caught.value.__cause__ is error


def test_read_only_arrays_are_not_written():
    fixed = numbers(8)
    fixed.flags.writeable = False
    for use in (tern.InOut, tern.OutTo):
        with pytest.raises(tern.ArgumentError, match=f"{use.__name__}: the array is read-only"):
            use(fixed)

    def double(array):
        array *= 2

    with tern.Chip() as chip:
        for use, array in ((tern.In, fixed), (tern.In, numbers(8)), (tern.NoDep, fixed)):
            chip.orchestrate(tern.TensorGraph(), lambda graph, a=use(array): graph.submit(double, [a]))
            with pytest.raises(tern.KernelError, match="read-only"):
                chip.synchronize()
        chip.orchestrate(tern.TensorGraph(), lambda graph: graph.set(fixed, 0, 7))
        with pytest.raises(tern.KernelError, match="set: the array is read-only"):
            chip.synchronize()
    assert (fixed == numbers(8)).all()


def test_an_array_that_a_kernel_keeps_stays():
    kept = []
    graph = tern.TensorGraph()
    with tern.Chip() as chip:
        chip.orchestrate(graph, lambda graph: graph.submit(kept.append, [tern.Out(1000, fill=3)]))
        chip.synchronize()
    del graph
    gc.collect()
    assert kept[0].sum() == 3000


def test_what_a_kernel_uses_that_does_not_return_stays():
    array, enough = numbers(4), threading.Event()
    chip, graph, gone = tern.Chip(timeout=0.1), tern.Graph(), weakref.ref(array)
    graph.add(lambda x, event=enough: event.wait(30) and x.sum(), [array], name="stuck")
    del array
    with pytest.raises(tern.TimeoutError, match="'stuck' has not returned"):
        chip.run(graph)
    del graph
    gc.collect()
    assert gone() is not None
    with pytest.raises(tern.TimeoutError, match="has not returned; its thread is left"):
        chip.close()
    gc.collect()
    assert gone() is not None
    enough.set()


def test_ctrl_c_ends_a_run_and_the_chip_goes_on():
    seen, enough = [], threading.Event()

    def stop(*_):
        threading.Timer(0.5, enough.set).start()  # the kernel ends when the run has been cancelled
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    graph = tern.Graph()
    graph.add(lambda: enough.wait(20), name="long")
    graph.add(lambda: seen.append("late"), after=0)
    after = tern.Graph()
    after.add(lambda: seen.append("next"))
    try:
        with tern.Chip() as chip:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            with pytest.raises(KeyboardInterrupt):
                chip.run(graph)
            chip.run(after)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == ["next"]


def test_a_program_that_ends_in_the_middle_of_a_run_ends(library):
    code = f"""if True:
        import time, tern
        chip, graph = tern.Chip(), tern.Graph()
        graph.add(lambda: time.sleep(0.3))
        chip.launch(graph)
        """
    done = subprocess.run([sys.executable, "-c", code], timeout=30, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
