# SPDX-License-Identifier: Apache-2.0
"""Which runtime a folder runs on, for kernel_config.py: EXAMPLE_RUNTIME in the environment says it.

Without it, host_build_graph. Each runtime has an orchestration of its own, in
FOLDER/kernels/orchestration/RUNTIME.cpp.
"""

import os
from pathlib import Path

RUNTIME = os.environ.get("EXAMPLE_RUNTIME", "host_build_graph")

# One task, kernel 0 on a vector core, which gets the arguments of the run as they are.
ONE_TASK = Path(__file__).resolve().parent


def orchestration(folder=ONE_TASK, runtime=RUNTIME):
    """ORCHESTRATION of a folder for a runtime."""
    source = Path(folder) / "kernels" / "orchestration" / f"{runtime}.cpp"
    by_tensors = runtime == "tensormap_and_ringbuffer"
    return {
        "source": str(source),
        "function_name": "aicpu_orchestration_entry" if by_tensors else "build_graph",
    }
