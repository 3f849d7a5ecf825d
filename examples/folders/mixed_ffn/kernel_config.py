# SPDX-License-Identifier: Apache-2.0
"""mixed_ffn: a cube core and two vector cores that work on one tile after the other, together.

One source for both kinds of cores: it is compiled twice. The interface of April 2026.
"""

ORCHESTRATION = {
    "source": "kernels/orchestration/mixed_ffn.cpp",
    "function_name": "aicpu_orchestration_entry",
}

RUNTIME_CONFIG = {"runtime": "april/tensormap_and_ringbuffer", "block_dim": 2}

KERNELS = [
    {"func_id": 0, "source": "kernels/mix/ffn.cpp", "core_type": "aic"},
    {"func_id": 1, "source": "kernels/mix/ffn.cpp", "core_type": "aiv"},
]
