# SPDX-License-Identifier: Apache-2.0
"""tern for Python: programs for clusters of accelerator chips, run on ordinary Linux machines.

Importing it loads nothing: names are looked up when they are first used, and libtern when a call
needs it. docs/python.md has a page about the whole.
"""

from __future__ import annotations

import importlib
from typing import List

from . import _version

# Public name -> the module that has it.
_PUBLIC = {
    name: module
    for module, names in {
        "_errors": (
            "Error ArgumentError OutOfMemoryError SystemCallError TimeoutError PeerError LeftError "
            "MismatchError StateError LimitError RefusedError CycleError KernelError "
            "InterruptedError AbortedError"
        ),
        "_library": "LibraryError",
        "comm": "Comm init init_at",
        "window": "Window wait_all_signals wait_any_signal",
        "session": "Session",
        "requests": "Request wait_all wait_any",
        "context": "Context",
        "launcher": "launch LaunchError",
        "platform": "comm_init comm_alloc_windows comm_get_local_window_base comm_barrier comm_destroy",
        "topo": "Topology Link Resource",
        "plan": "Plan PlanBuilder Op Range algorithms",
        "check": "Check CheckError Finding",
        "execute": "PlanRun",
        "simulate": "sim sim_sizes Simulation Program",
        "certificate": "Certificate",
        "chip": "Chip",
        "node": "Node NodeGraph Domain serve",
        "graph": "Graph",
        "kernels": "Kernel Kernels kernel_block kernel_core kernel_run fail_kernel",
        "region": "Region",
        "submit": "TensorGraph Submission In InOut OutTo NoDep Out",
    }.items()
    for name in names.split()
}

__all__ = sorted(_PUBLIC)
__version__ = _version.VERSION


def __getattr__(name: str):
    module = _PUBLIC.get(name)
    if name == "platform":
        return importlib.import_module("tern.platform")
    if module is None:
        raise AttributeError(f"module 'tern' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"tern.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(__all__))
