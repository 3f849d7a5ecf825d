# SPDX-License-Identifier: Apache-2.0
"""y = relu(x @ w1) @ w2: seven tiles of 64 rows, a hidden layer of 128."""

import numpy as np

__outputs__ = ["y"]

# Whole numbers from -2 to 2: nothing in y is above 2^17, and float32 rounds no such number.
RTOL = 0
ATOL = 0

ROWS, SIDE, HIDDEN = 7 * 64, 64, 128


def numbers(rows, columns, step):
    values = np.arange(rows * columns).reshape(rows, columns)
    return ((values * step + values // columns) % 5 - 2).astype(np.float32)


def generate_inputs(params):
    return [("x", numbers(ROWS, SIDE, 7)), ("w1", numbers(SIDE, HIDDEN, 3)),
            ("w2", numbers(HIDDEN, SIDE, 11)), ("y", np.zeros((ROWS, SIDE), np.float32))]


def compute_golden(tensors, params):
    x, w1, w2 = (tensors[name].astype(np.float64) for name in ("x", "w1", "w2"))
    tensors["y"][:] = np.maximum(x @ w1, 0) @ w2
