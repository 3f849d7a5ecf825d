# SPDX-License-Identifier: Apache-2.0
"""The collective calls beside Open MPI and MPICH: runs `tern perf all --compare`, and makes tables.

Used by bench/run.py. All numbers come from `tern perf`, which measures the systems in turn, size by
size, and checks tern's results; a wrong one fails the benchmark.
"""

import json
import statistics
import subprocess
import sys
import time

RANKS = (2, 4, 8)
# Those of the figures asked for, and between them no more than a factor of 8.
SIZES = "8,64,1K,8K,32K,256K,1M,4M,16M,64M,256M"
EVERY_SIZE = ",".join(str(2 ** power) for power in range(3, 29))
EXTRA_SIZES = "8,1K,32K,1M,16M,64M"
PEERS = (("openmpi", "Open MPI"), ("mpich", "MPICH"))
MINUTES = {"some": 35, "every": 85}  # on two cores, most of it waiting for MPICH


def run_perf(tern, arguments, title):
    """The rows of one `tern perf --json`, and whether it ended well."""
    command = [tern, "perf", *arguments, "--json"]
    begin = time.monotonic()
    rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            rows.append(json.loads(line))
    seconds = time.monotonic() - begin
    print(f"{title}: {len(rows)} lines in {seconds:.0f} s", file=sys.stderr)
    if process.returncode != 0:
        print(f"{title}: exit status {process.returncode}: {' '.join(command)}", file=sys.stderr)
    return rows, process.returncode == 0


def size_text(size):
    for unit in ("B", "KiB", "MiB"):
        if size < 1024 or size % 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} GiB"


def number(value):
    return "" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def ratio(value):
    if value is None:
        return ""
    return f"**{value:.3g}**" if value < 1 else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def peer_cells(row, peer):
    """Time and ratio of a peer; a star where its median is over fewer calls than tern's."""
    if row.get(f"{peer}_us") is None:
        return ["", ""]
    star = "*" if row[f"{peer}_iterations"] < row["iterations"] else ""
    return [number(row[f"{peer}_us"]) + star, ratio(row[f"{peer}_ratio"])]


def kind_table(rows, peers):
    head = ["size", "algorithm", "tern us"]
    for _, title in peers:
        head += [f"{title} us", f"{title} / tern"]
    lines = []
    for row in rows:
        cells = [size_text(row["bytes"]), row["algo"], number(row["time_us"])]
        for peer, _ in peers:
            cells += peer_cells(row, peer)
        lines.append(cells + [f"{row['bound_pct']:.0f}" if row["bytes"] else ""])
    return markdown(head + ["% of bound"], lines)


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


def extra_table(by_variant, peers):
    """AllReduce in windows beside malloc'ed buffers and 16-bit floats, at the same sizes in bytes."""
    windows = by_variant["window"]
    head = ["size", "windows us", "malloc us", "malloc / windows"]
    head += [f"{title} / malloc" for _, title in peers]
    lines = []
    for index, row in enumerate(windows):
        malloc = by_variant["malloc"][index]
        cells = [size_text(row["bytes"]), number(row["time_us"]), number(malloc["time_us"]),
                 f"{malloc['time_us'] / row['time_us']:.3g}"]
        cells += [ratio(malloc.get(f"{peer}_ratio")) for peer, _ in peers]
        for dtype in ("bf16", "f16"):
            other = by_variant[dtype][index]
            cells += [number(other["time_us"]), f"{row['time_us'] / other['time_us']:.3g}"]
        lines.append(cells)
    return markdown(head + ["bf16 us", "f32 / bf16", "f16 us", "f32 / f16"], lines)


def measure_extras(tern, nranks, compare, quick):
    sizes = ["-p", str(nranks), "--sizes", "8,4K" if quick else EXTRA_SIZES]
    variants = {"window": [], "malloc": ["--window", "no", *compare], "bf16": ["-d", "bf16"],
                "f16": ["-d", "f16"]}
    results, good = {}, True
    for name, arguments in variants.items():
        rows, right = run_perf(tern, ["all_reduce", *sizes, *arguments],
                               f"{nranks} ranks, all_reduce, {name}")
        results[name] = rows
        good = good and right
    whole = len({len(rows) for rows in results.values()}) == 1
    return results, good and whole


def measure(tern, peers, quick, every_size, sizes=None):
    """The chapter about collectives as Markdown, and whether everything was right."""
    if not quick:
        minutes = MINUTES["every" if every_size else "some"]
        print(f"the collective calls take about {minutes} minutes", file=sys.stderr)
    compare = ["--compare", ",".join(word for word, _ in peers)] if peers else []
    sizes = sizes or ("8,4K" if quick else EVERY_SIZE if every_size else SIZES)
    quickly = ["--budget", "0.02"] if quick else []
    everything, extras, good = [], [], True
    for nranks in (2, 3) if quick else RANKS:
        rows, right = run_perf(tern, ["all", "-p", str(nranks), "--sizes", sizes, *compare,
                                      *quickly], f"{nranks} ranks, all kinds")
        results, extras_right = measure_extras(tern, nranks, compare, quick)
        everything += rows
        extras.append((nranks, results))
        good = good and right and extras_right
    return chapter(everything, extras if good else [], peers), good


def chapter(rows, extras, peers):
    text = ["## Collective calls\n",
            "`tern perf all`: f32, sums, buffers in windows, results checked bit for bit. Medians over "
            "calls of the slowest rank's time; the systems take turns at every size. A ratio is the "
            "MPI's time / tern's; below 1 is bold. *: the median of fewer calls than tern's, as many "
            "as two seconds allow; nothing: no few calls within a minute. % of bound: the time of the same ranks copying, all at once, as many "
            "bytes as the call must read and write / tern's time. MPICH is run as Debian ships it: "
            "its processes spin and are not bound to processors (tern's and Open MPI's are, when "
            "there are enough), so even 2 of them can share one and take milliseconds for "
            "nothing.\n",
            summary(rows, peers)]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        text.append(f"### {kind}\n")
        for nranks in dict.fromkeys(row["nranks"] for row in rows):
            own = [row for row in rows if row["kind"] == kind and row["nranks"] == nranks]
            text += [f"{nranks} ranks:\n", kind_table(own, peers)]
    if extras:
        text.append("### all_reduce: malloc'ed buffers, 16-bit floats\n")
        text.append("Each column from a run of its own. f32 / bf16: how much faster the same number "
                    "of bytes is reduced as bf16 than as f32.\n")
    for nranks, by_variant in extras:
        text += [f"{nranks} ranks:\n", extra_table(by_variant, peers)]
    return "\n".join(text)
