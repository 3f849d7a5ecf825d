# SPDX-License-Identifier: Apache-2.0
"""input[i] = i + 100 rank; a rank's part of the sum begins at 64 rank."""

RTOL = 0  # whole numbers far below 2^24: float32 adds them in any order without rounding
ATOL = 0

COUNT = 64


def generate_distributed_inputs(rank, nranks, root, comm_ctx=None):
    return [("input", [float(i + 100 * rank) for i in range(COUNT * nranks)])]


def compute_golden(tensors, params):
    n, rank = params["nranks"], params["rank"]
    tensors["output"][:] = [
        float(n * (rank * COUNT + i) + 50 * n * (n - 1)) for i in range(COUNT)
    ]
