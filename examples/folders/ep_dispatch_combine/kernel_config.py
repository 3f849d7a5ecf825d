# SPDX-License-Identifier: Apache-2.0
"""ep_dispatch_combine: a layer of experts that are spread over the ranks.

dispatch sends each token to its two experts, which multiply on matrix cores; combine adds up what
they made of it. A small shape: 16 tokens of 64 numbers and two experts on each rank; the sizes are
those of kernels/shape.hpp.
"""

from pathlib import Path
from runpy import run_path

_here = Path(__file__).resolve().parent
_runtimes = run_path(str(_here.parent / "common" / "runtimes.py"))

TOKENS, CHOICES, WIDTH, EXPERTS, ROWS = 16, 2, 64, 2, 64

ORCHESTRATION = _runtimes["orchestration"](_here)
RUNTIME_CONFIG = {"runtime": _runtimes["RUNTIME"], "block_dim": 2}

KERNELS = [
    {"func_id": 0, "source": "kernels/aiv/dispatch.cpp", "core_type": "aiv"},
    {"func_id": 1, "source": "../common/kernels/aic/matmul.cpp", "core_type": "aic"},
    {"func_id": 2, "source": "kernels/aiv/combine.cpp", "core_type": "aiv"},
]


def _buffer(name, dtype, count, placement="device"):
    return {"name": name, "dtype": dtype, "count": count, "placement": placement}


DISTRIBUTED_CONFIG = {
    "nranks": 2,
    "root": 0,
    "win_sync_prefix": 256,
    "buffers": [
        _buffer("x", "float32", TOKENS * WIDTH),
        _buffer("choices", "int32", TOKENS * CHOICES),
        _buffer("gates", "float32", TOKENS * CHOICES),
        _buffer("weights", "float32", EXPERTS * WIDTH * WIDTH),
        _buffer("y", "float32", TOKENS * WIDTH),
        _buffer("places", "int32", TOKENS * CHOICES),
        _buffer("received", "float32", EXPERTS * ROWS * WIDTH, "window"),
        _buffer("computed", "float32", EXPERTS * ROWS * WIDTH, "window"),
        _buffer("counts", "int32", lambda n: n * n * EXPERTS, "window"),  # [rank, expert of all]
        _buffer("signals", "int32", lambda n: 16 * n, "window"),
    ],
    "inputs": ["x", "choices", "gates", "weights"],
    "outputs": ["counts", "received", "y"],
    "args": ["x", "choices", "gates", "weights", "y", "places", "received", "computed", "counts",
             "signals", "nranks", "deviceCtx"],
}
