#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a model of the size of MNIST's on generated digits, with DistributedDataParallel:

    make torch
    export PYTHONPATH=build/torch
    build/release/bin/tern run -n 2 /usr/bin/python3 examples/torch_ddp/train.py tern
    build/release/bin/tern run -n 2 /usr/bin/python3 examples/torch_ddp/train.py gloo

prints the time of a step, the share of it that communication takes, and whether the loss has the same bits
for two sizes of DDP's buckets. TERN_TORCH_WINDOWS=1: all tensors in windows."""

import argparse
import statistics
import struct
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def digits(count, seed):
    """Images of 28 x 28 with the strokes of a seven-segment display, and noise; their numbers."""
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randint(10, (count,), generator=generator)
    lit = torch.tensor([[1, 1, 1, 0, 1, 1, 1], [0, 0, 1, 0, 0, 1, 0], [1, 0, 1, 1, 1, 0, 1],
                        [1, 0, 1, 1, 0, 1, 1], [0, 1, 1, 1, 0, 1, 0], [1, 1, 0, 1, 0, 1, 1],
                        [1, 1, 0, 1, 1, 1, 1], [1, 0, 1, 0, 0, 1, 0], [1, 1, 1, 1, 1, 1, 1],
                        [1, 1, 1, 1, 0, 1, 1]], dtype=torch.float32)
    strokes = torch.zeros(7, 28, 28)
    for k, (top, bottom, left, right) in enumerate(
            ((3, 6, 7, 21), (4, 14, 6, 9), (4, 14, 19, 22), (12, 15, 7, 21), (14, 24, 6, 9),
             (14, 24, 19, 22), (22, 25, 7, 21))):
        strokes[k, top:bottom, left:right] = 1
    images = torch.einsum("ns,shw->nhw", lit[numbers], strokes).clamp(max=1)
    images += 0.3 * torch.randn(images.shape, generator=generator)
    return images.unsqueeze(1), numbers


def model():
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 5, stride=2), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, stride=2),
        torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(800, 128), torch.nn.ReLU(),
        torch.nn.Linear(128, 10))


def no_communication(_, bucket):
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def train(images, numbers, steps, bucket_mb, hook=None):
    """(bits of the last loss, its value, median seconds of a step)."""
    net = DistributedDataParallel(model(), bucket_cap_mb=bucket_mb)
    if hook is not None:
        net.register_comm_hook(None, hook)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    times = []
    for step in range(steps):
        begun = time.perf_counter()
        rows = slice(step * 32 % len(images), step * 32 % len(images) + 32)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(images[rows]), numbers[rows])
        loss.backward()
        optimizer.step()
        times.append(time.perf_counter() - begun)
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    mean /= dist.get_world_size()
    return struct.pack("f", mean.item()).hex(), mean.item(), statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("backend", nargs="?", default="tern", choices=("tern", "gloo"))
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    if args.backend == "tern":
        import tern_torch  # noqa: F401  (registers the backend)
    torch.set_num_threads(1)
    dist.init_process_group(args.backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    images, numbers = digits(1024, seed=rank)
    bits, loss, seconds = train(images, numbers, args.steps, bucket_mb=25)
    other_bits, _, _ = train(images, numbers, args.steps, bucket_mb=0.05)
    alone = train(images, numbers, args.steps, 25, no_communication)[2]
    if rank == 0:
        share = max(0.0, 100 * (seconds - alone) / seconds)
        same = "the same bits" if bits == other_bits else f"other bits ({bits}, {other_bits})"
        print(f"{args.backend}, {size} ranks: {1000 * seconds:.2f} ms a step, {share:.0f} % of it communication; "
              f"loss {loss:.4f}, {same} for two bucket sizes")
    dist.destroy_process_group()
    sys.exit(1 if args.backend == "tern" and bits != other_bits else 0)


if __name__ == "__main__":
    main()
