# SPDX-License-Identifier: Apache-2.0
"""The example, under `tern run` and with plain variables; and the package as pip installs it."""

import os
import pathlib
import socket
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
TRAIN = [sys.executable, str(ROOT / "examples/torch_ddp/train.py"), "tern", "--steps", "6"]
TERN = ROOT / "build/release/bin/tern"


@pytest.mark.skipif(not TERN.exists(), reason="needs build/release/bin/tern")
@pytest.mark.parametrize("size", [2, 4])
def test_under_tern_run(size):
    env = {name: value for name, value in os.environ.items() if not name.startswith("MASTER_")}
    done = subprocess.run([TERN, "run", "-n", str(size), *TRAIN], capture_output=True, text=True,
                          timeout=200, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert f"tern, {size} ranks" in done.stdout and "the same bits" in done.stdout


def test_with_variables():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks = [subprocess.Popen(TRAIN, stdout=subprocess.PIPE, text=True, env={
        **os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port), "TERN_TORCH_WINDOWS": "1"}) for rank in range(2)]
    words = [rank.communicate(timeout=200)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0]
    assert "the same bits" in words[0]
