# SPDX-License-Identifier: Apache-2.0
"""a = 2, b = 3, so f = 42; the case `ramp` has numbers that differ, and pieces that are not full."""

import ctypes

import numpy as np

__outputs__ = ["f"]

RTOL = 0  # whole numbers below 2^24: float32 does not round them
ATOL = 0

ALL_CASES = {
    "equal": {"count": 16384, "ramp": False},
    "ramp": {"count": 5000, "ramp": True},
}
DEFAULT_CASE = "equal"


def generate_inputs(params):
    count = params["count"]
    a = np.full(count, 2, dtype=np.float32)
    b = np.full(count, 3, dtype=np.float32)
    if params["ramp"]:
        a += np.arange(count, dtype=np.float32) % 1000
    f = np.zeros(count, dtype=np.float32)
    return [("a", a), ("b", b), ("f", f), ("count", ctypes.c_int64(count))]


def compute_golden(tensors, params):
    c = tensors["a"] + tensors["b"]
    tensors["f"][:] = (c + 1) * (c + 2)
