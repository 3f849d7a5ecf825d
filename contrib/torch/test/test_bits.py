# SPDX-License-Identifier: Apache-2.0
"""The same bits whatever the buckets, and one rounding of the exact sum."""

import hashlib

import pytest
import torch
import torch.distributed as dist

from ranks import run

COUNT = 1_000_003


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_same_bits_for_every_bucket(size):
    def rank_main(rank, size):
        torch.manual_seed(rank)
        whole = torch.randn(COUNT)
        hashes = set()
        for bucket in (COUNT, 250_001, 65_536, 1_000):
            tensor = whole.clone()
            for part in tensor.split(bucket):
                dist.all_reduce(part)
            hashes.add(hashlib.sha256(tensor.numpy().tobytes()).hexdigest())
        assert len(hashes) == 1
        everybody = [None] * size
        dist.all_gather_object(everybody, hashes)
        assert all(other == hashes for other in everybody)
    run(size, rank_main)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_one_rounding(dtype):
    def rank_main(rank, size):
        tensors = []
        for other in range(size):
            torch.manual_seed(other)
            tensors.append(torch.randn(10007).to(dtype))
        mine = tensors[rank].clone()
        dist.all_reduce(mine)
        total = tensors[0].float()
        for tensor in tensors[1:]:
            total += tensor.float()
        assert torch.equal(mine, total.to(dtype))
    run(3, rank_main)
