# SPDX-License-Identifier: Apache-2.0
"""out = 2 in, and result = out + 1: the counter stands at 1 when the consumer may read it."""

RTOL = 0  # whole numbers and halves far below 2^23
ATOL = 0

COUNT = 128 * 128


def numbers(rank):
    return [(i % 97) / 2 + 100 * rank for i in range(COUNT)]


def generate_distributed_inputs(rank, nranks, root, comm_ctx=None):
    return [("in", numbers(rank)), ("notify_counter", [0])]


def compute_golden(tensors, params):
    doubled = [2 * number for number in numbers(params["rank"])]
    tensors["out"][:] = doubled
    tensors["result"][:] = [number + 1 for number in doubled]
