# SPDX-License-Identifier: Apache-2.0
"""bgemm: a product of matrices in tiles on a single chip, on matrix and vector cores at once."""

from pathlib import Path
from runpy import run_path

_here = Path(__file__).resolve().parent
_runtimes = run_path(str(_here.parent / "common" / "runtimes.py"))

ORCHESTRATION = _runtimes["orchestration"](_here)
RUNTIME_CONFIG = {"runtime": _runtimes["RUNTIME"], "block_dim": 2}

KERNELS = [
    {"func_id": 0, "source": "../common/kernels/aic/matmul.cpp", "core_type": "aic"},
    {"func_id": 1, "source": "../vector_example/kernels/aiv/add.cpp", "core_type": "aiv"},
]
