# SPDX-License-Identifier: Apache-2.0
"""What the configurations of treduce_distributed for the three runtimes have in common."""

KERNELS = [{"func_id": 0, "source": "../kernels/aiv/treduce.cpp", "core_type": "aiv"}]

DISTRIBUTED_CONFIG = {
    "nranks": 8,
    "root": 0,
    "comm_include_dirs": [],
    "win_sync_prefix": 256,
    "buffers": [
        {"name": "input", "dtype": "float32", "count": 256, "placement": "window"},
        {"name": "output", "dtype": "float32", "count": 256, "placement": "device"},
    ],
    "inputs": ["input"],
    "outputs": ["output"],
    "args": ["input", "output", "nranks", "root", "deviceCtx"],
    "verify": "root",  # the others have no sum
}
