# SPDX-License-Identifier: Apache-2.0
"""What one thread closes while another uses it: StateError, never a crash; and calls of tern from
where there must be none."""

from __future__ import annotations

import concurrent.futures
import gc
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import TIMEOUT_S

import tern


def beside(call):
    """Runs a call on another thread, until it is well under way."""
    thread = threading.Thread(target=call)
    thread.start()
    while not any("_library" in frame.f_code.co_filename
                  for frame in [sys._current_frames().get(thread.ident)] if frame):
        assert thread.is_alive()
    return thread


def close_in_use(comm):
    window = comm.window(4096)
    waiting = beside(lambda: window.wait(0, 1, timeout=TIMEOUT_S))
    for call in (window.close, comm.destroy):
        with pytest.raises(tern.StateError, match="is in a call of a window"):
            call()
    window.notify(0)
    waiting.join()
    window.close()
    with tern.Session() as session:
        other = comm.window(4096)
        session._lock.acquire()
        for call in (session.close, lambda: session.put(other, 0, np.ones(4))):
            with pytest.raises(tern.StateError, match="another thread is in a call of this session"):
                call()
        session._lock.release()
    comm.destroy()


def test_a_window_in_use_is_not_closed(on_ranks):
    on_ranks(1, close_in_use)


def window_of_a_chip(comm):
    window, chip, graph = comm.window(4096), tern.Chip(comm), tern.Graph()
    graph.wait(graph.add(None), window, 0, 1)
    chip.launch(graph)
    with pytest.raises(tern.StateError, match="is in a call of a window"):
        window.close()
    gc.collect()
    window.notify(0)
    chip.synchronize()
    window.close()
    with pytest.raises(tern.StateError, match="the window is closed"):
        chip.run(graph)
    comm.destroy()


def test_a_window_that_a_chip_waits_for_is_not_closed(on_ranks):
    on_ranks(1, window_of_a_chip)


def test_a_thread_that_waits_at_the_end_of_the_program():
    program = ("import threading, time, tern\n"
               "comm = tern.init(); window = comm.window(64)\n"
               "threading.Thread(target=window.wait, args=(0, 1), daemon=True).start()\n"
               "time.sleep(0.3)\n")
    assert subprocess.run([sys.executable, "-c", program], timeout=TIMEOUT_S).returncode == 0


def calls_in_an_operation(comm):
    window, part = comm.window(64), comm.split(0)
    x = np.ones(1000, np.float32)
    part.all_reduce(x, x)  # known from now on
    for call in (lambda: window.wait(0, 1, timeout=0.1), comm.barrier, lambda: part.all_reduce(x, x),
                 part.start.barrier):
        with pytest.raises(tern.StateError, match="must not call tern"):
            comm.all_reduce(x, op=lambda result, other: call())
    assert comm.all_reduce(np.ones(8), op=np.add).tolist() == [comm.size] * 8
    comm.barrier()


def test_operations_do_not_call_tern(on_ranks):
    on_ranks(2, calls_in_an_operation)


def many_threads(comm):
    x, out, refused = np.ones(64, np.float32), np.empty(64, np.float32), []
    run = tern.Plan.make("all_reduce", "mesh:1", 256).prepare(comm, x, out)

    def go():
        while not comm.destroyed:
            for call in (lambda: comm.all_reduce(x, out), lambda: comm.alloc(4), run.run):
                try:
                    call()
                except tern.StateError:
                    refused.append(None)

    threads = [threading.Thread(target=go) for _ in range(3)]
    for thread in threads:
        thread.start()
    while not comm.destroyed:
        try:
            comm.destroy()
        except tern.StateError:
            refused.append(None)
    for thread in threads:
        thread.join()


def test_threads_get_their_turn_or_an_error(on_ranks):
    for _ in range(5):
        on_ranks(1, many_threads)


def blocks_at_the_end(comm):
    def go():
        while not comm.destroyed:
            for call in (lambda: comm.alloc(4), comm.health):
                try:
                    call()
                except tern.StateError as error:
                    assert "is destroyed" in str(error)

    sys.setswitchinterval(1e-6)  # between any two instructions
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        ends = [pool.submit(go) for _ in range(6)]
        comm.destroy()
        for end in ends:
            end.result(TIMEOUT_S)


def test_blocks_end_while_the_communicator_ends(on_ranks):
    for _ in range(40):
        on_ranks(1, blocks_at_the_end)


def waits_in_a_handler(comm):
    window = comm.window(64)

    def handler(*_):
        with pytest.raises(tern.TimeoutError):
            window.wait(0, 1, timeout=0.4)
        raise RuntimeError("after its own wait")

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    with pytest.raises(RuntimeError, match="after its own wait"):
        window.wait(0, 1, timeout=TIMEOUT_S)


def test_a_handler_may_wait(on_ranks, capfd):
    on_ranks(1, waits_in_a_handler)
    assert capfd.readouterr().err == ""
