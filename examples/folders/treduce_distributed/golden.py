# SPDX-License-Identifier: Apache-2.0
"""input[i] = i + 100 rank, so the root gets n i + 100 n (n - 1) / 2."""

RTOL = 0  # whole numbers far below 2^24: float32 adds them without rounding
ATOL = 0

COUNT = 256


def generate_distributed_inputs(rank, nranks, root, comm_ctx=None):
    return [("input", [float(i + 100 * rank) for i in range(COUNT)])]


def compute_golden(tensors, params):
    n = params["nranks"]
    tensors["output"][:] = [float(n * i + 50 * n * (n - 1)) for i in range(COUNT)]
