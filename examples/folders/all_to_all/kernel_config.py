# SPDX-License-Identifier: Apache-2.0
"""all_to_all: every rank puts a part of its input to each rank."""

from pathlib import Path
from runpy import run_path

_runtimes = run_path(str(Path(__file__).resolve().parents[1] / "common" / "runtimes.py"))

KERNELS = [{"func_id": 0, "source": "kernels/aiv/all_to_all.cpp", "core_type": "aiv"}]
ORCHESTRATION = _runtimes["orchestration"]()
RUNTIME_CONFIG = {"runtime": _runtimes["RUNTIME"], "block_dim": 1}

DISTRIBUTED_CONFIG = {
    "nranks": 4,
    "root": 0,
    "win_sync_prefix": 256,
    "buffers": [
        {"name": "input", "dtype": "float32", "count": lambda n: 64 * n, "placement": "device"},
        {"name": "output", "dtype": "float32", "count": lambda n: 64 * n, "placement": "window"},
        {"name": "signals", "dtype": "int32", "count": lambda n: 16 * n, "placement": "window"},
    ],
    "inputs": ["input"],
    "outputs": ["output"],
    "args": ["input", "output", "signals", "nranks", "deviceCtx"],
}
