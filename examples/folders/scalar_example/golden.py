# SPDX-License-Identifier: Apache-2.0
"""out = alpha * x + shift, where x counts from 0; alpha, shift and the count are of the case."""

import ctypes

import numpy as np

__outputs__ = ["out"]

RTOL = 0  # halves and whole numbers far below 2^23: float32 does not round them
ATOL = 0

ALL_CASES = {
    "half": {"count": 100, "alpha": 0.5, "shift": 3},
    "negative": {"count": 4096, "alpha": -2.0, "shift": -7},
    "large": {"count": 20000, "alpha": 8.0, "shift": 0},
}
DEFAULT_CASE = "half"


def generate_inputs(params):
    count = params["count"]
    return [
        ("x", np.arange(count, dtype=np.float32)),
        ("out", np.zeros(count, dtype=np.float32)),
        ("alpha", ctypes.c_float(params["alpha"])),
        ("shift", ctypes.c_int32(params["shift"])),
        ("count", ctypes.c_int64(count)),
    ]


def compute_golden(tensors, params):
    tensors["out"][:] = params["alpha"] * tensors["x"] + params["shift"]
