# SPDX-License-Identifier: Apache-2.0
"""Runs whose streams are closed, full, or read no further: their status and their report."""

from __future__ import annotations

import json
import os
import shlex
import subprocess

import pytest

from example_fixtures import Folder


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "f")


def ended(folder, streams, *flags):
    """The exit status, and what a shell with these redirections gets."""
    command = " ".join(map(shlex.quote, folder.command("--json", "r.json", *flags)))
    done = subprocess.run(["bash", "-c", f"{command} {streams}; exit ${{PIPESTATUS[0]}}"],
                          env=folder.environment(), cwd=folder.path, capture_output=True,
                          text=True, timeout=60, check=False)
    report = json.loads((folder.path / "r.json").read_text())
    assert report["exit_status"] == done.returncode
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    return done.returncode, done.stdout + done.stderr, report["verdict"]


@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams(folder, streams):
    status, _, verdict = ended(folder, streams)
    assert (status, verdict) == (0, "passed")
    folder.golden.write_text(folder.golden.read_text().replace("= [float(i)", "= [float(9)"))
    status, _, verdict = ended(folder, streams)
    assert (status, verdict) == (1, "failed")


def test_standard_output_is_full(folder):
    status, text, verdict = ended(folder, "> /dev/full")
    assert (status, verdict) == (1, "failed")
    assert "standard output: cannot be written: No space left on device" in text


def test_standard_error_is_full(folder):
    status, text, verdict = ended(folder, "2> /dev/full", "--case", "x")
    assert (status, verdict) == (1, "failed") and text.endswith("TEST FAILED\n")


def test_nobody_reads(folder):
    status, text, verdict = ended(folder, "| head -1")
    assert (status, verdict) == (141, "interrupted") and len(text.splitlines()) == 1


@pytest.mark.parametrize("call", ["sys.stdout.close()", "os.close(1)"])
def test_a_golden_closes_standard_output(folder, call):
    folder.golden.write_text(f"import os, sys\n{call}\n" + folder.golden.read_text())
    status, text, verdict = ended(folder, "")
    assert (status, verdict) == (1, "failed")
    assert "standard output: cannot be written: Bad file descriptor" in text


def test_a_report_goes_through_what_is_no_file(folder):
    (folder.path / "real.json").write_text("old")
    (folder.path / "link.json").symlink_to("real.json")
    assert folder.run("--json", "link.json")[0] == 0
    assert (folder.path / "link.json").is_symlink()
    assert json.loads((folder.path / "real.json").read_text())["verdict"] == "passed"

    os.mkfifo(folder.path / "pipe")
    reader = os.open(folder.path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert folder.run("--json", "pipe")[0] == 0
        assert json.loads(os.read(reader, 65536))["verdict"] == "passed"
    finally:
        os.close(reader)
    assert (folder.path / "pipe").is_fifo()
    out = folder.run("--json", "/dev/fd/1")[1]
    assert json.loads(out.partition("TEST PASSED\n")[2])["verdict"] == "passed"
