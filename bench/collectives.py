# SPDX-License-Identifier: Apache-2.0
"""The collective calls beside Open MPI and MPICH: runs `tern perf all --compare`, and makes tables.

Used by bench/run.py. All numbers come from `tern perf`, which measures the systems in turn, size by
size, and checks tern's results; a wrong one fails the benchmark.
"""

import itertools
import json
import os
import statistics
import subprocess
import sys
import time

from cells import markdown, number, ratio

RANKS = (2, 4, 8)
# Those of the figures asked for, and between them no more than a factor of 8.
SIZES = "8,64,1K,8K,32K,256K,1M,4M,16M,64M,256M"
# With --every-size: up to 16 MiB all powers of two. Above, times grow as the bytes do, results are
# not compared once more, and 256 MiB are left to few ranks: on 8 they take a quarter of an hour.
EVERY_SIZE = [2 ** power for power in range(3, 25)]
LARGE_SIZES = {2: [64 << 20, 256 << 20], 4: [64 << 20, 256 << 20], 8: [64 << 20]}
MPICH_SIZES = [8, 64, 1 << 10, 8 << 10, 32 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]
EXTRA_SIZES = "8,1K,32K,1M,16M,64M"
PEERS = (("openmpi", "Open MPI"), ("mpich", "MPICH"))
# What AllReduce is measured in beside f32 in windows, the first; and how.
ELEMENTS = {"windows": [], "malloc": ["--window", "no"], "tern_alloc": ["--window", "alloc"],
            "bf16": ["-d", "bf16"], "f16": ["-d", "f16"]}
ELEMENT_TURNS = 5
ROOTED_TURNS = 3
LOOPS = {"alone": [], "in a row": ["--back-to-back"], "8 buffers": ["--buffers", "8"]}
# Calls in which ranks need not wait for each other, one after the other.
ROOTED = ("broadcast", "scatter", "scatter_v", "reduce", "gather", "gather_v")
ROOTED_SIZES = "8,64,1K,8K,64K"
# Numbers 1 to 6 of its variable coll_tuned_allreduce_algorithm.
OPENMPI_ALGORITHMS = ("linear", "reduce and broadcast", "recursive doubling", "ring",
                      "segmented ring", "Rabenseifner")
DISTANCES = []  # of the processors, before each run
MINUTES = {"some": 45, "every": 20}  # on two cores
EVERY_BUDGET = ["--budget", "0.2"]  # seconds of a system at a size


def run_perf(tern, arguments, title, settings=None):
    """The rows of one `tern perf --json`, and whether it ended well."""
    DISTANCES.append(one_way_ns(tern))
    command = [tern, "perf", *arguments, "--json"]
    begin = time.monotonic()
    rows = []
    environment = dict(os.environ, **(settings or {}))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stdout:
            rows.append(json.loads(line))
    seconds = time.monotonic() - begin
    print(f"{title}: {len(rows)} lines in {seconds:.0f} s", file=sys.stderr)
    if process.returncode != 0:
        print(f"{title}: exit status {process.returncode}: {' '.join(command)}", file=sys.stderr)
    return rows, process.returncode == 0


def one_way_ns(tern):
    """What a notify takes from one processor to another one now; None when it cannot be measured."""
    program = os.path.join(os.path.dirname(tern), "bench_basics")
    done = subprocess.run([tern, "run", "--bind", "core", "-n", "2", program, "notify", "2000"],
                          capture_output=True, text=True, check=False)
    words = done.stdout.split()
    return 1000 * float(words[1]) if done.returncode == 0 and len(words) >= 2 else None


def apart(samples):
    """A sentence about samples of one_way_ns."""
    known = sorted(sample for sample in samples if sample is not None)
    if not known:
        return ""
    return (f"Before each run of `tern perf` a notify was timed from one processor to another: "
            f"{known[0]:.0f} to {known[-1]:.0f} ns, median {statistics.median(known):.0f} "
            f"({len(known)} times). A virtual machine may be moved while it runs, and its processors "
            "with it, from one core to neighbours or to two ends of the chip. Tables of one kind "
            "measured at different distances do not compare.\n")


def size_text(size):
    for unit in ("B", "KiB", "MiB"):
        if size < 1024 or size % 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} GiB"


def peer_cells(row, peer):
    """Time and ratio of a peer; a star where its median is over fewer calls than tern's."""
    if row.get(f"{peer}_us") is None:
        return ["", ""]
    star = "*" if row[f"{peer}_iterations"] < row["iterations"] else ""
    return [number(row[f"{peer}_us"]) + star, ratio(row[f"{peer}_ratio"])]


def kind_table(windows, ordinary, peers):
    """A row a size: in windows beside the peers, and in ordinary memory beside Open MPI."""
    head = ["size", "algorithm", "tern us"]
    for _, title in peers:
        head += [f"{title} us", f"{title} / tern"]
    head += ["% of bound", "malloc: way", "tern us"]
    head += [f"{title} / tern" for _, title in peers[:1]] + ["% of bound"]
    lines = []
    for row in windows:
        cells = [size_text(row["bytes"]), row["algo"], number(row["time_us"])]
        for peer, _ in peers:
            cells += peer_cells(row, peer)
        cells.append(f"{row['bound_pct']:.0f}" if row["bytes"] else "")
        other = next((one for one in ordinary if one["bytes"] == row["bytes"]), None)
        if other is not None:
            cells += [other["way"], number(other["time_us"])]
            cells += [ratio(other.get(f"{peer}_ratio")) for peer, _ in peers[:1]]
            cells.append(f"{other['bound_pct']:.0f}")
        lines.append(cells + [""] * (len(head) - len(cells)))
    return markdown(head, lines)


def summary(rows, peers):
    """How many ratios there are, and which are below 1."""
    lines = []
    for peer, title in peers:
        ratios = [row for row in rows if row.get(f"{peer}_ratio") is not None]
        below = sorted((row for row in ratios if row[f"{peer}_ratio"] < 1),
                       key=lambda row: row[f"{peer}_ratio"])
        if not ratios:
            continue
        median = statistics.median(row[f"{peer}_ratio"] for row in ratios)
        text = f"* {title}: {len(ratios)} ratios, median {median:.3g}, {len(below)} below 1"
        if below:
            worst = below[0]
            text += (f"; the worst is {worst[f'{peer}_ratio']:.3g}, {worst['kind']} of "
                     f"{size_text(worst['bytes'])} on {worst['nranks']} ranks")
        lines.append(text + ".")
    return "\n".join(lines) + "\n"


def element_table(by_variant):
    """AllReduce where the memory and the elements differ, at the same sizes in bytes."""
    windows = by_variant["windows"]
    lines = []
    for index, row in enumerate(windows):
        cells = [size_text(row["bytes"]), number(row["time_us"])]
        for name in list(ELEMENTS)[1:]:
            other = by_variant[name][index]["time_us"] if index < len(by_variant[name]) else None
            cells += [number(other), f"{other / row['time_us']:.3g}"] if other is not None else ["", ""]
        lines.append(cells)
    head = ["size", "windows us"]
    for name in list(ELEMENTS)[1:]:
        head += [f"{name} us", "/ windows"]
    return markdown(head, lines)


def loop_table(by_variant, peers):
    """AllReduce measured in three ways, for all systems the same."""
    head, lines = ["size"], []
    for name in LOOPS:
        head += [f"{name}: tern us"] + [f"{title} / tern" for _, title in peers]
    for rows in itertools.zip_longest(*(by_variant[name] for name in LOOPS)):
        cells = [size_text(rows[0]["bytes"])]
        for row in rows:  # the largest sizes are left out where there is no memory for all buffers
            cells.append(number(row["time_us"]) if row else "")
            cells += [ratio(row.get(f"{peer}_ratio")) if row else "" for peer, _ in peers]
        lines.append(cells)
    return markdown(head, lines)


def by_hand_table(by_algorithm):
    """AllReduce beside the best of Open MPI's own algorithms at each size."""
    lines = []
    for rows in zip(*by_algorithm.values()):
        measured = [(row["openmpi_us"], name, row["openmpi_ratio"])
                    for name, row in zip(by_algorithm, rows) if row.get("openmpi_us") is not None]
        if measured:
            best, name, times = min(measured)
            lines.append([size_text(rows[0]["bytes"]), name, number(best), ratio(times)])
    return markdown(["size", "Open MPI's best", "us", "Open MPI / tern"], lines)


def rooted_table(by_kind):
    """The kinds with a root in a row: each one's time, and the first peer's / tern's."""
    lines = []
    for rows in zip(*by_kind.values()):
        cells = [size_text(rows[0]["bytes"])]
        for row in rows:
            cells += [number(row["time_us"]), ratio(row.get("openmpi_ratio"))]
        lines.append(cells)
    head = ["size"]
    for kind in by_kind:
        head += [f"{kind}: tern us", "Open MPI / tern"]
    return markdown(head, lines)


def middle(runs):
    """Of each size the row of the run that has the median of the times (of two, the quicker one)."""
    return [sorted(rows, key=lambda row: row["time_us"])[(len(rows) - 1) // 2]
            for rows in zip(*runs)]


def measure_variants(tern, nranks, variants, sizes, quickly, turns=1):
    """AllReduce in each variant, or the kind with a root that a variant is named after: rows by name,
    and whether all of them are whole. What is compared with each other takes turns: a machine may be
    twice as quick a minute later."""
    runs, good = {name: [] for name in variants}, True
    for _ in range(turns):
        for name, (arguments, settings) in variants.items():
            kind = name if name in ROOTED else "all_reduce"
            rows, right = run_perf(tern, [kind, "-p", str(nranks), "--sizes", sizes, *quickly,
                                          *arguments],
                                   f"{nranks} ranks, {kind}, {name}", settings)
            runs[name].append(rows)
            good = good and right
    results = {name: middle(rows) for name, rows in runs.items()}
    return results, good and all(results.values())


def parts_of(nranks, every_size, sizes, peers):
    """What all kinds are measured in, one after the other: (sizes, options, peers)."""
    if not every_size:
        return [(sizes, [], peers)]
    large = LARGE_SIZES[nranks]
    runs = [(MPICH_SIZES, peers),
            (EVERY_SIZE + large, [peer for peer in peers if peer[0] != "mpich"])]
    seen, parts = set(), []
    for wanted, beside in runs:
        for checked in (True, False):
            chosen = [size for size in wanted if size not in seen and (size in large) != checked]
            seen.update(chosen)
            if chosen:
                parts.append((",".join(str(size) for size in chosen),
                              [] if checked else ["-c", "0"], beside))
    return parts


def join_parts(rows):
    """The rows of several runs, as one run would give them: by kind, size by size, each size once."""
    once = {}
    for row in rows:
        once.setdefault((row["kind"], row["bytes"]), row)
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    return sorted(once.values(), key=lambda row: (kinds.index(row["kind"]), row["bytes"]))


def compared(peers):
    return ["--compare", ",".join(word for word, _ in peers)] if peers else []


def measure_kinds(tern, nranks, every_size, sizes, quickly, peers):
    """Rows of all kinds in windows and in ordinary memory, and whether all of them are right."""
    good, tables = True, []
    for more, beside, title in (([], peers, "windows"),
                                (["--window", "no"], peers[:1], "ordinary memory")):
        rows = []
        for some, options, among in parts_of(nranks, every_size, sizes, beside):
            got, right = run_perf(tern, ["all", "-p", str(nranks), "--sizes", some, *quickly,
                                         *options, *more, *compared(among)],
                                  f"{nranks} ranks, all kinds, {title}")
            rows += got
            good = good and right
        tables.append(join_parts(rows))
    return tables, good


def budget(quick, every_size):
    return ["--budget", "0.02"] if quick else EVERY_BUDGET if every_size else []


def ranks(quick):
    return (2, 3) if quick else RANKS


def measure(tern, peers, quick, every_size, sizes=None):
    """The chapter about collectives as Markdown, and whether everything was right."""
    if not quick:
        minutes = MINUTES["every" if every_size else "some"]
        print(f"the collective calls take about {minutes} minutes", file=sys.stderr)
    quickly = budget(quick, every_size)
    every_size = every_size and not quick and not sizes
    sizes = sizes or ("8,4K" if quick else SIZES)
    windows, ordinary, good = [], [], True
    for nranks in ranks(quick):
        both, right = measure_kinds(tern, nranks, every_size, sizes, quickly, peers)
        good = good and right
        windows += both[0]
        ordinary += both[1]
    return chapter(windows, ordinary, peers, every_size), good


def measure_ways(tern, peers, quick, every_size, sizes=None):
    """The chapter about AllReduce in other memory, elements and loops, and of loops of kinds with a
    root; and whether all was right."""
    some = "8,4K" if quick else sizes or ROOTED_SIZES
    sizes = "8,4K" if quick else sizes or EXTRA_SIZES
    first = compared(peers[:1])
    elements = {name: (arguments, {}) for name, arguments in ELEMENTS.items()}
    loops = {name: (arguments + compared(peers), {}) for name, arguments in LOOPS.items()}
    # tern's results are those of the tables of all kinds.
    by_hand = {name: (["-c", "0", *first], {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
                                            "OMPI_MCA_coll_tuned_allreduce_algorithm": str(index)})
               for index, name in enumerate(OPENMPI_ALGORITHMS, 1)}
    in_a_row = {kind: (["--window", "no", "--back-to-back", *first], {}) for kind in ROOTED}
    text, good = [WAYS], True
    for nranks in ranks(quick):
        tables = []
        for variants, turns in ((elements, 1 if quick else ELEMENT_TURNS), (loops, 1),
                                (by_hand if first == ["--compare", "openmpi"] else {}, 1)):
            rows, right = measure_variants(tern, nranks, variants, sizes,
                                           budget(quick, every_size), turns)
            tables.append(rows)
            good = good and right
        text += [f"{nranks} ranks:\n", element_table(tables[0]), loop_table(tables[1], peers)]
        text += [by_hand_table(tables[2])] if tables[2] else []
        rows, right = measure_variants(tern, nranks, in_a_row, some, budget(quick, every_size),
                                       1 if quick else ROOTED_TURNS)
        text.append(rooted_table(rows))
        good = good and right
    return "\n".join(text), good


WAYS = f"""## Calls in other ways

AllReduce; and at the end, for each number of ranks, the kinds with a root in ordinary memory, in a row: a median of \
{ROOTED_TURNS} turns. Each column is from runs of its own. Those of the first table take turns, {ELEMENT_TURNS} times; a time is the median of \
theirs. Times of 16-bit floats are for the same number of bytes. "alone": all ranks begin each call at one instant; "in a \
row": --back-to-back; "8 buffers": --buffers 8, where the memory is enough. Open MPI's best: the quickest of the \
algorithms of its component tuned, named for each run.
"""


def chapter(windows, ordinary, peers, every_size):
    text = ["## Collective calls\n",
            "`tern perf all`: f32, sums, results checked bit for bit" +
            (" up to 16 MiB" if every_size else "") + "; buffers in windows, and, in the "
            "columns after \"malloc\", in ordinary memory, with the way the bytes took. Medians over "
            "calls of the time from the instant at which all ranks begin until the last has ended; the "
            "systems take turns at every size. A ratio is the "
            "MPI's time / tern's; below 1 is bold. *: the median of fewer calls than tern's, at "
            "least 3, as many as " + ("0.2 s" if every_size else "2 s") + " or ten times the time of "
            "tern's calls allow; an MPI that is more than ten times slower than tern is measured in "
            "one round, not in three; nothing: no few calls within a minute" +
            (", or not asked: MPICH is measured at no more sizes than `make bench` takes" if
             every_size else "") + ". % of bound: the time of the "
            "same ranks copying, all at once, as many bytes as the call must read and write / tern's "
            "time. MPICH is run as Debian ships it: its processes spin and are not bound to "
            "processors (tern's and Open MPI's are, when there are enough), so even 2 of them can "
            "share one and take milliseconds for nothing. Buffers in ordinary memory, and an MPI's "
            "beside them, lie where malloc says, those beside windows begin with a page. glibc copies "
            "slowly from where a page begins to 16 bytes behind that on some processors "
            "(docs/collectives.md), which an MPI has as often as its own buffers lie so.\n",
            apart(DISTANCES), "In windows:\n", summary(windows, peers),
            "In ordinary memory:\n", summary(ordinary, peers)]
    for kind in dict.fromkeys(row["kind"] for row in windows):
        text.append(f"### {kind}\n")
        for nranks in dict.fromkeys(row["nranks"] for row in windows):
            own = [[row for row in rows if row["kind"] == kind and row["nranks"] == nranks]
                   for rows in (windows, ordinary)]
            text += [f"{nranks} ranks:\n", kind_table(*own, peers)]
    return "\n".join(text)
