# SPDX-License-Identifier: Apache-2.0
"""send, recv, from anybody, with tags, in any order, and beside collective calls."""

import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

import tern_torch
from ranks import run


def test_ring_of_every_size():
    def rank_main(rank, size):
        for count in (0, 1, 1000, 300000):
            for dtype in (torch.float32, torch.bool, torch.complex64, torch.bfloat16):
                out = torch.zeros(count, dtype=dtype)
                work = dist.irecv(out, (rank - 1) % size)
                dist.send(torch.ones(count, dtype=dtype), (rank + 1) % size)
                work.wait()
                assert torch.equal(out, torch.ones(count, dtype=dtype))
    run(3, rank_main)


def test_tags_match_in_any_order():
    def rank_main(rank, size):
        if rank == 0:
            works = [dist.isend(torch.full((3,), float(tag)), 1, tag=tag) for tag in range(5)]
            for work in works:
                work.wait()
        else:
            for tag in (4, 0, 2, 1, 3):
                out = torch.zeros(3)
                dist.recv(out, 0, tag=tag)
                assert out.tolist() == [tag] * 3
    run(2, rank_main)


def test_from_anybody():
    def rank_main(rank, size):
        if rank == 0:
            seen = []
            for _ in range(2 * (size - 1)):
                out = torch.zeros(2, dtype=torch.int64)
                source = dist.recv(out)
                assert out[0] == source
                seen.append(source)
            assert sorted(seen) == sorted(2 * list(range(1, size)))
        else:
            for i in range(2):
                dist.send(torch.tensor([rank, i]), 0)
    run(3, rank_main)


def test_messages_end_although_nobody_waits():
    def rank_main(rank, size):
        if rank == 0:
            work = dist.isend(torch.ones(1 << 20), 1)
            dist.barrier()
            assert work.wait()
        else:
            out = torch.zeros(1 << 20)
            work = dist.irecv(out, 0)
            while not work.is_completed():
                time.sleep(0.001)
            assert out[-1] == 1
            dist.barrier()
    run(2, rank_main)


def test_a_wrong_length_is_a_sentence():
    def rank_main(rank, size):
        if rank == 0:
            dist.send(torch.ones(4), 1)
        else:
            with pytest.raises(RuntimeError, match="4 elements"):
                dist.recv(torch.zeros(8), 0)
    run(2, rank_main)


def test_batches_and_collective_calls_in_other_orders():
    def rank_main(rank, size):
        for _ in range(20):
            out = torch.zeros(100)
            ops = [dist.P2POp(dist.irecv, out, 1 - rank), dist.P2POp(dist.isend, torch.ones(100), 1 - rank)]
            works = dist.batch_isend_irecv(ops if rank == 0 else ops[::-1])
            tensor = torch.ones(10)
            dist.all_reduce(tensor)
            for work in works:
                work.wait()
            assert out.sum() == 100 and tensor[0] == size
    run(2, rank_main)


def test_a_wait_that_is_over_time():
    def rank_main(rank, size):
        if rank == 0:
            work = dist.irecv(torch.zeros(1), 1)
            with pytest.raises(RuntimeError, match="Timed out"):
                work.wait(timedelta(milliseconds=50))
            dist.barrier()
            assert work.wait()
        else:
            dist.barrier()
            dist.send(torch.ones(1), 0)
    run(2, rank_main)
