# SPDX-License-Identifier: Apache-2.0
"""What the tests of the example runner share: a folder that is right, changed one line at a time,
and a command `tern` that only seems to compile and run (fake_tern.py), so that a test takes no
compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from example_server import Server

PYTHON = Path(__file__).resolve().parents[1]
FAKE = Path(__file__).resolve().parent / "fake_tern.py"

CONFIG = """
ORCHESTRATION = {"source": "orch.cpp", "function_name": "build_graph"}
KERNELS = [{"func_id": 0, "source": "kernel.cpp", "core_type": "aiv"}]
RUNTIME_CONFIG = {"runtime": "host_build_graph", "aicpu_thread_num": 1, "block_dim": 1}
RUNTIME_ENV = {}
DISTRIBUTED_CONFIG = {
    "nranks": 2,
    "root": 0,
    "win_sync_prefix": 256,
    "buffers": [
        {"name": "x", "dtype": "float32", "count": 4, "placement": "window"},
        {"name": "y", "dtype": "float32", "count": 4, "placement": "device"},
    ],
    "inputs": ["x"],
    "outputs": ["y"],
    "args": ["x", "y", "nranks", "root", "deviceCtx"],
}
"""

GOLDEN = """
RTOL = 0
ATOL = 0

def generate_distributed_inputs(rank, nranks, root, comm_ctx=None):
    return [("x", [float(i) for i in range(4)]), ("nranks", nranks)]

def compute_golden(tensors, params):
    tensors["y"][:] = [float(i) for i in range(4)]
"""

SINGLE_CONFIG = """
ORCHESTRATION = {"source": "orch.cpp", "function_name": "build_graph"}
KERNELS = [{"func_id": 0, "source": "kernel.cpp", "core_type": "aic"}]
"""

SINGLE_GOLDEN = """
import ctypes
import numpy as np
__outputs__ = ["f"]
ALL_CASES = {"small": {"n": 4}, "large": {"n": 64}}
DEFAULT_CASE = "small"

def generate_inputs(params):
    n = params["n"]
    return [("a", np.arange(n, dtype=np.float32)), ("f", np.zeros(n, np.float32)),
            ("scale", ctypes.c_float(2.5)), ("n", ctypes.c_int64(n))]

def compute_golden(tensors, params):
    tensors["f"][:] = tensors["a"]
"""


_servers: Dict[Tuple[str, ...], Server] = {}  # for all folders, by what their goldens import


class Folder:
    """A folder of kernels with its golden, and how the command is run on it."""

    def __init__(self, path: Path, config: str = CONFIG, golden: str = GOLDEN) -> None:
        self.path = path
        self.cache = path / "cache"
        self.kernels = path / "kernels"
        self.golden = path / "golden.py"
        self.kernels.mkdir(parents=True)
        (self.kernels / "orch.cpp").write_text("// orchestration\n")
        (self.kernels / "kernel.cpp").write_text("// kernel\n")
        (self.kernels / "kernel_config.py").write_text(config)
        self.golden.write_text(golden)

    def command(self, *flags: str) -> List[str]:
        return [sys.executable, "-m", "tern.run_example", "-k", str(self.kernels), "-g",
                str(self.golden), *flags]

    def environment(self, tern: Optional[str] = None, **more: str) -> Dict[str, str]:
        temporary = self.path / "tmp"
        temporary.mkdir(exist_ok=True)
        variables = {**os.environ, "PYTHONPATH": str(PYTHON), "TERN_COMMAND": tern or str(FAKE),
                     "XDG_CACHE_HOME": str(self.cache), "TMPDIR": str(temporary), **more}
        return variables

    def run(self, *flags: str, tern: Optional[str] = None, **more: str) -> Tuple[int, str, str]:
        """The exit status, standard output and standard error. Nothing may be left behind."""
        environment = self.environment(tern, **more)
        if any(name.startswith("PYTHON") for name in more):  # the interpreter reads it at its start
            ran = subprocess.run(self.command(*flags), env=environment, text=True,
                                 capture_output=True, cwd=self.path, timeout=60, check=False,
                                 stdin=subprocess.DEVNULL)
            done = (ran.returncode, ran.stdout, ran.stderr)
        else:
            torch = self.golden.is_file() and b"import torch" in self.golden.read_bytes()
            modules = ("numpy", "torch") if torch else ("numpy",)
            if modules not in _servers:
                _servers[modules] = Server(environment, *modules)
            done = _servers[modules].run(self.command(*flags)[3:], environment, str(self.path), 60)
        left = [entry.name for entry in (self.path / "tmp").iterdir()]
        assert left == [], f"left behind: {left}"
        return done
