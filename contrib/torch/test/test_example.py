# SPDX-License-Identifier: Apache-2.0
"""The example, under `tern run` and with plain variables."""

import os
import pathlib
import runpy
import socket
import subprocess
import sys

import pytest

import tern_torch
from ranks import end, fork

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
TRAIN = [str(ROOT / "examples/torch_ddp/train.py"), "tern", "--steps", "6"]
TERN = ROOT / "build/release/bin/tern"


@pytest.mark.skipif(not TERN.exists(), reason="needs build/release/bin/tern")
def test_under_tern_run():
    env = {name: value for name, value in os.environ.items() if not name.startswith("MASTER_")}
    done = subprocess.run([TERN, "run", "-n", "2", sys.executable, *TRAIN], capture_output=True, text=True,
                          timeout=200, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert "tern, 2 ranks" in done.stdout and "the same bits" in done.stdout


def test_with_variables(capfd):
    """In forked processes, which need not import torch again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def rank_main(rank):
        os.environ.update(RANK=str(rank), WORLD_SIZE="4", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        tern_torch.use_windows()
        sys.argv = TRAIN
        with pytest.raises(SystemExit) as done:
            runpy.run_path(TRAIN[0], run_name="__main__")
        assert done.value.code == 0
        sys.stdout.flush()
    end(fork(4, rank_main), deadline=200)
    assert "tern, 4 ranks" in (words := capfd.readouterr().out) and "the same bits" in words
