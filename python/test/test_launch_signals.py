# SPDX-License-Identifier: Apache-2.0
"""tern.launch, interrupted at any moment; and its deadline."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest
from conftest import TIMEOUT_S

import tern
from tern import launcher


class Alarm(BaseException):
    """What the handler raises."""


def test_a_handler_that_raises_at_any_moment_leaves_nothing(on_ranks):
    def handler(*_):
        raise Alarm

    mine, fds = os.getpid(), len(os.listdir("/proc/self/fd"))
    before = signal.signal(signal.SIGALRM, handler)
    try:
        raised = 0
        for i in range(60):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0005 + i * 0.0008, 0.003 if i % 2 else 0)
                on_ranks(3, lambda comm: time.sleep(0.01) or comm.rank)
            except Alarm:
                raised += 1
            except tern.LaunchError as error:  # a rank has the handler, too, but no timer
                raise AssertionError(str(error)) from None
            finally:
                while True:
                    try:
                        signal.setitimer(signal.ITIMER_REAL, 0)
                        break
                    except Alarm:
                        raised += 1
            assert os.getpid() == mine  # a rank goes on with nothing of the caller
    finally:
        signal.signal(signal.SIGALRM, before)
    gc.collect()  # what was made in the moment before a handler raised, and has no name
    assert raised > 0 and len(os.listdir("/proc/self/fd")) == fds
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()


def test_what_raises_at_any_line_of_the_end_leaves_nothing(on_ranks, monkeypatch):
    """After a fork the caller's pages are copied as it touches them, which takes milliseconds on some
    machines: then signals do come at two neighbouring lines."""
    def interrupted(job, *args, fork=launcher._Job.fork):
        fork(job, *args)
        sys.settrace(trace)
        sys._getframe(1).f_trace = trace  # launch itself, which has begun
        raise Alarm

    def trace(frame, event, _):
        nonlocal lines
        if frame.f_code.co_filename != launcher.__file__ or frame.f_code.co_name == "_no_signals":
            return None  # in which none comes
        lines += event == "line"
        if lines == at:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    monkeypatch.setattr(launcher._Job, "fork", interrupted)
    at = lines = 0
    while lines >= at:
        at, lines = at + 1, 0
        with pytest.raises((Alarm, KeyboardInterrupt)):
            on_ranks(1, lambda comm: time.sleep(TIMEOUT_S))
        sys.settrace(None)
        assert not os.listdir(tempfile.gettempdir())
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()
    assert at > 20


def test_what_raises_just_after_a_fork_knows_the_rank(on_ranks, monkeypatch):
    def interrupted(job, *args, fork=launcher._Job.fork):
        fork(job, *args)
        raise KeyboardInterrupt

    monkeypatch.setattr(launcher._Job, "fork", interrupted)
    with pytest.raises(KeyboardInterrupt):
        on_ranks(2, lambda comm: time.sleep(TIMEOUT_S))
    monkeypatch.setattr(launcher.os, "setpgid", interrupted_call)
    with pytest.raises(KeyboardInterrupt):
        on_ranks(2, lambda comm: time.sleep(TIMEOUT_S))


def interrupted_call(*_):
    raise KeyboardInterrupt


def test_standard_streams_that_are_closed():
    program = ("import os, sys, tern\n"
               "def work(comm):\n"
               "    assert os.read(0, 1) == b''\n"
               "    comm.barrier()\n"
               "    return comm.rank\n"
               "got = tern.launch(work, 3, timeout=30)\n"
               "sys.exit(0 if got == [0, 1, 2] else 7)\n")
    for closed in ("<&-", ">&-", "<&- >&- 2>&-"):
        done = subprocess.run(
            ["bash", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, program],
            timeout=TIMEOUT_S, check=False)
        assert done.returncode == 0, closed


def test_the_deadline_of_waits_is_that_of_the_environment(on_ranks, monkeypatch):
    monkeypatch.setenv("TERN_TIMEOUT", "1")
    with pytest.raises(tern.LaunchError) as caught:
        on_ranks(2, lambda comm: comm.recv(np.empty(4), 1) if comm.rank == 0 else time.sleep(5))
    assert isinstance(caught.value.__cause__, tern.TimeoutError)


def test_numbers_of_numpy(on_ranks):
    assert on_ranks(np.int64(2), lambda comm: comm.rank) == [0, 1]


class Unsayable(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def test_an_exception_without_words(on_ranks):
    def fail(comm):
        raise Unsayable

    with pytest.raises(tern.LaunchError, match="rank 0 of 1 raised Unsayable"):
        on_ranks(1, fail)
