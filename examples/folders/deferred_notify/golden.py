# SPDX-License-Identifier: Apache-2.0
"""partial[i] = rank + 1 + i; a rank gets that of the next one."""

RTOL = 0  # numbers are copied
ATOL = 0

COUNT = 64 * 64


def generate_distributed_inputs(rank, nranks, root, comm_ctx=None):
    return [("partial", [float(rank + 1 + i) for i in range(COUNT)])]


def compute_golden(tensors, params):
    after = (params["rank"] + 1) % params["nranks"]
    tensors["result"][:] = [float(after + 1 + i) for i in range(COUNT)]
