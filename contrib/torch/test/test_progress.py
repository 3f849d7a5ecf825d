# SPDX-License-Identifier: Apache-2.0
"""Calls end although nobody waits for them, in any order across groups, from several threads."""

import threading
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from ranks import run


def test_calls_end_although_nobody_touches_them():
    def rank_main(rank, size):
        tensor = torch.ones(4)
        work = dist.all_reduce(tensor, async_op=True)
        until = time.monotonic() + 10
        while tensor[0] != size and time.monotonic() < until:
            time.sleep(0.001)
        assert tensor.tolist() == [size] * 4
        work.wait()
    run(3, rank_main)


def test_groups_in_other_orders():
    def rank_main(rank, size):
        first, second = dist.new_group(), dist.new_group()
        for turn in range(20):
            a, b = torch.ones(3), torch.ones(3)
            work = dist.all_reduce(a, group=first, async_op=True)
            if rank == 0:
                dist.all_reduce(b, group=second)
                work.wait()
            else:
                work.wait()
                dist.all_reduce(b, group=second)
            assert a[0] == size and b[0] == size, turn
    run(3, rank_main)


def test_a_message_behind_a_call_that_nobody_waits_for():
    def rank_main(rank, size):
        group = dist.new_group()
        tensor, out = torch.ones(3), torch.zeros(3)
        if rank == 0:
            work = dist.all_reduce(tensor, async_op=True)
            dist.recv(out, 1, group=group)
            work.wait()
        else:
            dist.all_reduce(tensor)
            dist.send(tensor, 0, group=group)
        assert tensor[0] == size
    run(2, rank_main)


def test_threads_of_several_groups():
    def rank_main(rank, size):
        groups = [dist.new_group() for _ in range(3)]
        failures = []

        def thread_main(group, which):
            try:
                for i in range(200):
                    tensor = torch.full((5,), float(i + which))
                    dist.all_reduce(tensor, group=group)
                    assert tensor[0] == size * (i + which)
            except BaseException as error:  # pylint: disable=broad-except
                failures.append(error)
        threads = [threading.Thread(target=thread_main, args=(group, k))
                   for k, group in enumerate(groups)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures
    run(2, rank_main)


def test_groups_of_some_members():
    def rank_main(rank, size):
        pairs = [dist.new_group([0, 1]), dist.new_group([1, 2]), dist.new_group([2, 0])]
        for members, group in zip(([0, 1], [1, 2], [2, 0]), pairs):
            if rank in members:
                tensor = torch.tensor([1 << rank])
                dist.all_reduce(tensor, group=group)
                assert tensor.item() == sum(1 << r for r in members)
                dist.destroy_process_group(group)
    run(3, rank_main)


def test_objects_and_a_wait_that_is_over_time():
    def rank_main(rank, size):
        objects = [None] * size
        dist.all_gather_object(objects, {"rank": rank})
        assert objects == [{"rank": r} for r in range(size)]
        box = [f"from {rank}"]
        dist.broadcast_object_list(box, 1)
        assert box == ["from 1"]
        work = dist.barrier(async_op=True)
        if rank == 0:
            with pytest.raises(RuntimeError, match="Timed out"):
                dist.all_reduce(torch.ones(1), async_op=True).wait(timedelta(milliseconds=50))
        else:
            time.sleep(0.3)
            work.wait()
            dist.all_reduce(torch.ones(1))
    run(2, rank_main)


def test_data_parallel_model():
    def rank_main(rank, size):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 4))
        alone = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 4))
        alone.load_state_dict(model.state_dict())
        parallel = torch.nn.parallel.DistributedDataParallel(model)
        torch.manual_seed(2)
        data = torch.randn(3, size, 6, 20)
        optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, alone)]
        for step in range(3):
            parallel(data[step, rank]).pow(2).mean().backward()
            alone(data[step].reshape(-1, 20)).pow(2).mean().backward()
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
        for a, b in zip(model.parameters(), alone.parameters()):
            assert torch.allclose(a, b, atol=1e-6)
    run(3, rank_main)
