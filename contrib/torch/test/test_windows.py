# SPDX-License-Identifier: Apache-2.0
"""Tensors in windows, and the global allocator; with children of a fork, which must not share."""

import os
import subprocess
import sys

import pytest
import torch
import torch.distributed as dist

import tern_torch
from ranks import run


def test_empty():
    with pytest.raises(RuntimeError, match="process group"):
        tern_torch.empty(4)

    def rank_main(rank, size):
        for shape in ((3, 5), (0,), (), (1 << 18,)):
            tensor = tern_torch.empty(*shape, dtype=torch.float64)
            assert tensor.shape == torch.Size(shape) and tensor.dtype == torch.float64
            tensor.fill_(rank)
            dist.all_reduce(tensor)
            assert (tensor == sum(range(size))).all()
        assert tern_torch.empty((2, 3)).dtype == torch.float32
        kept.append(tern_torch.empty(1000).fill_(7))
        dist.destroy_process_group()
        assert kept[0].sum() == 7000  # outlives the group
    kept = []
    run(3, rank_main)


class Squares(torch.utils.data.Dataset):
    """Tensors of 16 KiB, made by whoever loads them."""

    def __init__(self):
        self.factor = torch.full((4096,), 2.0)

    def __len__(self):
        return 40

    def __getitem__(self, index):
        return torch.full((4096,), float(index)) * self.factor


def test_allocator_and_workers_of_a_data_loader():
    def rank_main(rank, size):
        tern_torch.use_windows()
        mine = [torch.full((5000,), float(i)) for i in range(50)]
        data = Squares()
        for _ in range(3):
            loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2)
            for batch, rows in enumerate(loader):
                sums = rows.sum(0)
                dist.all_reduce(sums)
                expected = size * 2 * sum(range(4 * batch, 4 * batch + 4))
                assert (sums == expected).all()
            more = [torch.full((5000,), -1.0) for _ in range(20)]
        assert all((tensor == i).all() for i, tensor in enumerate(mine))
        assert len(more) == 20
    run(2, rank_main)


def test_child_of_a_fork_has_memory_of_its_own():
    def rank_main(rank, size):
        tern_torch.use_windows()
        before = torch.zeros(1 << 16)
        del before  # so that a block is free
        child = os.fork()
        if child == 0:
            mine = torch.full((1 << 16,), 1.0)
            os._exit(0 if (mine == 1).all() else 1)
        mine = torch.full((1 << 16,), 2.0)
        assert os.waitpid(child, 0)[1] == 0
        assert (mine == 2).all()
        child = os.fork()
        if child == 0:
            try:
                dist.all_reduce(mine)
            except RuntimeError as error:
                os._exit(0 if "child of a fork" in str(error) else 1)
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        dist.all_reduce(mine)
        assert (mine == 2 * size).all()
    run(2, rank_main)


def test_a_program_that_does_not_destroy_its_group():
    code = ("import torch, torch.distributed as d, tern_torch\n"
            "d.init_process_group('tern', store=d.HashStore(), rank=0, world_size=1)\n"
            "kept = torch.ones(100000)\n"
            "work = d.all_reduce(kept, async_op=True)\n")
    for windows in ("0", "1"):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "TERN_TORCH_WINDOWS": windows}, check=False)
        assert (done.returncode, done.stderr) == (0, "")
