# SPDX-License-Identifier: Apache-2.0
"""allreduce, onephase: every rank reads all inputs."""

from pathlib import Path
from runpy import run_path

_folders = Path(__file__).resolve().parents[2]
_runtimes = run_path(str(_folders / "common" / "runtimes.py"))
_shared = run_path(str(_folders / "allreduce" / "shared.py"))

KERNELS = [{"func_id": 0, "source": "../kernels/aiv/onephase.cpp", "core_type": "aiv"}]
ORCHESTRATION = _runtimes["orchestration"]()
RUNTIME_CONFIG = {"runtime": _runtimes["RUNTIME"], "block_dim": 1}
DISTRIBUTED_CONFIG = _shared["DISTRIBUTED_CONFIG"]
