# SPDX-License-Identifier: Apache-2.0
"""input[i] = i + 100 rank; all ranks get that of the root."""

RTOL = 0  # numbers are copied
ATOL = 0

COUNT = 256


def generate_distributed_inputs(rank, nranks, root, comm_ctx=None):
    return [("input", [float(i + 100 * rank) for i in range(COUNT)])]


def compute_golden(tensors, params):
    tensors["output"][:] = [float(i + 100 * params["root"]) for i in range(COUNT)]
