# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with a rank is a Python exception with a sentence on every other one."""

import os
import random
import signal
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from torch._C._distributed_c10d import AllgatherOptions

from ranks import end, run, start

CALLS = {
    "all_reduce": lambda rank, size: dist.all_reduce(torch.ones(1000)),
    "all_gather": lambda rank, size: dist.all_gather([torch.ones(9) for _ in range(size)], torch.ones(9)),
    "reduce_scatter": lambda rank, size: dist.reduce_scatter(
        torch.ones(9), [torch.ones(9) for _ in range(size)]),
    "all_to_all": lambda rank, size: dist.all_to_all_single(torch.ones(size), torch.ones(size)),
    "barrier": lambda rank, size: dist.barrier(),
    "broadcast": lambda rank, size: dist.broadcast(torch.ones(9), 1),
    "reduce": lambda rank, size: dist.reduce(torch.ones(9), 0),
    "gather": lambda rank, size: dist.gather(
        torch.ones(9), [torch.ones(9) for _ in range(size)] if rank == 0 else None, 0),
    "scatter": lambda rank, size: dist.scatter(torch.ones(9), None, 1),
    "send": lambda rank, size: dist.send(torch.ones(9), 1),
    "recv": lambda rank, size: dist.recv(torch.ones(9), 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_killed(name):
    def rank_main(rank, size):
        dist.barrier()
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        with pytest.raises(RuntimeError, match="rank 1"):
            while True:
                CALLS[name](rank, size)
    end(start(3, rank_main), killed={1})


def test_killed_while_calls_are_asynchronous():
    def rank_main(rank, size):
        dist.barrier()
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        with pytest.raises(RuntimeError, match="rank 1"):
            while True:
                dist.all_reduce(torch.ones(10), async_op=True).get_future().wait()
    end(start(3, rank_main), killed={1})


def test_late():
    """With a deadline of the call: one of the group, which it is made with, too, is too short on a loaded
    machine."""
    reading, writing = os.pipe()

    def rank_main(rank, size):
        dist.barrier()
        options = dist.AllreduceOptions()
        options.timeout = timedelta(milliseconds=300)
        if rank == 1:
            os.read(reading, 1)  # until rank 0 has given up
        with pytest.raises(RuntimeError, match="Timed out.*rank 0 waited 0.3 s.*rank 1 is not waiting in tern"):
            dist.distributed_c10d._get_default_group().allreduce([torch.ones(3)], options).wait()
        os.write(writing, b"x")
    run(2, rank_main)
    os.close(reading)
    os.close(writing)


SHORT = timedelta(milliseconds=300)
ONE = torch.ones(3)


def with_deadline(options, root=None):
    options.timeout = SHORT
    if root is not None:
        options.rootRank = root
    return options


# Those of rank 0 that need rank 1.
LATE = {
    "all_reduce": lambda group: group.allreduce([ONE], with_deadline(dist.AllreduceOptions())),
    "broadcast": lambda group: group.broadcast([ONE], with_deadline(dist.BroadcastOptions(), 1)),
    "reduce": lambda group: group.reduce([ONE], with_deadline(dist.ReduceOptions(), 0)),
    "all_gather": lambda group: group.allgather(
        [[ONE.clone(), ONE.clone()]], [ONE], with_deadline(AllgatherOptions())),
    "gather": lambda group: group.gather(
        [[ONE.clone(), ONE.clone()]], [ONE], with_deadline(dist.GatherOptions(), 0)),
    "scatter": lambda group: group.scatter([ONE], [], with_deadline(dist.ScatterOptions(), 1)),
    "reduce_scatter": lambda group: group.reduce_scatter(
        [ONE.clone()], [[ONE, ONE]], with_deadline(dist.ReduceScatterOptions())),
    "all_to_all": lambda group: group.alltoall_base(
        torch.ones(2), torch.ones(2), [], [], with_deadline(dist.AllToAllOptions())),
    "barrier": lambda group: group.barrier(with_deadline(dist.BarrierOptions())),
}


@pytest.mark.parametrize("name", LATE)
def test_stopped(name):
    reading, writing = os.pipe()

    def rank_main(rank, size):
        dist.barrier()
        if rank == 1:
            os.write(writing, b"%d" % os.getpid())
            os.kill(os.getpid(), signal.SIGSTOP)
        peer = int(os.read(reading, 20))
        with pytest.raises(RuntimeError, match="Timed out.*rank 0 waited 0.3 s.*rank 1 "):
            LATE[name](dist.distributed_c10d._get_default_group()).wait()
        os.kill(peer, signal.SIGKILL)
    end(start(2, rank_main), killed={1})
    os.close(reading)
    os.close(writing)


def test_left():
    def rank_main(rank, size):
        dist.barrier()
        if rank == 1:
            dist.destroy_process_group()
            return
        with pytest.raises(RuntimeError, match="rank 1"):
            dist.all_reduce(torch.ones(3))
    run(2, rank_main)


MISMATCHES = {
    "dtype": lambda rank: dist.all_reduce(torch.ones(4, dtype=[torch.float32, torch.int32][rank])),
    "bool for u8": lambda rank: dist.all_gather(
        [torch.ones(4, dtype=[torch.float32, torch.int32][rank])] * 2,
        torch.ones(4, dtype=[torch.float32, torch.int32][rank])),
    "count": lambda rank: dist.all_reduce(torch.ones(4 + rank)),
    "op": lambda rank: dist.all_reduce(torch.ones(4), [dist.ReduceOp.SUM, dist.ReduceOp.MAX][rank]),
    "root": lambda rank: (dist.broadcast(torch.ones(4), rank), dist.barrier()),
    "kind": lambda rank: dist.all_reduce(torch.ones(4)) if rank else dist.barrier(),
    "splits": lambda rank: dist.all_to_all_single(torch.ones(4), torch.ones(4), [1, 3], [2, 2]),
}


@pytest.mark.parametrize("field", MISMATCHES)
def test_mismatch(field):
    def rank_main(rank, size):
        dist.barrier()
        with pytest.raises(RuntimeError, match="rank [01]"):
            MISMATCHES[field](rank)
    run(2, rank_main)


@pytest.mark.parametrize("seed", range(int(os.environ.get("TERN_TORCH_KILLS", "4"))))
def test_killed_at_random_in_a_training_loop(seed):
    """With TERN_TORCH_KILLS=300: a soak."""
    reading, writing = os.pipe()

    def rank_main(rank, size):
        torch.manual_seed(1)
        os.write(writing, b"x")
        with pytest.raises(RuntimeError, match="rank|left|died"):
            model = torch.nn.parallel.DistributedDataParallel(
                torch.nn.Sequential(torch.nn.Linear(50, 80), torch.nn.ReLU(), torch.nn.Linear(80, 3)),
                bucket_cap_mb=0.005)
            while True:
                model(torch.randn(4, 50)).sum().backward()
    chance = random.Random(seed)
    started = start(3, rank_main)
    os.close(writing)
    for _ in started[0]:
        os.read(reading, 1)  # they have a group
    time.sleep(chance.uniform(0, 0.1))
    victim = chance.randrange(3)
    os.kill(started[0][victim], signal.SIGKILL)
    end(started, killed={victim})
    os.close(reading)
    assert not [name for pid in started[0] for name in os.listdir("/tmp")
                if name.startswith(f"tern-torch-{pid}-")]
