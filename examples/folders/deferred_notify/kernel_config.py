# SPDX-License-Identifier: Apache-2.0
"""deferred_notify: a task that waits for another rank and holds no core meanwhile.

Each rank sends its part to the rank before it; the task `arrive` has returned long before it is
complete, which it is when the next rank has counted. The interface of April 2026, which has this.
"""

ORCHESTRATION = {
    "source": "kernels/orchestration/deferred_notify.cpp",
    "function_name": "aicpu_orchestration_entry",
}

RUNTIME_CONFIG = {"runtime": "april/tensormap_and_ringbuffer", "block_dim": 1}

KERNELS = [
    {"func_id": 0, "source": "kernels/aiv/send.cpp", "core_type": "aiv"},
    {"func_id": 1, "source": "kernels/aiv/arrive.cpp", "core_type": "aiv"},
    {"func_id": 2, "source": "kernels/aiv/take.cpp", "core_type": "aiv"},
]

DISTRIBUTED_CONFIG = {
    "nranks": 2,
    "root": 0,
    "win_sync_prefix": 256,
    "buffers": [
        {"name": "partial", "dtype": "float32", "count": 64 * 64, "placement": "device"},
        {"name": "mailbox", "dtype": "float32", "count": 64 * 64, "placement": "window"},
        {"name": "result", "dtype": "float32", "count": 64 * 64, "placement": "device"},
        {"name": "words", "dtype": "int32", "count": 3 * 16, "placement": "window"},
    ],
    "inputs": ["partial"],
    "outputs": ["result"],
    "args": ["partial", "mailbox", "result", "words", "nranks", "deviceCtx"],
}
