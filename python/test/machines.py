# SPDX-License-Identifier: Apache-2.0
"""Ranks on several "machines" of this box, which share no memory, for tests."""

import os
import subprocess
import sys


def run_on(layout, folder, program, *words):
    """A rank for each letter runs the program; ranks of one letter are on one machine. Every one of
    them must end well."""
    ranks = []
    for rank, machine in enumerate(layout):
        environment = dict(os.environ, TERN_MACHINE=machine, TERN_NET_ADDRESS="127.0.0.1",
                           TERN_EXCHANGE=f"{rank}:{len(layout)}:{folder}/exchange",
                           TMPDIR=str(folder), TERN_NET_TIMEOUT="60")
        ranks.append(subprocess.Popen([sys.executable, "-c", program, *words], env=environment,
                                      stderr=subprocess.PIPE, text=True))
    said = [rank.communicate(timeout=120)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * len(layout), "\n".join(said)
