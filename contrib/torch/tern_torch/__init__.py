# SPDX-License-Identifier: Apache-2.0
"""tern as a backend of torch.distributed: after `import tern_torch`, init_process_group("tern")
and new_group(backend="tern") work, for tensors of the CPU, between the ranks of one machine."""

import torch
import torch.distributed as _dist

if not _dist.is_available():
    raise ImportError("tern_torch: this torch was built without torch.distributed")

from . import _C  # noqa: E402  (needs torch's libraries)


def _create(store, rank, size, timeout):
    return _C.create(store, rank, size, timeout)


def _register():
    if hasattr(_dist.Backend, "TERN"):
        return
    if int(torch.__version__.split(".")[0]) >= 2:
        _dist.Backend.register_backend("tern", _create, devices=["cpu"])
    else:
        _dist.Backend.register_backend("tern", _create)


_register()
