# SPDX-License-Identifier: Apache-2.0
"""y = sum over all ranks of x_rank @ w_rank, of 64 x 64 each."""

import numpy as np

# All numbers are positive, so no digits cancel: 64 products and n matrices are added, and each
# operation in float32 is wrong by at most 2^-24 of its result. (64 + 64) * 2^-24 < 1e-5.
RTOL = 1e-5
ATOL = 0

SIDE = 64


def shards(rank):
    """x and w of a rank, of (64, 64), float32."""
    numbers = np.arange(SIDE * SIDE, dtype=np.float64).reshape(SIDE, SIDE)
    x = (numbers + 0.25 * rank) / 32
    w = (numbers + 0.5 * (rank + 1)) / 48
    return x.astype(np.float32), w.astype(np.float32)


def generate_distributed_inputs(rank, nranks, root, comm_ctx=None):
    x, w = shards(rank)
    return [("x", x.ravel().tolist()), ("w", w.ravel().tolist())]


def compute_golden(tensors, params):
    y = np.zeros((SIDE, SIDE))
    for rank in range(params["nranks"]):
        x, w = shards(rank)
        y += x.astype(np.float64) @ w.astype(np.float64)
    tensors["y"][:] = y.ravel().tolist()
