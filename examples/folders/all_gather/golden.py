# SPDX-License-Identifier: Apache-2.0
"""input[i] = i + 100 rank; the output has the inputs of all ranks, one after the other."""

RTOL = 0  # numbers are copied
ATOL = 0

COUNT = 64


def generate_distributed_inputs(rank, nranks, root, comm_ctx=None):
    return [("input", [float(i + 100 * rank) for i in range(COUNT)])]


def compute_golden(tensors, params):
    tensors["output"][:] = [
        float(i + 100 * rank) for rank in range(params["nranks"]) for i in range(COUNT)
    ]
