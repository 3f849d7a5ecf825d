# SPDX-License-Identifier: Apache-2.0
"""tern as a backend of torch.distributed: after `import tern_torch`, init_process_group("tern")
and new_group(backend="tern") work, for tensors of the CPU, between the ranks of one machine."""

import atexit
import os

import torch
import torch.distributed as _dist

if not _dist.is_available():
    raise ImportError("tern_torch: this torch was built without torch.distributed")

from . import _C  # noqa: E402  (needs torch's libraries)


def empty(*size, dtype=None):
    """A tensor in memory that all ranks map: calls use it where it lies, without a copy. Like
    torch.empty; needs a process group "tern"."""
    if len(size) == 1 and not isinstance(size[0], int):
        size = size[0]
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"tern_torch.empty: dtype must be a torch.dtype, not {dtype!r}")
    return _C.empty(list(size), dtype)


def use_windows(yes=True):
    """From now on, all tensors of the CPU from 4 KiB on are made in such memory while there is a
    process group "tern" and room. The children of a fork, such as the workers of a DataLoader, use
    ordinary memory. TERN_TORCH_WINDOWS=1 in the environment does it at the import."""
    _C.use_windows(yes)


def register():
    """Makes the name "tern" known to torch.distributed; the import does it. Torch from 2.5 on calls
    this itself when it is imported (the entry point torch.backends)."""
    if hasattr(_dist.Backend, "TERN"):
        return
    if int(torch.__version__.split(".", maxsplit=1)[0]) >= 2:
        _dist.Backend.register_backend("tern", _C.create, devices=["cpu"])
    else:
        _dist.Backend.register_backend("tern", _C.create)


register()
# A program that ends without destroy_process_group leaves, too: it has not died.
atexit.register(_C.leave_all)
if os.environ.get("TERN_TORCH_WINDOWS", "0") not in ("", "0"):
    use_windows()
