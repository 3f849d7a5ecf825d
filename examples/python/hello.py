# SPDX-License-Identifier: Apache-2.0
"""The sum of an array over all ranks."""

import numpy as np
import tern

with tern.init() as comm:
    x = np.arange(4.0) + comm.rank
    total = comm.all_reduce(x)
    if comm.rank == 0:
        print(f"{comm.size} ranks: {total}")
