# SPDX-License-Identifier: Apache-2.0
"""Windows of ranks on several "machines" of this box, which share no memory."""

import pytest

from machines import run_on

RANK = """
import sys
import numpy as np
import tern

layout = sys.argv[1]
comm = tern.init()
window = comm.window(1 << 16)
for rank in range(comm.size):
    here = layout[rank] == layout[comm.rank]
    window.put(rank, np.array([comm.rank + 100], np.int32), offset=4096 + 4 * comm.rank)
    assert window.is_local(rank) == here
    try:
        window.array(np.int32, rank=rank)
        assert here
    except tern.ArgumentError as error:
        assert not here and "is on another machine" in str(error), error
comm.barrier()
wanted = [rank + 100 for rank in range(comm.size)]
mine = window.array(np.int32, comm.size, 4096)
assert list(mine) == wanted
back = np.zeros(comm.size, np.int32)
for rank in range(comm.size):
    window.get(rank, back, offset=4096)
    assert list(back) == wanted
window.close()
comm.barrier()
assert list(mine) == wanted  # an array keeps its memory
"""


@pytest.mark.parametrize("layout", ["ab", "abb"])
def test_windows_reach_other_machines(layout, tmp_path):
    run_on(layout, tmp_path, RANK, layout)
