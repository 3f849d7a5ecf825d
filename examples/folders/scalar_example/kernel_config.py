# SPDX-License-Identifier: Apache-2.0
"""scalar_example: out = alpha * x + shift on a single chip, with scalars of C types, and cases."""

from pathlib import Path
from runpy import run_path

_here = Path(__file__).resolve().parent
_runtimes = run_path(str(_here.parent / "common" / "runtimes.py"))
_on_the_host = _runtimes["RUNTIME"] == "host_build_graph"

# The host's graph has to copy; the others get memory of the chip, which a task can have as it is.
ORCHESTRATION = _runtimes["orchestration"](_here if _on_the_host else _runtimes["ONE_TASK"])
RUNTIME_CONFIG = {"runtime": _runtimes["RUNTIME"], "block_dim": 1}

KERNELS = [{"func_id": 0, "source": "kernels/aiv/scale.cpp", "core_type": "aiv"}]
