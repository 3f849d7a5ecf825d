# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests: rank counts, and that nothing is left behind."""

from __future__ import annotations

import os
import signal
import tempfile

import pytest

import tern

RANKS = (1, 2, 3, 5, 8)
# Where a shell runs the tests behind it, or nohup, they are ignored, and so by all that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

TIMEOUT_S = 60  # on a busy machine; a test never waits for it when all is well


@pytest.fixture
def on_ranks(tmp_path, monkeypatch):
    """launch with a deadline for tests; afterwards no child and no folder is left."""
    folder = tmp_path / "launches"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    def run(nranks, fn, *args, timeout=TIMEOUT_S):
        return tern.launch(fn, nranks, *args, timeout=timeout)

    yield run
    assert not os.listdir(folder)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
