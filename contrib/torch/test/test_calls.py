# SPDX-License-Identifier: Apache-2.0
"""All calls of c10d: what they give, for all dtypes, operations and layouts."""

import pytest
import torch
import torch.distributed as dist

from ranks import run

NUMBERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
           torch.bfloat16, torch.float32, torch.float64]
MOVED = [*NUMBERS, torch.bool, torch.complex64, torch.complex128]
SIZES = [1, 2, 3]


def values(rank, dtype, shape=(3, 5)):
    numbers = torch.arange(rank + 1, rank + 1 + torch.Size(shape).numel())
    return (numbers % (2 if dtype == torch.bool else 7)).reshape(shape).to(dtype)


@pytest.mark.parametrize("size", SIZES)
def test_all_reduce_of_every_dtype_and_op(size):
    ops = {dist.ReduceOp.SUM: torch.sum, dist.ReduceOp.PRODUCT: torch.prod,
           dist.ReduceOp.MIN: torch.amin, dist.ReduceOp.MAX: torch.amax}

    def rank_main(rank, size):
        for dtype in NUMBERS:
            all_ranks = torch.stack([values(r, dtype).double() for r in range(size)])
            for op, expected in ops.items():
                tensor = values(rank, dtype)
                dist.all_reduce(tensor, op)
                wide = expected(all_ranks, 0)
                assert torch.equal(tensor, wide.long().to(dtype) if not dtype.is_floating_point
                                   else wide.to(dtype)), (dtype, op)
            tensor = values(rank, dtype)
            dist.all_reduce(tensor, dist.ReduceOp.AVG)
            mean = all_ranks.sum(0) / size
            assert torch.equal(tensor, mean.trunc().to(dtype) if not dtype.is_floating_point
                               else mean.to(dtype)), dtype
    run(size, rank_main)


@pytest.mark.parametrize("size", SIZES)
def test_all_reduce_of_bits_bools_complex_and_scaled(size):
    def rank_main(rank, size):
        tensor = torch.tensor([1 << rank, 7, 5])
        for op, expected in ((dist.ReduceOp.BOR, [(1 << size) - 1, 7, 5]),
                             (dist.ReduceOp.BAND, [1 if size == 1 else 0, 7, 5]),
                             (dist.ReduceOp.BXOR, [(1 << size) - 1, 7 * (size % 2), 5 * (size % 2)])):
            out = tensor.clone()
            dist.all_reduce(out, op)
            assert out.tolist() == expected
        bools = torch.tensor([rank == 0, True, False])
        for op, expected in ((dist.ReduceOp.SUM, [True, True, False]),
                             (dist.ReduceOp.MIN, [size == 1, True, False])):
            out = bools.clone()
            dist.all_reduce(out, op)
            assert out.tolist() == expected
        out = torch.tensor([1 + 2j * rank, 3], dtype=torch.complex64)
        dist.all_reduce(out)
        assert out.tolist() == [size + 2j * sum(range(size)), 3 * size]
        out = torch.ones(3) * (rank + 1)
        dist.all_reduce(out, dist._make_nccl_premul_sum(0.5))
        assert out.tolist() == [sum(range(1, size + 1)) / 2] * 3
    run(size, rank_main)


def layouts(rank, dtype):
    """Tensors of every layout, with the same values."""
    plain = values(rank, dtype)
    wide = torch.zeros(6, 5, dtype=dtype)
    wide[::2] = plain
    return [plain.clone(), plain.t().contiguous().t(), wide[::2], plain[1, 2].clone(),
            plain[:0].clone()]


@pytest.mark.parametrize("size", SIZES)
def test_broadcast_reduce_and_layouts(size):
    def rank_main(rank, size):
        for root in range(size):
            for dtype in MOVED:
                for mine, expected in zip(layouts(rank, dtype), layouts(root, dtype)):
                    dist.broadcast(mine, root)
                    assert torch.equal(mine, expected), dtype
            for mine, before in zip(layouts(rank, torch.float32), layouts(rank, torch.float32)):
                dist.reduce(mine, root)
                if rank != root:
                    assert torch.equal(mine, before)
                else:
                    other = [layouts(r, torch.float32) for r in range(size)]
                    k = [i for i, t in enumerate(other[rank]) if t.shape == mine.shape][0]
                    assert torch.equal(mine, sum(t[k] for t in other))
        for mine, *others in zip(layouts(rank, torch.int32),
                                 *(layouts(r, torch.int32) for r in range(size))):
            dist.all_reduce(mine)
            assert torch.equal(mine, sum(others))
    run(size, rank_main)


@pytest.mark.parametrize("size", SIZES)
def test_gathers_and_scatters(size):
    def rank_main(rank, size):
        for dtype in MOVED:
            for k, mine in enumerate(layouts(rank, dtype)):
                expected = [layouts(r, dtype)[k] for r in range(size)]
                outs = [torch.empty_strided(mine.shape, mine.stride(), dtype=dtype)
                        for _ in range(size)]
                dist.all_gather(outs, mine)
                assert all(map(torch.equal, outs, expected)), (dtype, k)
                flat = torch.empty(size, *mine.shape, dtype=dtype)
                dist.all_gather(list(flat.unbind(0)), mine)
                assert torch.equal(flat, torch.stack(expected))
                flat = torch.empty(size * mine.numel(), dtype=dtype)
                dist._all_gather_base(flat, mine.contiguous())
                assert torch.equal(flat, torch.cat([t.reshape(-1) for t in expected]))
                root = size - 1
                outs = [torch.zeros_like(mine) for _ in range(size)] if rank == root else None
                dist.gather(mine, outs, dst=root)
                assert outs is None or all(map(torch.equal, outs, expected))
                out = torch.zeros_like(mine)
                dist.scatter(out, expected if rank == root else None, src=root)
                assert torch.equal(out, mine)
        lists = [[torch.zeros(2), torch.zeros(3)] for _ in range(size)]
        dist.all_gather_coalesced(lists, [torch.ones(2) * rank, torch.ones(3) * rank])
        for r, (a, b) in enumerate(lists):
            assert a.tolist() == [r] * 2 and b.tolist() == [r] * 3
        outs = [torch.zeros(r + 1) for r in range(size)]
        dist.all_gather(outs, torch.full((rank + 1,), float(rank)))
        assert [o.tolist() for o in outs] == [[r] * (r + 1) for r in range(size)]
        whole = torch.full((size, 4), -1.0)
        whole[rank] = rank
        dist.all_gather(list(whole.unbind(0)), whole[rank])
        assert whole[:, 0].tolist() == list(range(size))
        dist.all_gather(list(whole.unbind(0)), whole[size - 1])
        assert whole[:, 0].tolist() == [size - 1] * size
    run(size, rank_main)


@pytest.mark.parametrize("size", SIZES)
def test_reduce_scatter(size):
    def rank_main(rank, size):
        for dtype in NUMBERS:
            ins = [torch.full((4,), rank + r, dtype=dtype) for r in range(size)]
            expected = sum(range(size)) + rank * size
            out = torch.zeros(4, dtype=dtype)
            dist.reduce_scatter(out, ins)
            assert out.tolist() == [expected] * 4
            out = torch.zeros(4, dtype=dtype)
            dist._reduce_scatter_base(out, torch.cat(ins))
            assert out.tolist() == [expected] * 4
            flat = torch.cat(ins)
            mine = flat[rank * 4:rank * 4 + 4]
            dist._reduce_scatter_base(mine, flat)
            assert mine.tolist() == [expected] * 4
        uneven = [torch.full((r + 1,), float(rank)) for r in range(size)]
        out = torch.zeros(rank + 1)
        dist.reduce_scatter(out, uneven)
        assert out.tolist() == [sum(range(size))] * (rank + 1)
        dist.reduce_scatter(uneven[rank], uneven, op=dist.ReduceOp.MAX)
        assert uneven[rank].tolist() == [size - 1] * (rank + 1)
        tensors = [torch.ones(2), torch.ones(3, 2), torch.ones(4).long()]
        dist.all_reduce_coalesced(tensors[:2])
        assert tensors[0].tolist() == [size] * 2 and tensors[1].tolist() == [[size] * 2] * 3
    run(size, rank_main)


@pytest.mark.parametrize("size", SIZES)
def test_all_to_all(size):
    def rank_main(rank, size):
        out = torch.empty(size * 2, dtype=torch.int64)
        dist.all_to_all_single(out, torch.arange(size * 2) + 100 * rank)
        assert out.tolist() == [100 * r + rank * 2 + i for r in range(size) for i in (0, 1)]
        ins = [i + 1 for i in range(size)]
        outs = [rank + 1] * size
        out = torch.empty(sum(outs), 3)
        dist.all_to_all_single(out, torch.full((sum(ins), 3), float(rank)), outs, ins)
        assert out[:, 0].tolist() == [r for r in range(size) for _ in range(rank + 1)]
        got = [torch.empty(rank + 1) for _ in range(size)]
        dist.all_to_all(got, [torch.full((r + 1,), float(rank)) for r in range(size)])
        assert [t.tolist() for t in got] == [[r] * (rank + 1) for r in range(size)]
    run(size, rank_main)


@pytest.mark.parametrize("size", SIZES)
def test_sparse_all_reduce(size):
    def rank_main(rank, size):
        dense = torch.zeros(5, 3)
        dense[rank] = 1.0
        dense[4] = rank
        tensor = dense.to_sparse(1)
        dist.all_reduce(tensor)
        expected = torch.zeros(5, 3)
        expected[:size] = 1.0
        expected[4] = sum(range(size))
        assert torch.equal(tensor.to_dense(), expected)
    run(size, rank_main)


def test_work():
    def rank_main(rank, size):
        tensor = torch.ones(4)
        work = dist.all_reduce(tensor, async_op=True)
        assert work.wait() is True
        assert work.is_completed() and work.is_success()
        assert work.result()[0] is tensor or torch.equal(work.result()[0], tensor)
        works = [dist.all_reduce(torch.ones(1000), async_op=True) for _ in range(20)]
        futures = [work.get_future() for work in works]
        for future in reversed(futures):
            assert future.wait()[0][0].item() == size
        assert futures[0].then(lambda f: f.value()[0].sum().item()).wait() == 1000 * size
        tensor = torch.ones(3)
        work = dist.all_reduce(tensor, async_op=True)
        while not work.is_completed():
            pass
        assert tensor.tolist() == [size] * 3
        dist.barrier()
        assert dist.get_backend() == "tern"
        with torch.profiler.profile() as profile:
            dist.all_reduce(tensor)
        assert sum(e.name == "tern:all_reduce" for e in profile.events()) == 1
    run(3, rank_main)


def test_argument_errors_name_the_call_and_leave_the_group_well():
    def rank_main(rank, size):
        for call in (lambda: dist.all_reduce(torch.ones(2), dist.ReduceOp.BAND),
                     lambda: dist.all_gather([torch.ones(2)], torch.ones(2)),
                     lambda: dist.broadcast(torch.ones(2), 7),
                     lambda: dist.all_gather([torch.ones(2)] * size, torch.ones(3))):
            with pytest.raises((RuntimeError, ValueError), match="tern: "):
                call()
        tensor = torch.ones(2)
        dist.all_reduce(tensor)
        assert tensor.tolist() == [size] * 2
    run(2, rank_main)
