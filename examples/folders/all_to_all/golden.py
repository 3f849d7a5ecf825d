# SPDX-License-Identifier: Apache-2.0
"""Rank s has 1000 s + 100 d + i for rank d, which finds them at place s of its output."""

RTOL = 0  # numbers are copied
ATOL = 0

COUNT = 64


def generate_distributed_inputs(rank, nranks, root, comm_ctx=None):
    return [
        ("input", [float(1000 * rank + 100 * d + i) for d in range(nranks) for i in range(COUNT)])
    ]


def compute_golden(tensors, params):
    n, rank = params["nranks"], params["rank"]
    tensors["output"][:] = [
        float(1000 * s + 100 * rank + i) for s in range(n) for i in range(COUNT)
    ]
