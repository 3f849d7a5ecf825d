# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in calls that wait: KeyboardInterrupt, and what is true afterwards."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from conftest import TIMEOUT_S

import tern

TERN = os.path.dirname(tern.__file__)
SOON_S = 10  # the wait itself would take the deadline, 60 s


def interrupt_soon(number=signal.SIGINT, inside=TERN):
    """A signal for this process when its main thread has slept at one place in these files for a while:
    on a machine that is very busy it may stand still for long before it comes there."""
    main = threading.main_thread().ident

    def sleeps():
        with open(f"/proc/self/task/{os.getpid()}/stat") as stat:  # of the main thread
            return stat.read().rpartition(")")[2].split()[0] == "S"

    def watch():
        place, looks = None, 0
        while looks < 20:
            time.sleep(0.01)
            frame = sys._current_frames()[main]
            last, place = place, (frame.f_code, frame.f_lasti)
            if place != last or not frame.f_code.co_filename.startswith(inside):
                looks = 0
            elif sleeps():
                looks += 1
        os.kill(os.getpid(), number)

    threading.Thread(target=watch, daemon=True).start()


def interrupted(call, inside=TERN):
    """KeyboardInterrupt comes out of the call, before its deadline."""
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt_soon(inside=inside)
        call()
    assert time.monotonic() - begin < SOON_S


CALLS = {
    "barrier": lambda comm, window: comm.barrier(),
    "all_reduce": lambda comm, window: comm.all_reduce(np.ones(4)),
    "large all_reduce": lambda comm, window: comm.all_reduce(np.ones(1 << 20)),
    "recv": lambda comm, window: comm.recv(np.ones(4), 1),
    "request": lambda comm, window: comm.start.all_reduce(np.ones(4)).wait(),
    "wait_any": lambda comm, window: tern.wait_any([comm.start.all_reduce(np.ones(4))]),
    "wait": lambda comm, window: window.wait(0, 1),
    "split": lambda comm, window: comm.split(0),
    "window": lambda comm, window: comm.window(64),
}


def wait_for_ever(comm, name):
    """Rank 0 is interrupted; rank 1 waits for it in another way, and learns why that is in vain."""
    window = comm.window(64)
    if comm.rank == 0:
        interrupted(lambda: CALLS[name](comm, window))
    else:
        with pytest.raises(tern.InterruptedError, match="rank 0 was interrupted"):
            window.wait(0, 1)
    with pytest.raises(tern.InterruptedError, match="rank 0 was interrupted"):
        comm.barrier()
    comm.destroy()


@pytest.mark.parametrize("name", CALLS)
def test_the_communicator_fails_as_at_its_deadline(on_ranks, name):
    on_ranks(2, wait_for_ever, name)


def own_deadlines(comm):
    window = comm.window(64)
    if comm.rank == 0:
        interrupted(lambda: window.wait(0, 1, timeout=TIMEOUT_S))
        interrupted(lambda: tern.wait_any_signal([(window, 0, 1)], timeout=TIMEOUT_S))
        window.notify(1)
    else:
        window.wait(0, 1)
    comm.barrier()
    return comm.all_reduce(np.ones(1))[0]


def test_a_wait_with_a_deadline_of_its_own_ends_alone(on_ranks):
    assert on_ranks(2, own_deadlines) == [2, 2]


def handlers(comm):
    """A handler that returns does not end the wait; one that raises ends it with what it raises."""
    if comm.rank == 1:
        time.sleep(0.8)
        comm.barrier()
        with pytest.raises(tern.InterruptedError):
            comm.barrier()
        return
    seen = []
    signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    interrupt_soon(signal.SIGUSR1)
    comm.barrier()
    while not seen:  # it came after the call, on a machine that is very busy
        time.sleep(0.01)

    def stop(number, frame):
        raise LookupError("from the handler")

    signal.signal(signal.SIGUSR1, stop)
    with pytest.raises(LookupError, match="from the handler"):
        interrupt_soon(signal.SIGUSR1)
        comm.recv(np.ones(1), 1)


def test_handlers_run_in_a_wait(on_ranks):
    on_ranks(2, handlers)


def call_from_a_handler(comm):
    window = comm.window(64)
    if comm.rank == 1:
        window.wait(0, 1)
        comm.barrier()
        return
    errors = []

    def intrude(number, frame):
        try:
            comm.barrier()
        except tern.StateError as error:
            errors.append(str(error))
        window.notify(1)

    signal.signal(signal.SIGUSR1, intrude)
    interrupt_soon(signal.SIGUSR1)
    comm.barrier()
    assert "one at a time" in errors[0]


def test_a_handler_cannot_call_into_a_call(on_ranks):
    on_ranks(2, call_from_a_handler)


def other_threads(comm):
    """Handlers run in the main thread; a wait of another one goes on."""
    part = comm.split(0)
    if comm.rank == 1:
        time.sleep(1)
        part.barrier()
        return
    ended = []
    thread = threading.Thread(target=lambda: ended.append(part.barrier()))
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        interrupt_soon(inside=__file__)
        time.sleep(TIMEOUT_S)
    thread.join()
    assert ended == [None]


def test_a_wait_of_another_thread_goes_on(on_ranks):
    on_ranks(2, other_threads)


def test_joining_can_be_interrupted(tmp_path):
    interrupted(lambda: tern.init_at(0, 2, str(tmp_path / "meet"), timeout=2), threading.__file__)
    time.sleep(2.2)  # until the other thread has given up, so that nothing is left
