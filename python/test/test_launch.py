# SPDX-License-Identifier: Apache-2.0
"""tern.launch: results in the order of ranks; a rank that raises, dies, hangs or returns what cannot
be sent ends all of them with a sentence; nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import RANKS, TIMEOUT_S

import tern


@pytest.mark.parametrize("nranks", RANKS)
def test_results_come_in_the_order_of_ranks(on_ranks, nranks):
    closure = {"scale": 3}
    got = on_ranks(nranks, lambda comm, x: (comm.rank, comm.size, x * closure["scale"]), 2)
    assert got == [(rank, nranks, 6) for rank in range(nranks)]


def test_large_results_and_keywords(on_ranks):
    got = tern.launch(lambda comm, *, n: np.full(n, comm.rank), 3, n=1 << 20, timeout=TIMEOUT_S)
    assert [array.sum() for array in got] == [0, 1 << 20, 2 << 20]


def raise_on_1(comm):
    if comm.rank == 1:
        raise ValueError("what is wrong")
    comm.barrier()


def test_what_a_rank_raises_is_raised(on_ranks):
    with pytest.raises(tern.LaunchError) as caught:
        on_ranks(3, raise_on_1)
    error = caught.value
    assert error.rank == 1 and isinstance(error.__cause__, ValueError)
    assert str(error).startswith("rank 1 of 3 raised ValueError: what is wrong")
    assert "in raise_on_1" in error.traceback and 'raise ValueError("what is wrong")' in str(error)


def test_a_tern_error_keeps_its_class(on_ranks):
    with pytest.raises(tern.LaunchError) as caught:
        on_ranks(2, lambda comm: comm.all_reduce(7))
    assert isinstance(caught.value.__cause__, tern.ArgumentError)


def test_an_exception_that_cannot_be_pickled(on_ranks):
    class Local(Exception):
        pass

    def fail(comm):
        raise Local("only here")

    with pytest.raises(tern.LaunchError, match="raised Local: only here") as caught:
        on_ranks(2, fail)
    assert caught.value.__cause__ is None and "Local: only here" in caught.value.traceback


def test_a_result_that_cannot_be_pickled(on_ranks):
    with pytest.raises(tern.LaunchError, match="what fn has returned cannot be pickled"):
        on_ranks(2, lambda comm: (i for i in range(3)))


class Poison:
    def __reduce__(self):
        return (int, ("no number",))


def test_a_result_that_cannot_be_unpickled(on_ranks):
    with pytest.raises(tern.LaunchError, match="its result cannot be unpickled: ValueError"):
        on_ranks(1, lambda comm: Poison())


@pytest.mark.parametrize("end, text", [
    (lambda: os.kill(os.getpid(), signal.SIGKILL), r"rank 1 of 3 was killed by signal 9"),
    (lambda: os.kill(os.getpid(), signal.SIGSEGV), r"rank 1 of 3 was killed by signal 11"),
    (lambda: os._exit(5), r"rank 1 of 3 ended with exit status 5 before fn had returned"),
    (lambda: sys.exit(4), r"rank 1 of 3 raised SystemExit: 4"),
])
def test_a_rank_that_ends(on_ranks, end, text):
    with pytest.raises(tern.LaunchError, match=text) as caught:
        on_ranks(3, lambda comm: end() if comm.rank == 1 else comm.barrier())
    assert caught.value.rank == 1


def test_a_rank_that_hangs_is_named(on_ranks):
    for seconds in (2, 8, 32):  # the first in which the ranks come to the barrier
        with pytest.raises(tern.LaunchError, match=f"have not returned after {seconds} s") as caught:
            on_ranks(3, lambda comm: comm.barrier() if comm.rank else time.sleep(10 * TIMEOUT_S),
                     timeout=seconds)
        if "waits in barrier 1 of communicator 0 for rank 0" in str(caught.value):
            return
    pytest.fail(str(caught.value))


def test_what_ranks_start_ends_with_them(on_ranks):
    def start(comm):
        return subprocess.Popen(["sleep", str(TIMEOUT_S)]).pid

    for pid in on_ranks(2, start):
        assert not is_running(pid)


def is_running(pid):
    """After a while: a process that was killed may be waited for by nobody for a moment."""
    for _ in range(200):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] in "ZX":
                    return False
        except OSError:
            return False
        time.sleep(0.05)
    return True


def test_several_launches_in_threads(on_ranks):
    results = {}

    def launch(number):
        results[number] = on_ranks(3, lambda comm: int(comm.all_reduce(np.array([number]))[0]))

    threads = [threading.Thread(target=launch, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: [3 * number] * 3 for number in range(4)}


def test_a_launch_in_a_launch(on_ranks):
    assert on_ranks(2, lambda comm: sum(tern.launch(lambda c: c.rank, 3))) == [3, 3]


def test_ranks_print_where_the_caller_does(on_ranks, capfd):
    print("before")
    on_ranks(2, lambda comm: print(f"rank {comm.rank}\n", end=""))  # in one piece
    assert sorted(capfd.readouterr().out.splitlines()) == ["before", "rank 0", "rank 1"]


def test_a_result_that_has_lived_in_a_window(on_ranks):
    def fill(comm):
        array = comm.window(4096).array(np.int64, 4)
        array[:] = comm.rank
        return array

    assert [a.tolist() for a in on_ranks(2, fill)] == [[0] * 4, [1] * 4]


@pytest.mark.parametrize("arguments, text", [
    ((3, 2), "fn is of type int"),
    ((print, 0), "a number from 1 to 64"),
    ((print, 65), "a number from 1 to 64"),
    ((print, 2.0), "a number from 1 to 64"),
])
def test_wrong_arguments(arguments, text):
    with pytest.raises(tern.ArgumentError, match=text):
        tern.launch(*arguments)
    with pytest.raises(tern.ArgumentError, match="above 0"):
        tern.launch(print, 2, timeout=0)


MAIN = """
import os, sys, time, tern
def work(comm):  # of __main__
    os.write(1, b"%d\\n" % os.getpid())  # in one piece, also where prints are not buffered
    comm.barrier()
    if {hangs}:
        time.sleep(60)
    return comm.rank
if __name__ == "__main__":
    print(tern.launch(work, 3), flush=True)
"""


def test_functions_of_main():
    done = subprocess.run([sys.executable, "-c", MAIN.format(hangs=False)], capture_output=True,
                          text=True, timeout=TIMEOUT_S)
    assert done.stdout.splitlines()[-1] == "[0, 1, 2]", done.stderr


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGKILL))
def test_a_caller_that_is_ended_leaves_no_rank(number):
    with subprocess.Popen([sys.executable, "-c", MAIN.format(hangs=True)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as caller:
        ranks = [int(caller.stdout.readline()) for _ in range(3)]
        caller.send_signal(number)
        _, said = caller.communicate(timeout=TIMEOUT_S)
        assert caller.returncode != 0
        assert ("KeyboardInterrupt" in said) == (number == signal.SIGINT)
    assert not any(is_running(rank) for rank in ranks)
