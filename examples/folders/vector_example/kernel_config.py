# SPDX-License-Identifier: Apache-2.0
"""vector_example: f = (a + b + 1) * (a + b + 2) on a single chip, by four tasks on vector cores."""

from pathlib import Path
from runpy import run_path

_here = Path(__file__).resolve().parent
_runtimes = run_path(str(_here.parent / "common" / "runtimes.py"))

ORCHESTRATION = _runtimes["orchestration"](_here)
RUNTIME_CONFIG = {"runtime": _runtimes["RUNTIME"], "block_dim": 3}

KERNELS = [
    {"func_id": 0, "source": "kernels/aiv/add.cpp", "core_type": "aiv"},
    {"func_id": 1, "source": "kernels/aiv/add_scalar.cpp", "core_type": "aiv"},
    {"func_id": 2, "source": "kernels/aiv/mul.cpp", "core_type": "aiv"},
]
