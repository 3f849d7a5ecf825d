# SPDX-License-Identifier: Apache-2.0
"""ffn_tp: one layer of a network in tensor parallelism.

Each rank multiplies its shard of x by its shard of w on a matrix core; a vector core then adds up
the products of all ranks.
"""

from pathlib import Path
from runpy import run_path

_here = Path(__file__).resolve().parent
_runtimes = run_path(str(_here.parent / "common" / "runtimes.py"))

ORCHESTRATION = _runtimes["orchestration"](_here)
RUNTIME_CONFIG = {"runtime": _runtimes["RUNTIME"], "block_dim": 1}

KERNELS = [
    {"func_id": 0, "source": "../common/kernels/aic/matmul.cpp", "core_type": "aic"},
    {"func_id": 1, "source": "kernels/aiv/sum.cpp", "core_type": "aiv"},
]

DISTRIBUTED_CONFIG = {
    "nranks": 2,
    "root": 0,
    "win_sync_prefix": 256,
    "buffers": [
        {"name": "x", "dtype": "float32", "count": 64 * 64, "placement": "device"},
        {"name": "w", "dtype": "float32", "count": 64 * 64, "placement": "device"},
        {"name": "y", "dtype": "float32", "count": 64 * 64, "placement": "device"},
        {"name": "mailbox", "dtype": "float32", "count": lambda n: 64 * 64 * n, "placement": "window"},
        {"name": "signals", "dtype": "int32", "count": lambda n: 16 * n, "placement": "window"},
    ],
    "inputs": ["x", "w"],
    "outputs": ["y"],
    "args": ["x", "w", "y", "mailbox", "signals", "nranks", "deviceCtx"],
}
