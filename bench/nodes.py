# SPDX-License-Identifier: Apache-2.0
"""A host that gives tasks to chips: runs bench/node.c on a few numbers of ranks.

Used by bench/run.py. There is no peer; what was published for the runtime whose level this is stands
in the table.
"""

import os

from cells import markdown, spread
from tasks import collect

CHIPS = 4
COUNTS = ((200, 3), (1000, 51))  # tasks of a run, runs in a process; the quick ones first

# title, unit, bound, name printed
ROWS = (
    (f"independent tasks over {CHIPS} chips", "us/task", "<= 10", "node_independent"),
    ("the same, any chip", "us/task", None, "node_any"),
    (f"{CHIPS} chains, each over all chips in turn", "us/task", None, "node_chains"),
    ("a chain over all chips in turn", "us/task", None, "node_chain"),
    (f"groups of {CHIPS} chips", "us/task", None, "node_groups"),
    ("independent tasks for the host", "us/task", None, "node_host"),
    ("a run of one task", "us", None, "node_one"),
    ("a domain of 64 KiB on two chips, made and destroyed", "us", None, "node_domain"),
    ("processor time of a chip that idles for 1 s", "ms", None, "node_idle"),
)


def measure(tern, quick, rounds):
    """The chapter about nodes as Markdown, and whether every row has a value."""
    pick = 0 if quick else 1
    command = [tern, "run", "-n", str(CHIPS + 1), os.path.join(os.path.dirname(tern), "bench_node"),
               *(str(number) for number in COUNTS[pick])]
    values = collect([("tern", command, {}, False)], rounds)
    lines, missing = [], []
    for title, unit, bound, name in ROWS:
        own = values.get(("tern", name, False))
        if own:
            lines.append([title, unit, bound or "", spread(own)])
        else:
            missing.append(title)
    text = ("## Nodes\n\n"
            f"A host and {CHIPS} chips, a process each; runs of {COUNTS[pick][0]} tasks with empty kernels, "
            f"from the launch to the end; of {COUNTS[pick][1]} runs the median, and of {rounds} such "
            "processes the median (lowest..highest). Each task reads and writes a region, so its order is "
            "looked up. Published for the chip runtime's level 3: 8.08 us a task and 43.3 us a run.\n\n"
            f"{markdown(['what', 'unit', 'asked for', 'tern'], lines)}")
    return text, not missing
