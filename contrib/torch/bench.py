#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much faster than Gloo: the time of a call with Gloo over that with tern, in ordinary tensors and in
windows. Every cell is measured in turns in one run, so that what else the machine does meets all alike.

    bench.py [-n 2,4] [--rounds 5] [--kinds all_reduce,...] [--ddp]

Each cell has the ratio of medians over all rounds, and in brackets the least and the greatest ratio of one
round. With --ddp, steps of DistributedDataParallel: what a backend adds to a step whose communication
hook does nothing."""

import argparse
import os
import statistics
import sys
import tempfile
import time
from datetime import timedelta

import torch
import torch.distributed as dist

sys.path.pop(0)  # the sources beside this file are not the package
import tern_torch  # noqa: E402

SIZES = (8, 1 << 10, 32 << 10, 1 << 20, 64 << 20)


def calls(kind, tensor, group, size, make):
    """A function that makes one call of the kind; tensor has the bytes of the table."""
    n = tensor.numel()
    if kind == "all_reduce":
        return lambda: dist.all_reduce(tensor, group=group)
    if kind == "broadcast":
        return lambda: dist.broadcast(tensor, 0, group=group)
    if kind == "reduce":
        return lambda: dist.reduce(tensor, 0, group=group)
    if kind == "all_gather":
        outs = [make(n) for _ in range(size)]
        return lambda: dist.all_gather(outs, tensor, group=group)
    if kind == "all_to_all":  # Gloo: of one tensor only
        whole, out = make(n - n % size), make(n - n % size)
        return lambda: dist.all_to_all_single(out, whole, group=group)
    if kind == "barrier":
        return lambda: dist.barrier(group=group)
    if kind == "send":
        rank = dist.get_rank()
        if rank > 1:
            return lambda: None

        def ping_pong():
            for sender in (0, 1):
                (dist.send if rank == sender else dist.recv)(tensor, 1 - rank, group=group)
        return ping_pong
    raise SystemExit(f"bench.py: no kind {kind}")


def timed(call, seconds, group):
    """Microseconds of a call, as the slowest rank has it."""
    call()
    dist.barrier(group)
    begun = time.perf_counter()
    call()
    once = torch.tensor([time.perf_counter() - begun])
    dist.all_reduce(once, dist.ReduceOp.MAX, group=group)
    runs = max(3, min(2000, int(seconds / max(once.item(), 1e-6))))
    dist.barrier(group)
    begun = time.perf_counter()
    for _ in range(runs):
        call()
    took = torch.tensor([(time.perf_counter() - begun) / runs * 1e6])
    dist.all_reduce(took, dist.ReduceOp.MAX, group=group)
    return took.item()


def window(count):
    return tern_torch.empty(max(count, 1)).fill_(0)[:count]


def table(kinds, rounds, seconds, rank, size):
    gloo, tern = dist.new_group(backend="gloo"), dist.group.WORLD
    for kind in kinds:
        for nbytes in SIZES if kind != "barrier" else (8,):
            makes = [(gloo, torch.zeros), (tern, torch.zeros), (tern, window)]
            prepared = [(calls(kind, make(nbytes // 4), group, size, make), group)
                        for group, make in makes]
            took = [[timed(call, seconds, group) for call, group in prepared] for _ in range(rounds)]
            if rank != 0:
                continue
            columns = [statistics.median(column) for column in zip(*took)]
            cells = []
            for k in (1, 2):
                ratios = [row[0] / row[k] for row in took]
                cells.append(f"{columns[0] / columns[k]:6.1f} [{min(ratios):.1f}, {max(ratios):.1f}]")
            print(f"| {kind} | {size} | {nbytes} | {columns[0]:.1f} | {columns[1]:.1f} | {columns[2]:.1f} |"
                  f" {cells[0]} | {cells[1]} |", flush=True)


MODELS = {
    "MLP of 10 M, batch 8": (lambda: torch.nn.Sequential(
        torch.nn.Linear(1024, 3072), torch.nn.ReLU(), torch.nn.Linear(3072, 2048), torch.nn.ReLU(),
        torch.nn.Linear(2048, 10)), (8, 1024)),
    "MLP of 10 M, batch 64": (lambda: torch.nn.Sequential(
        torch.nn.Linear(1024, 3072), torch.nn.ReLU(), torch.nn.Linear(3072, 2048), torch.nn.ReLU(),
        torch.nn.Linear(2048, 10)), (64, 1024)),
}


def nothing(_, bucket):
    """A hook that leaves each rank its own gradients."""
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def step_of(build, shape, group, hook):
    torch.manual_seed(1)
    model = torch.nn.parallel.DistributedDataParallel(build(), process_group=group)
    if hook is not None:
        model.register_comm_hook(None, hook)
    data = torch.randn(*shape)

    def step():
        model(data).sum().backward()
    return step


def ddp(rounds, seconds, rank):
    gloo, tern = dist.new_group(backend="gloo"), dist.group.WORLD
    for name, (build, shape) in MODELS.items():
        steps = [(step_of(build, shape, gloo, None), gloo), (step_of(build, shape, tern, None), tern)]
        tern_torch.use_windows()
        steps.append((step_of(build, shape, tern, None), tern))
        tern_torch.use_windows(False)
        steps.append((step_of(build, shape, tern, nothing), tern))
        took = [[timed(step, seconds, group) for step, group in steps] for _ in range(rounds)]
        if rank == 0:
            *with_calls, empty = [statistics.median(column) for column in zip(*took)]
            shares = [f"{(full - empty) / 1000:.2f} ms ({100 * (full - empty) / full:.0f} %)"
                      for full in with_calls]
            print(f"| {name} | {empty / 1000:.2f} ms | {' | '.join(shares)} |", flush=True)


def rank_main(rank, size, path, args):
    torch.set_num_threads(1)
    dist.init_process_group("tern", store=dist.FileStore(path, size), rank=rank, world_size=size,
                            timeout=timedelta(minutes=5))
    if args.ddp:
        ddp(args.rounds, args.seconds, rank)
    else:
        table(args.kinds.split(","), args.rounds, args.seconds, rank, size)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-n", default="2,4")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.05, help="of one measurement")
    parser.add_argument("--kinds", default="all_reduce,broadcast,reduce,all_gather,all_to_all,barrier,send")
    parser.add_argument("--ddp", action="store_true")
    args = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, torch {torch.__version__}")
    if args.ddp:
        print("| model | empty hook | Gloo adds | tern adds | in windows |\n| --- | --- | --- | --- | --- |")
    else:
        print("| kind | ranks | bytes | Gloo us | tern us | windows us | Gloo / tern | Gloo / windows |\n"
              "| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for size in map(int, args.n.split(",")):
        path = tempfile.mktemp(prefix="tern-torch-bench-")
        torch.multiprocessing.start_processes(rank_main, (size, path, args), nprocs=size,
                                              start_method="fork")
        if os.path.exists(path):
            os.unlink(path)


if __name__ == "__main__":
    main()
