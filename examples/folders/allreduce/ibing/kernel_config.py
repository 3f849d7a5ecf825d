# SPDX-License-Identifier: Apache-2.0
"""allreduce, ibing: pushes in two directions that interleave additions and results; for 2 ranks.

After Zong et al., "IBing", ACM TACO 2025. With more ranks a result would overwrite sums that are
not complete yet.
"""

import os
from pathlib import Path
from runpy import run_path

_folders = Path(__file__).resolve().parents[2]
_runtimes = run_path(str(_folders / "common" / "runtimes.py"))
_shared = run_path(str(_folders / "allreduce" / "shared.py"))

_nranks = int(os.environ.get("TERN_EXAMPLE_NRANKS", 2))
if _nranks != 2:
    raise ValueError(f"ibing is for 2 ranks, not {_nranks}: others would overwrite unfinished sums")

KERNELS = [{"func_id": 0, "source": "../kernels/aiv/ibing.cpp", "core_type": "aiv"}]
ORCHESTRATION = _runtimes["orchestration"]()
RUNTIME_CONFIG = {"runtime": _runtimes["RUNTIME"], "block_dim": 1}
DISTRIBUTED_CONFIG = dict(_shared["DISTRIBUTED_CONFIG"], nranks=2)
