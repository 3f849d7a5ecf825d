#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures tern beside its peers, in turn in one run, and prints tables of ratios of medians.

    bench/run.py [--quick] [--no-peers] [--rounds N] [--every-size]
                 [--only basics|tasks|nodes|python|torch|machines|collectives|ways]
                 [--wire GBIT,US] [--build DIR] [--output FILE]

Peers are Open MPI and MPICH if their compilers are installed, and of task graphs GNU OpenMP and
StarPU; their programs are compiled here; of the Python bindings mpi4py. The basics are this file's,
task graphs bench/tasks.py, nodes bench/nodes.py, the bindings bench/python_calls.py, PyTorch
bench/torch_calls.py, several machines bench/machines.py; the collective calls, which take most of the
time, are bench/collectives.py. --wire is the network between machines: 1,100 (Gbit/s, microseconds),
or 10,50.
With --output (as `make bench` calls it) the tables are written there too, with machine, date and
commit; with --only, that chapter among those which are there. --every-size takes all powers of two
from 8 B to 16 MiB, 64 MiB and 256 MiB instead of eleven sizes, with fewer calls of each
(bench/collectives.py). --quick runs everything once with few iterations: a test that the benchmark
still works.
"""

import argparse
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import collectives
import machines
import nodes
import python_calls
import tasks
import torch_calls
from cells import markdown, ratio, spread

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# what to run: title, bench, ranks, iterations (quick, full), name printed, unit, bound, better
CASES = [
    ("barrier, 2 ranks", "barrier", 2, (50, 2000), "barrier", "us", 0.2, "less"),
    ("barrier, 4 ranks", "barrier", 4, (50, 1000), "barrier", "us", 5, "less"),
    ("barrier, 8 ranks", "barrier", 8, (50, 1000), "barrier", "us", 12, "less"),
    ("notify to wait, one way", "notify", 2, (50, 2000), "notify", "us", 0.15, "less"),
    ("put of 16 MiB", "put", 2, (0, 0), "put_16MiB", "GB/s", None, "more"),
    ("put of 16 MiB / memcpy", "put", 2, (0, 0), "put_to_memcpy", "x", 0.95, "more"),
    ("start of 8 ranks to a barrier", "start", 8, (0, 0), "start", "ms", 50, "less"),
    ("memory of a rank (of 8)", "start", 8, (0, 0), "memory", "KiB", 2048, "less"),
    ("CPU time of waiting 5 s", "idle", 2, (1, 5), "idle", "ms", 50, "less"),
    ("plan: AllReduce of 1 MiB, 2 ranks / by hand", "exec", 2, (0, 0),
     "all_reduce_to_hand_1024KiB", "x", 1.1, "less"),
    ("plan: a copy op beyond its copy", "exec", 1, (0, 0), "copy_op_overhead", "ns", 40, "less"),
    ("plan: a signal op", "exec", 1, (0, 0), "signal_op_overhead", "ns", 40, "less"),
    ("plan: AllReduce of 1 MiB by atomic reduces, 8 ranks / two_shot", "exec", 8, (0, 0), "atomic_to_two_shot",
     "x", 2, "less"),
    ("TNOTIFY to TWAIT, one way", "isa", 2, (0, 0), "tensor_notify", "us", 0.15, "less"),
    *((f"{name.upper()} of {text} / memcpy", "isa", 2, (0, 0), f"{name[1:]}_to_memcpy_{kib}KiB", "x", 0.9,
       "more") for name in ("tput", "tget")
      for kib, text in ((4, "4 KiB"), (16, "16 KiB"), (64, "64 KiB"), (1024, "1 MiB"), (65536, "64 MiB"))),
    ("TPUT of rows of 512 bytes / memcpy", "isa", 2, (0, 0), "put_rows_to_memcpy", "x", 0.6, "more"),
    ("TREDUCE of 8 x 4 MiB / copying as much", "isa", 2, (0, 0), "reduce_to_copy", "x", 0.8, "more"),
    ("kernel of 1 block, launched and ended", "isa", 2, (0, 0), "launch_1", "us", None, "less"),
    ("kernel of 24 blocks, launched and ended", "isa", 2, (0, 0), "launch_24", "us", None, "less"),
    ("HcclAllReduce of 8 B and its synchronization, beyond tern_all_reduce", "hccl", 2, (50, 5000),
     "HcclAllReduce_8B_adds", "us", 3, "less"),
    ("AllGather of 600 B in a kernel, Prepare to Wait", "hccl_device", 2, (0, 0), "device_all_gather_600B", "us",
     5, "less"),
]

ALONE = ("exec", "isa", "hccl", "hccl_device")  # programs of their own, and of tern alone

PEERS = [
    ("Open MPI", "mpicc.openmpi",
     ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "{n}"]),
    ("MPICH", "mpicc.mpich", ["mpirun.mpich", "-n", "{n}"]),
]


def compile_peers(folder):
    systems = []
    for name, compiler, launcher in PEERS:
        if shutil.which(compiler) is None or shutil.which(launcher[0]) is None:
            print(f"{name} is not installed; its column is left out")
            continue
        program = os.path.join(folder, name.replace(" ", "_"))
        source = os.path.join(ROOT, "bench", "mpi_basics.c")
        done = subprocess.run([compiler, "-O2", "-I", os.path.join(ROOT, "cli"), "-o", program, source],
                              capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{name} does not compile bench/mpi_basics.c: {done.stderr.strip()[:300]}")
            continue
        systems.append((name, launcher, program))
    return systems


def measure(launcher, program, case, quick, limit):
    """One run: the values it printed by name, or {} with a sentence when it failed."""
    _, bench, ranks, iterations, _, _, _, _ = case
    command = [word.format(n=ranks) for word in launcher] + [program, bench]
    if bench in ALONE:
        command = command[:-2] + [os.path.join(os.path.dirname(program), f"bench_{bench}")]
    count = iterations[0 if quick else 1]
    command += [str(count)] if count else []
    env = dict(os.environ, BENCH_BEGIN_NS=str(time.monotonic_ns()))
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=limit)
    except subprocess.TimeoutExpired:
        return {}, f"no result within {limit} s"
    if done.returncode != 0:
        return {}, f"exit status {done.returncode}: {(done.stderr or done.stdout).strip()[:200]}"
    values = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 3:
            values[words[0]] = float(words[1])
    return values, ""


def collect(systems, quick, rounds):
    """values[case][system]: a list, one value a round. Systems take turns in every round."""
    values = [{name: [] for name, _, _ in systems} for _ in CASES]
    failed = False
    limit = 60 if quick else 120
    for round_number in range(rounds):
        for key in dict.fromkeys((case[1], case[2]) for case in CASES):
            group = [case for case in CASES if (case[1], case[2]) == key]
            for name, launcher, program in systems:
                if key[0] in ALONE and name != "tern":
                    continue
                got, why = measure(launcher, program, group[0], quick, limit)
                if why:
                    print(f"{name}, {group[0][0]}: {why}", file=sys.stderr)
                    failed = failed or name == "tern"
                for case in group:
                    if case[4] in got:
                        values[CASES.index(case)][name].append(got[case[4]])
        print(f"round {round_number + 1} of {rounds} done", file=sys.stderr)
    return values, failed


def table(systems, values):
    names = [name for name, _, _ in systems]
    peers = names[1:]
    head = ["what", "unit", "asked for", "tern"] + peers + [f"{peer} / tern" for peer in peers]
    lines = []
    for case, row in zip(CASES, values):
        title, _, _, _, _, unit, bound, better = case
        if not row["tern"]:
            continue
        own = statistics.median(row["tern"])
        sign = "<=" if better == "less" else ">="
        cells = [title, unit, "" if bound is None else f"{sign} {bound:g}", spread(row["tern"])]
        cells += [spread(row[peer]) if row[peer] else "" for peer in peers]
        for peer in peers:
            if not row[peer] or own == 0:
                cells.append("")
                continue
            other = statistics.median(row[peer])
            cells.append(ratio(other / own if better == "less" else own / other if other else 0))
        lines.append(cells)
    return markdown(head, lines)


def first_line(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    except OSError:
        return ""
    return done.stdout.splitlines()[0].strip() if done.stdout else ""


def machine():
    model = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{os.cpu_count()} processors, {model}, Linux {platform.release().split('-')[0]}"


def read_arguments():
    parser = argparse.ArgumentParser(description="Measures tern beside its peers.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--only", choices=[name for name, _, _ in CHAPTERS])
    parser.add_argument("--wire", default="1,100")
    parser.add_argument("--every-size", action="store_true")
    parser.add_argument("--sizes", help="of the collective calls, such as 8,1K,1M")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--output")
    return parser.parse_args()


def measure_basics(options, tern):
    """The chapter about everything but collectives, and whether all of it was measured."""
    rounds = options.rounds or (1 if options.quick else 5)
    program = os.path.join(options.build, "bin", "bench_basics")
    with tempfile.TemporaryDirectory() as folder:
        systems = [("tern", [tern, "run", "-n", "{n}"], program)]
        systems += [] if options.no_peers else compile_peers(folder)
        values, failed = collect(systems, options.quick, rounds)
    missing = [case[0] for case, row in zip(CASES, values) if not row["tern"]]
    if missing:
        print(f"no value of tern for: {', '.join(missing)}", file=sys.stderr)
    text = ("## Basics\n\n"
            f"Medians of {rounds} runs (lowest..highest), systems in turn. The ratio columns say how "
            f"many times better tern is; below 1 is bold.\n\n{table(systems, values)}\n"
            "MPI's peer of \"notify to wait\" is a 4-byte message, of \"put\" MPI_Put with "
            "MPI_Win_flush into memory of MPI_Win_allocate. Memory is the proportional set size of "
            "rank 0 after the first barrier.\n")
    return text, not failed and not missing


def measure_tasks(options, tern):
    rounds = options.rounds or (1 if options.quick else 5)
    return tasks.measure(tern, not options.no_peers, options.quick, rounds)


def measure_nodes(options, tern):
    return nodes.measure(tern, options.quick, options.rounds or (1 if options.quick else 5))


def measure_python(options, tern):
    rounds = options.rounds or (1 if options.quick else 5)
    return python_calls.measure(tern, not options.no_peers, options.quick, rounds)


def measure_torch(options, _):
    return torch_calls.measure(options.quick, options.rounds or (1 if options.quick else 5))


def measure_machines(options, tern):
    rounds = options.rounds or (1 if options.quick else 5)
    with tempfile.TemporaryDirectory() as folder:
        return machines.measure(tern, options.build, not options.no_peers, options.quick, rounds,
                                options.wire, folder)


def peers_of_collectives(options):
    installed = [title for title, compiler, launcher in PEERS
                 if shutil.which(compiler) and shutil.which(launcher[0])]
    return [peer for peer in collectives.PEERS if peer[1] in installed and not options.no_peers]


def measure_collectives(options, tern):
    return collectives.measure(tern, peers_of_collectives(options), options.quick,
                               options.every_size, options.sizes)


def measure_ways(options, tern):
    return collectives.measure_ways(tern, peers_of_collectives(options), options.quick,
                                    options.every_size, options.sizes)


def command(options):
    """How to make the same tables again."""
    words = ["bench/run.py"]
    words += ["--quick"] if options.quick else []
    words += ["--every-size"] if options.every_size else []
    words += ["--no-peers"] if options.no_peers else []
    words += [f"--only {options.only}"] if options.only else []
    words += [f"--sizes {options.sizes}"] if options.sizes else []
    words += [f"--rounds {options.rounds}"] if options.rounds else []
    words += [f"--wire {options.wire}"] if options.wire != "1,100" else []
    return "make bench" if len(words) == 1 else " ".join(words)


# In this order: the word of --only, the title, what measures it.
CHAPTERS = (("basics", "Basics", measure_basics), ("tasks", "Tasks", measure_tasks),
            ("nodes", "Nodes", measure_nodes), ("python", "Python", measure_python),
            ("torch", "PyTorch", measure_torch), ("machines", "Machines", measure_machines),
            ("collectives", "Collective calls", measure_collectives),
            ("ways", "Calls in other ways", measure_ways))


def chapters_of(text):
    """{title: chapter} of a file of results, without what comes before the first one."""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]
    return {part[3:].splitlines()[0]: part.rstrip("\n") + "\n" for part in parts}


def head_of(before, chapters):
    """What comes before the first chapter: how all were made and where, unless each says it of itself."""
    if all(chapter.split("\n\n")[1].startswith("`") for chapter in chapters):
        return "# Results of the last run\n\nEach chapter says its command, day, commit and machine.\n"
    return before.split("\n## ")[0]


def how_made(options):
    """Command, day and commit, dirty where a file differs from it other than the one of results."""
    output = os.path.relpath(os.path.abspath(options.output or os.devnull), ROOT)
    outputs = [] if output.startswith("..") else [f":(exclude){output}"]  # git knows no others
    changed = first_line(["git", "diff", "--name-only", "HEAD", "--", ".", *outputs])
    commit = first_line(["git", "describe", "--always"]) + ("-dirty" if changed else "")
    return f"`{command(options)}`, {time.strftime('%Y-%m-%d')}, commit {commit}"


def write_results(options, made, text):
    """All chapters anew; or, with --only, that one among those which are in the file already."""
    if options.only is None or not os.path.exists(options.output):
        text = f"# Results of the last run\n\n{made}; {machine()}.\n\n{text}"
    else:
        with open(options.output, encoding="utf-8") as file:
            before = file.read()
        chapters = chapters_of(before)
        for title, chapter in chapters_of(text).items():
            chapters[title] = chapter.replace("\n", f"\n\n{made}; {machine()}.\n", 1)
        ordered = [chapters[title] for _, title, _ in CHAPTERS if title in chapters]
        text = head_of(before, ordered) + "\n" + "\n".join(ordered)
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    options = read_arguments()
    tern = os.path.join(options.build, "bin", "tern")
    made = how_made(options)
    chapters, good = [], True
    for name, _, measure_chapter in CHAPTERS:
        if options.only in (None, name):
            text, right = measure_chapter(options, tern)
            chapters.append(text)
            good = good and right
    text = "\n".join(chapters)
    print(text)
    if options.output:
        write_results(options, made, text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
