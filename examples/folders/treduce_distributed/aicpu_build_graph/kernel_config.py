# SPDX-License-Identifier: Apache-2.0
"""treduce_distributed: the root adds up the inputs of all ranks. The chip builds the graph."""

from pathlib import Path
from runpy import run_path

_shared = run_path(str(Path(__file__).resolve().parents[1] / "shared.py"))

ORCHESTRATION = {
    "source": "../../common/kernels/orchestration/aicpu_build_graph.cpp",
    "function_name": "build_graph",
}

RUNTIME_CONFIG = {"runtime": "aicpu_build_graph", "aicpu_thread_num": 1, "block_dim": 1}

KERNELS = _shared["KERNELS"]
DISTRIBUTED_CONFIG = _shared["DISTRIBUTED_CONFIG"]
