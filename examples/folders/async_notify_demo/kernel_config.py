# SPDX-License-Identifier: Apache-2.0
"""async_notify_demo: a task whose result waits for a notification, and holds no core meanwhile.

`produce` doubles the input and notifies the next rank; `await` is complete when this rank has been
notified, and until then `consume` does not start. The interface of April 2026, which has this.
"""

ORCHESTRATION = {
    "source": "kernels/orchestration/async_notify_demo.cpp",
    "function_name": "aicpu_orchestration_entry",
}

RUNTIME_CONFIG = {"runtime": "april/tensormap_and_ringbuffer", "block_dim": 1}

KERNELS = [
    {"func_id": 0, "source": "kernels/aiv/produce.cpp", "core_type": "aiv"},
    {"func_id": 1, "source": "kernels/aiv/await.cpp", "core_type": "aiv"},
    {"func_id": 2, "source": "kernels/aiv/consume.cpp", "core_type": "aiv"},
]

DISTRIBUTED_CONFIG = {
    "nranks": 2,
    "root": 0,
    "win_sync_prefix": 256,
    "buffers": [
        {"name": "in", "dtype": "float32", "count": 128 * 128, "placement": "window"},
        {"name": "out", "dtype": "float32", "count": 128 * 128, "placement": "device"},
        {"name": "result", "dtype": "float32", "count": 128 * 128, "placement": "device"},
        {"name": "notify_counter", "dtype": "int32", "count": 1, "placement": "window"},
    ],
    "inputs": ["in", "notify_counter"],
    "outputs": ["out", "result"],
    "args": ["in", "out", "result", "notify_counter", "deviceCtx"],
}
