# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/python-graphs.md, as they stand there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tern
from tern import safetensors

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/python-graphs.md").read_text()


def run_example(name, **names):
    """The block of Python that begins with `# name`, run with these names; all that it has then."""
    block = re.search(r"```python\n(# " + re.escape(name) + r"\n.*?)```", PAGE, re.S)[1]
    names.update(np=np, tern=tern)
    exec(compile(block, name, "exec"), names)
    return names


def test_plans_and_findings(capsys):
    names = run_example("plans")
    assert names["same"] == names["plan"] and len(names["ops"]) == 2
    assert 0 < float(capsys.readouterr().out) <= 1
    run_example("findings", **{k: v for k, v in names.items() if k == "broadcast"})
    said = capsys.readouterr().out.splitlines()
    block = re.search(r"# findings\n(.*?)```", PAGE, re.S)[1]
    assert said == re.findall(r"print\(.*\) +# (.*)", block)


def test_simulating(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = run_example("simulating")
    assert names["found"].ranks_us[names["slowest"]] == names["found"].time_us
    assert len(names["links"]) == 54 and names["best"] == "cut_relay"
    assert names["many"].ranks_us.shape == (4096,) and names["waits"]["us"][0] > 0
    assert (tmp_path / "relay.html").stat().st_size > 10_000
    assert "Loss(bound_us=" in capsys.readouterr().out


def test_certificates(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    try:
        names = run_example("certificates")
    except tern.StateError as error:
        pytest.skip(str(error))
    assert names["proof"].scope == "all_plans" and "all_plans" in capsys.readouterr().out


def run_plan(comm):
    x = np.arange(4.0) + comm.rank
    names = run_example("running", comm=comm, x=x)
    return (names["out"] == x - comm.rank + comm.size - 1).all()


def test_running():
    assert all(tern.launch(run_plan, 3, timeout=30))


@pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")
def test_graphs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    source = Path(__file__).parent / "kernels/basic.c"
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{ROOT / 'include'}", str(source), "-o",
                    "kernels.so"], check=True)
    a, b = np.arange(6, dtype=np.float32), np.ones(6, np.float32)
    c, d = np.zeros(6, np.float32), np.zeros(6, np.float32)
    names = run_example("graph", a=a, b=b, c=c, d=d)
    assert (d == 2 * (a + 1)).all()
    run_example("tensors", kernels=names["kernels"], a=a, c=c)
    assert (c == a + 3).all() and float(capsys.readouterr().out) == 3


def test_weights(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    up = np.random.default_rng(1).random((8, 48)).astype(np.float16)
    safetensors.save_file("layer.safetensors", {"up": up})
    names = run_example("weights")
    assert np.array_equal(names["shard"], up[:, 16:32]) and names["wide"].dtype == np.float32
    assert capsys.readouterr().out == "['up'] (8, 48)\n"


def test_every_name_of_the_page_exists():
    for name in set(re.findall(r"tern\.([A-Z]\w+|algorithms)\b", PAGE)):
        assert hasattr(tern, name), name
    for name in set(re.findall(r"`graph\.(\w+)", PAGE)) - {"md"}:
        assert hasattr(tern.TensorGraph, name), name
    for name in set(re.findall(r"`chip\.(\w+)", PAGE)):
        assert hasattr(tern.Chip, name), name
