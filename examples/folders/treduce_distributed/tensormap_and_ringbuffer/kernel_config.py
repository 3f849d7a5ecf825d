# SPDX-License-Identifier: Apache-2.0
"""treduce_distributed: the root adds up the inputs of all ranks. Tasks follow from tensors."""

from pathlib import Path
from runpy import run_path

_shared = run_path(str(Path(__file__).resolve().parents[1] / "shared.py"))

ORCHESTRATION = {
    "source": "../../common/kernels/orchestration/tensormap_and_ringbuffer.cpp",
    "function_name": "aicpu_orchestration_entry",
}

RUNTIME_CONFIG = {
    "runtime": "tensormap_and_ringbuffer",
    "aicpu_thread_num": 4,
    "block_dim": 3,
    "orch_thread_num": 1,
    "rounds": 1,
}

KERNELS = _shared["KERNELS"]
DISTRIBUTED_CONFIG = _shared["DISTRIBUTED_CONFIG"]
