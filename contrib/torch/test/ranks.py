# SPDX-License-Identifier: Apache-2.0
"""Ranks of a test: forked processes with a store between them, and a deadline that ends them all."""

import os
import signal
import tempfile
import time
import traceback
from datetime import timedelta

import torch.distributed as dist

import tern_torch  # noqa: F401  (registers the backend)


def fork(size, body):
    """Forks processes that call body(rank); [pid], and where their tracebacks come from."""
    reading, writing = os.pipe()
    pids = []
    for rank in range(size):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.close(reading)
                body(rank)
                status = 0
            except BaseException:  # pylint: disable=broad-except
                os.write(writing, f"rank {rank}:\n{traceback.format_exc()}".encode()[:4000])
            os._exit(status)  # what atexit has belongs to pytest
        pids.append(pid)
    os.close(writing)
    return pids, reading


def start(size, function, backend="tern", timeout=timedelta(seconds=30)):
    """Forks the ranks of a process group, which call function(rank, size)."""
    path = tempfile.mktemp(prefix="tern-torch-test-")

    def body(rank):
        store = dist.FileStore(path, size)
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timeout)
        function(rank, size)
        if dist.is_initialized():
            dist.destroy_process_group()
    return *fork(size, body), path


def end(started, deadline=60.0, killed=()):
    """Waits for the ranks, and fails with what they said if one failed that was not killed."""
    pids, reading, *paths = started
    until = time.monotonic() + deadline
    left, failed, late = dict(enumerate(pids)), [], []
    while left and time.monotonic() < until:
        for rank, pid in list(left.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done != 0:
                del left[rank]
                if status != 0 and rank not in killed:
                    failed.append(rank)
        time.sleep(0.002)
    for rank, pid in left.items():
        late.append(rank)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    words = b""
    while chunk := os.read(reading, 65536):
        words += chunk
    os.close(reading)
    for path in filter(os.path.exists, paths):
        os.unlink(path)
    assert not late, f"ranks {late} had not ended in {deadline} s\n{words.decode()}"
    assert not failed, f"ranks {failed} failed\n{words.decode()}"


def run(size, function, **options):
    """function(rank, size) on each rank of a process group."""
    end(start(size, function, **options))
