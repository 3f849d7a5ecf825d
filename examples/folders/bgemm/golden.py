# SPDX-License-Identifier: Apache-2.0
"""C = A @ B, of 256 x 256, each kept as 4 x 4 tiles of 64 x 64."""

import numpy as np

__outputs__ = ["C"]

# Halves from -4 to 4: products are quarters, and sums of 256 of them need 15 bits. float32 does not
# round them, whatever the order.
RTOL = 0
ATOL = 0

GRID, SIDE = 4, 64


def tiled(matrix):
    """(GRID * SIDE, GRID * SIDE) as (GRID, GRID, SIDE, SIDE), float32."""
    tiles = matrix.reshape(GRID, SIDE, GRID, SIDE).swapaxes(1, 2)
    return np.ascontiguousarray(tiles, dtype=np.float32)


def whole(tiles):
    return tiles.reshape(GRID, GRID, SIDE, SIDE).swapaxes(1, 2).reshape(GRID * SIDE, GRID * SIDE)


def generate_inputs(params):
    numbers = np.arange((GRID * SIDE) ** 2).reshape(GRID * SIDE, GRID * SIDE)
    a = ((numbers * 7) % 17 - 8) / 2
    b = ((numbers * 5 + numbers // 256) % 13 - 6) / 2
    return [("A", tiled(a)), ("B", tiled(b)), ("C", tiled(np.zeros_like(a)))]


def compute_golden(tensors, params):
    product = whole(tensors["A"]).astype(np.float64) @ whole(tensors["B"]).astype(np.float64)
    tensors["C"][:] = tiled(product)
