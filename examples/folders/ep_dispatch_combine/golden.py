# SPDX-License-Identifier: Apache-2.0
"""What each expert receives, and what becomes of each token."""

import numpy as np

# Whole numbers, eighths and quarters, whose products and sums have far less than 24 bits: float32
# does not round them, so the order of additions does not matter.
RTOL = 0
ATOL = 0

TOKENS, CHOICES, WIDTH, EXPERTS, ROWS = 16, 2, 64, 2, 64


def tokens_of(rank):
    """x of a rank, of (TOKENS, WIDTH), float32."""
    return ((np.arange(TOKENS * WIDTH) * 7 + rank * 3) % 17 - 8.0).reshape(TOKENS, WIDTH)


def choices_of(rank, nranks):
    """The experts of each token, numbered over all ranks, of (TOKENS, CHOICES); no expert twice."""
    experts = nranks * EXPERTS
    first = (np.arange(TOKENS) * 5 + rank * 3) % experts
    second = (first + 1 + (np.arange(TOKENS) + rank) % (experts - 1)) % experts
    return np.stack([first, second], axis=1)


def gates_of(rank):
    """By how much each expert counts, of (TOKENS, CHOICES)."""
    first = (1 + (np.arange(TOKENS) + rank) % 3) / 4
    return np.stack([first, 1 - first], axis=1)


def weights_of(rank):
    """The matrices of a rank's experts, of (EXPERTS, WIDTH, WIDTH)."""
    numbers = np.arange(EXPERTS * WIDTH * WIDTH)
    return ((numbers * 3 + rank) % 9 - 4.0).reshape(EXPERTS, WIDTH, WIDTH) / 8


def generate_distributed_inputs(rank, nranks, root, comm_ctx=None):
    return [
        ("x", tokens_of(rank).ravel().tolist()),
        ("choices", choices_of(rank, nranks).ravel().tolist()),
        ("gates", gates_of(rank).ravel().tolist()),
        ("weights", weights_of(rank).ravel().tolist()),
    ]


def compute_golden(tensors, params):
    nranks, rank = params["nranks"], params["rank"]
    counts = [np.bincount(choices_of(r, nranks).ravel(), minlength=nranks * EXPERTS)
              for r in range(nranks)]
    tensors["counts"][:] = np.concatenate(counts).tolist()

    # By rank, token and choice, in this order; rows that nobody has put to are 0, as windows begin.
    received = np.zeros((EXPERTS, ROWS, WIDTH))
    used = [0] * EXPERTS
    for r in range(nranks):
        for token, experts in enumerate(choices_of(r, nranks)):
            for expert in experts:
                if expert // EXPERTS == rank:
                    own = expert % EXPERTS
                    received[own, used[own]] = tokens_of(r)[token]
                    used[own] += 1
    tensors["received"][:] = received.ravel().tolist()

    y = np.zeros((TOKENS, WIDTH))
    for token, x in enumerate(tokens_of(rank)):
        for expert, gate in zip(choices_of(rank, nranks)[token], gates_of(rank)[token]):
            y[token] += gate * (x @ weights_of(expert // EXPERTS)[expert % EXPERTS])
    tensors["y"][:] = y.ravel().tolist()
