# SPDX-License-Identifier: Apache-2.0
"""Communicators: joining, splitting, leaving; requests; threads; and the sentences of wrong use."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import TIMEOUT_S

import tern
from tern import _library


def split_and_sum(comm):
    part = comm.split(comm.rank % 2, key=-comm.rank)
    members = [r for r in range(comm.size) if r % 2 == comm.rank % 2][::-1]
    assert (part.rank, part.size) == (members.index(comm.rank), len(members))
    assert part.all_gather(np.array([comm.rank])).tolist() == members
    assert comm.split(-1) is None
    with part.split(0) as inner:
        inner.barrier()
    part.destroy()
    part.destroy()
    with pytest.raises(tern.StateError, match="destroyed"):
        part.barrier()
    return comm.all_reduce(np.array([1]))[0]


@pytest.mark.parametrize("nranks", (1, 3, 8))
def test_split(on_ranks, nranks):
    assert on_ranks(nranks, split_and_sum) == [nranks] * nranks


def requests(comm):
    n = comm.size
    xs = [np.full(1000, comm.rank + i, np.float64) for i in range(8)]
    running = [comm.start.all_reduce(x) for x in xs]
    assert running[0].running
    for i, out in enumerate(tern.wait_all(running)):
        assert (out == sum(range(n)) + n * i).all()
    assert not running[0].running and running[0].wait() is not None and running[0].test()
    left = [comm.start.all_gather(xs[0]), comm.start.all_to_all(np.zeros(n)), comm.start.barrier()]
    ended = set()
    while len(ended) < 3:
        ended.add(tern.wait_any(left))
    assert ended == {0, 1, 2} and tern.wait_any(left) == -1 and tern.wait_any([]) == -1
    total = np.zeros(3)
    with comm.prepare.all_reduce(np.full(3, 2.0), total) as persistent:
        for _ in range(5):
            total[:] = 0
            persistent.start()
            while not persistent.test():
                pass
            assert (total == 2 * n).all()
        with pytest.raises(tern.ArgumentError, match="not persistent"):
            running[0].start()
    with pytest.raises(tern.ArgumentError):
        persistent.start()
    forgotten = comm.prepare.all_reduce(np.zeros(3))
    assert not forgotten.running
    comm.start.all_reduce(np.zeros(100))  # nobody keeps it, but the communicator
    comm.barrier()
    tern.wait_all(list(comm._requests - {forgotten}))


@pytest.mark.parametrize("nranks", (1, 2, 5))
def test_requests(on_ranks, nranks):
    on_ranks(nranks, requests)


def leave_while_running(comm):
    if comm.rank == 0:
        request = comm.start.recv(np.zeros(4), 1)
        with pytest.raises(tern.StateError, match="1 request"):
            comm.destroy()
        assert not comm.destroyed
        comm.barrier()
        assert request.wait()[0] == 7
    else:
        comm.barrier()
        comm.send(np.full(4, 7.0), 0)


def test_what_runs_must_end_before_the_communicator(on_ranks):
    on_ranks(2, leave_while_running)


def others_run(comm):
    """A thread of rank 0 counts while its main thread waits in C, and only then lets rank 1 come:
    calls let go of the GIL. One that kept it would let others run every 0.1 s, when it asks for
    signals of the process."""
    window = comm.window(64)

    def count():
        for _ in range(500):
            time.sleep(0.001)
        window.notify(1)

    if comm.rank == 0:
        thread = threading.Thread(target=count)
        thread.start()
        comm.barrier()
        thread.join()
    else:
        window.wait(0, 1, timeout=20)
        comm.barrier()


def test_calls_let_other_threads_run(on_ranks):
    on_ranks(2, others_run)


def abort_beside(comm):
    """Rank 0 waits without a deadline; another thread of it ends what it waits for."""
    part = comm.split(0)
    if comm.rank == 0:
        threading.Timer(0.2, part.abort, ["the loss is no number"]).start()
    with pytest.raises(tern.AbortedError, match="rank 0 .*ended the communicator: the loss is no number"):
        if comm.rank == 0:
            part.within(math.inf).all_reduce(np.ones(1))
        while True:
            part.health()
            time.sleep(0.01)
    late = comm.split(0)
    if comm.rank == 0:
        with pytest.raises(tern.TimeoutError, match="waited 0.1 s"):
            late.start.within(0.1).all_reduce(np.ones(1)).wait()
    else:
        with pytest.raises(tern.TimeoutError, match="waited 0.1 s"):
            while True:
                late.health()
                time.sleep(0.01)
    with pytest.raises(tern.ArgumentError, match="above 0"):
        comm.within(0)
    comm.barrier()


def test_abort_and_deadlines_of_calls(on_ranks):
    on_ranks(2, abort_beside)


def two_threads(comm):
    """One thread at a time; another communicator is another thread's business."""
    part, window = comm.split(0), comm.window(64)
    if comm.rank == 1:
        window.wait(0, 1)
        comm.barrier()
        part.barrier()
        return
    inside = threading.Event()
    errors = []

    def intrude():
        inside.wait()
        try:
            while True:
                comm.health()
                comm.all_reduce(np.ones(1))
        except tern.StateError as error:
            errors.append(str(error))
        window.notify(1)

    thread = threading.Thread(target=intrude)
    thread.start()
    threading.Timer(0.3, inside.set).start()
    comm.barrier()
    thread.join()
    part.barrier()
    assert "one at a time" in errors[0]


def test_a_second_thread_is_refused(on_ranks):
    on_ranks(2, two_threads)


def works_in_a_thread(comm):
    results = []
    part = comm.split(0)
    thread = threading.Thread(
        target=lambda: results.extend(part.all_reduce(np.ones(4)) for _ in range(100)))
    thread.start()
    for _ in range(100):
        assert comm.all_reduce(np.ones(4))[0] == comm.size
    thread.join()
    assert len(results) == 100 and all(r[0] == comm.size for r in results)


def test_two_communicators_in_two_threads(on_ranks):
    on_ranks(3, works_in_a_thread)


def refused(comm):
    x = np.arange(6.0)
    frozen = np.zeros(6)
    frozen.flags.writeable = False
    for call, text in [
        (lambda: comm.all_reduce([1, 2]), "all_reduce: x is a list; lists are for shares of all ranks"),
        (lambda: comm.all_reduce(x[::2]), "x is not contiguous: shape .3,., strides .16,."),
        (lambda: comm.all_reduce(x, np.zeros(5)), "x has 6 elements .6., out 5 .5."),
        (lambda: comm.all_reduce(x, np.zeros(6, np.float32)), "x has dtype float64, out float32"),
        (lambda: comm.all_reduce(x, frozen), "out is read-only"),
        (lambda: comm.all_reduce(np.zeros(17, np.uint8)[1:].view(np.float64)), "not aligned"),
        (lambda: comm.all_reduce(x.astype(">f8")), "other byte order"),
        (lambda: comm.all_reduce(x.astype(complex)), "all_reduce: sum of complex128 does not exist"),
        (lambda: comm.all_reduce(np.array(["a"])), "the dtypes are f32"),
        (lambda: comm.all_reduce(x, op="add"), "op is 'add'; it is one of sum, prod"),
        (lambda: comm.all_reduce(x, op="xor"), "xor of float64 does not exist"),
        (lambda: comm.all_reduce(x, op="minloc"), "takes pairs"),
        (lambda: comm.all_reduce(x, dtype="bf16"), "bf16 has 2 bytes, the elements .* 8"),
        (lambda: comm.all_reduce(x, dtype="f99"), "the dtypes are"),
        (lambda: comm.all_reduce(x[:4], x[2:]), "overlap"),
        (lambda: comm.all_reduce(x, algorithm=3), "a name of"),
        (lambda: comm.broadcast(x, root=5), "ranks 0..1"),
        (lambda: comm.reduce(x, root=-1), "ranks 0..1"),
        (lambda: comm.reduce_scatter(np.zeros(5)), "no multiple of 2 ranks"),
        (lambda: comm.reduce_scatter(x, np.zeros(2)), "x has 6 elements .2 . 3., out 2 .2."),
        (lambda: comm.reduce_scatter(np.array(1.0)), "no axis that 2 ranks"),
        (lambda: comm.all_gather(x, np.zeros(11)), "no multiple of 2 ranks"),
        (lambda: comm.scatter(None, None, root=1 - comm.rank), "out is missing"),
        (lambda: comm.gather(None), "x is of type NoneType"),
        (lambda: comm.send(x, 2), "the other rank is 2|ranks 0..1"),
        (lambda: comm.recv(frozen, 1 - comm.rank), "read-only"),
        (lambda: comm.all_gather_v(x, [6]), "one number for each of 2 ranks"),
        (lambda: comm.all_gather_v(x, [6, -1]), "0 or more"),
        (lambda: comm.all_gather_v(x, "ab"), "no list of numbers"),
        (lambda: comm.all_gather_v(x, [5, 5]), "this rank's count is 5"),
        (lambda: comm.all_gather_v(x, [6, 6], np.zeros(11)), "the counts need 12"),
        (lambda: comm.scatter_v(x, None, np.zeros(3), root=comm.rank), "counts are missing"),
        (lambda: comm.reduce_scatter_v(x, [4, 4]), "the counts need 8"),
    ]:
        with pytest.raises(tern.ArgumentError, match=text):
            call()
    assert comm.all_reduce(np.ones(1))[0] == 2  # none of them was made


def test_wrong_arguments_are_a_sentence(on_ranks):
    on_ranks(2, refused)


def disagree(comm):
    with pytest.raises(tern.MismatchError, match="rank 0 makes all_reduce .* rank 1 all_gather"):
        if comm.rank == 0:
            comm.all_reduce(np.ones(4))
        else:
            comm.all_gather(np.ones(4))
    with pytest.raises(tern.MismatchError, match="has failed"):
        comm.health()


def test_ranks_that_disagree(on_ranks):
    on_ranks(2, disagree)


def leave_early(comm):
    if comm.rank == 1:
        comm.destroy()
        return
    with pytest.raises(tern.LeftError, match="rank 1 has left"):
        comm.barrier()


def test_a_rank_that_leaves(on_ranks):
    on_ranks(2, leave_early)


PROGRAM = """
import sys, numpy as np, tern
comm = tern.init()
array = comm.window(4096).array(np.int64, 4)
array[:] = comm.rank
sys.stdout.write(f"{{comm.all_reduce(array)[0]}}\\n")
{end}
"""


def run_program(nranks, end):
    command = os.path.join(os.path.dirname(_library.lib().path), "../bin/tern")
    return subprocess.run(
        [command, "run", "-n", str(nranks), sys.executable, "-c", PROGRAM.format(end=end)],
        capture_output=True, text=True, timeout=TIMEOUT_S,
        env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(tern.__file__))})


def test_tern_run_starts_the_ranks_of_a_program():
    done = run_program(3, "")
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n" * 3, "")


def test_a_program_that_fails_has_not_left():
    done = run_program(2, "if comm.rank == 1: raise KeyError('lost')\ncomm.barrier()")
    assert done.returncode != 0
    assert "KeyError: 'lost'" in done.stderr and "rank 1" in done.stderr


def test_without_tern_run_there_is_one_rank(monkeypatch):
    with tern.init(timeout=5) as comm:
        assert (comm.rank, comm.size) == (0, 1) and "rank 0 of 1" in repr(comm)
        with pytest.raises(tern.StateError, match="already|joined"):
            tern.init()
    assert comm.destroyed


def test_joining_has_a_deadline_and_sentences(tmp_path):
    with pytest.raises(tern.TimeoutError, match="rank 1"):
        tern.init_at(0, 2, str(tmp_path / "meet"), timeout=0.2)
    with pytest.raises(tern.ArgumentError):
        tern.init_at(3, 2, str(tmp_path / "meet"))
    with pytest.raises(tern.ArgumentError, match="above 0"):
        tern.init(timeout=0)
