# SPDX-License-Identifier: Apache-2.0
"""What the configurations of allreduce have in common: the same buffers for all algorithms."""

DISTRIBUTED_CONFIG = {
    "nranks": 4,
    "root": 0,
    "win_sync_prefix": 256,
    "buffers": [
        {"name": "input", "dtype": "float32", "count": 256, "placement": "device"},
        {"name": "output", "dtype": "float32", "count": 256, "placement": "device"},
        {"name": "shared", "dtype": "float32", "count": 512, "placement": "window"},
        {"name": "signals", "dtype": "int32", "count": lambda n: 16 * n, "placement": "window"},
    ],
    "inputs": ["input"],
    "outputs": ["output"],
    "args": ["input", "output", "shared", "signals", "nranks", "deviceCtx"],
}
