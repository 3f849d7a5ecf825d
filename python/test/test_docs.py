# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/python.md, as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from conftest import TIMEOUT_S

import tern
from tern import _library

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/python.md").read_text()


def example(name):
    """The block of Python that begins with `# name`."""
    return re.search(r"```python\n(# " + re.escape(name) + r"\n.*?)```", PAGE, re.S)[1]


def test_the_first_example():
    shown = re.search(r"```python\n(import.*?)```", PAGE, re.S)[1]
    command, file, printed = re.search(r"```\n\$ (.*) (examples/.*)\n([^`]*)```", PAGE).groups()
    program = ROOT / file
    assert program.read_text().endswith(shown)
    words = command.split()
    assert words == ["PYTHONPATH=python", "build/release/bin/tern", "run", "-n", "4",
                     "/usr/bin/python3"]
    tern_command = os.path.join(os.path.dirname(_library.lib().path), "../bin/tern")
    done = subprocess.run(
        [tern_command, *words[2:5], sys.executable, str(program)], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, timeout=TIMEOUT_S)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr


def test_the_notebook(on_ranks):
    names = {"np": np, "tern": tern}
    exec(example("notebook"), names)
    assert [result.tolist() for result in names["results"]] == [[60, 60, 60]] * 4


def test_windows_and_calls(on_ranks):
    def run(comm):
        names = {"np": np, "tern": tern, "comm": comm, "x": np.arange(4.0) + comm.rank}
        exec(example("windows"), names)
        mine = names["window"].array(np.float32, 4, offset=1 << 19)
        assert (mine == 1).all() and names["mine"].shape == (256, 256)
        exec(example("calls"), names)
        assert (names["out"] == np.arange(4.0) + comm.size - 1).all()
        assert names["everything"].shape == (4 * comm.size,)

    on_ranks(3, run)


def test_every_name_of_the_page_exists():
    for name in set(re.findall(r"`tern\.(\w+)", PAGE)):
        assert hasattr(tern, name), name
    for name in set(re.findall(r"`comm\.(\w+)", PAGE)):
        assert hasattr(tern.Comm, name) or name in ("size", "rank", "start", "prepare"), name
