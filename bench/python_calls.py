# SPDX-License-Identifier: Apache-2.0
"""Collective calls from Python on two ranks: tern's bindings, the same calls from C, and mpi4py on Open
MPI, in turn. Used by bench/run.py.

    bench/python_calls.py tern|mpi4py CALLS     one of the ranks, which the launcher starts

A call follows the other without a barrier between. The buffers of tern lie in windows, of mpi4py in
arrays of NumPy (Allreduce). C is bench_basics.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time

from cells import markdown, ratio, spread

RANKS = 2
BATCHES = 9
SIZES = {"8B": 8, "1MiB": 1 << 20}
LAUNCHER = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", str(RANKS)]


def time_batches(name, size, call, barrier, calls):
    """Prints, as bench/report.h does, the median of batches; large calls are fewer."""
    calls = max(calls if size < 4096 else calls // 50, 2)
    batches = []
    for _ in range(BATCHES):
        barrier()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        batches.append((time.perf_counter() - begin) / calls * 1e6)
    return f"all_reduce_{name} {statistics.median(batches)} us"


def rank_of_tern(calls):
    import numpy as np
    import tern

    lines = []
    with tern.init() as comm:
        window = comm.window(2 << 20)
        for name, size in SIZES.items():
            x = window.array(np.float32, size // 4)
            out = window.array(np.float32, size // 4, offset=1 << 20)
            x[:] = 1
            lines.append(time_batches(name, size, lambda: comm.all_reduce(x, out), comm.barrier, calls))
            assert (out == RANKS).all()
        return lines if comm.rank == 0 else []


def rank_of_mpi4py(calls):
    import numpy as np
    from mpi4py import MPI

    lines = []
    comm = MPI.COMM_WORLD
    for name, size in SIZES.items():
        x, out = np.ones(size // 4, np.float32), np.zeros(size // 4, np.float32)
        lines.append(time_batches(name, size, lambda: comm.Allreduce(x, out), comm.Barrier, calls))
        assert (out == RANKS).all()
    return lines if comm.rank == 0 else []


def find_python(*modules):
    """A Python that has these modules, or None."""
    words = "; ".join(f"import {module}" for module in modules)
    for name in filter(None, (os.environ.get("TERN_PYTHON"), "python3", "/usr/bin/python3")):
        if shutil.which(name) and subprocess.run([name, "-c", words], capture_output=True,
                                                 check=False).returncode == 0:
            return name
    return None


def run_program(command, environment):
    """The values that it printed, by name, or a sentence."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120,
                              env={**os.environ, **environment}, check=False)
    except subprocess.TimeoutExpired:
        return {}, "no result within 120 s"
    if done.returncode != 0:
        return {}, f"exit status {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}"
    words = (line.split() for line in done.stdout.splitlines())
    return {word[0]: float(word[1]) for word in words if len(word) == 3}, ""


def systems(tern, with_peers, calls):
    """name: (command, environment), and a line for each that is missing."""
    found, absent = {}, []
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    build = os.path.dirname(os.path.dirname(tern))
    run = [tern, "run", "-n", str(RANKS)]
    program = [os.path.abspath(__file__)]
    python = find_python("numpy")
    if python is None:
        absent.append("| Python is not here with NumPy |")
    else:
        found["Python"] = (run + [python, *program, "tern", str(calls)],
                           {"PYTHONPATH": os.path.join(root, "python"),
                            "TERN_LIBRARY": os.path.join(build, "lib", "libtern.so")})
    found["C"] = (run + [os.path.join(build, "bin", "bench_basics"), "all_reduce", str(calls)], {})
    peer = find_python("numpy", "mpi4py.MPI") if with_peers and shutil.which(LAUNCHER[0]) else None
    if peer is not None:
        found["mpi4py"] = (LAUNCHER + [peer, *program, "mpi4py", str(calls)], {})
    elif with_peers:
        absent.append("| mpi4py is not installed |")
    return found, absent


def measure(tern, with_peers, quick, rounds):
    """The chapter, and whether all of it was measured."""
    found, absent = systems(tern, with_peers, 20 if quick else 20000)
    values = {name: {size: [] for size in SIZES} for name in found}
    good = True
    for _ in range(rounds):
        for name, (command, environment) in found.items():
            got, why = run_program(command, environment)
            if why:
                print(f"{name}, all_reduce: {why}", file=sys.stderr)
                good = False
            for size in SIZES:
                if f"all_reduce_{size}" in got:
                    values[name][size].append(got[f"all_reduce_{size}"])
    return chapter(values, absent, rounds), good


def chapter(values, absent, rounds):
    names = list(values)
    head = ["all_reduce, 2 ranks", "unit", *names, "Python - C, asked for <= 1",
            "mpi4py / Python, asked for >= 10 at 1 MiB"]
    rows = []
    for size in SIZES:
        middle = {name: statistics.median(values[name][size]) for name in names if values[name][size]}
        own, c, peer = (middle.get(name) for name in ("Python", "C", "mpi4py"))
        rows.append([size.replace("B", " B").replace("Mi B", " MiB"), "us",
                     *(spread(values[name][size]) if values[name][size] else "" for name in names),
                     f"{own - c:.2f}" if own and c else "", ratio(peer / own) if own and peer else ""])
    lines = "".join(line + "\n" for line in absent)
    return (f"## Python\n\nMedians of {rounds} runs (lowest..highest), systems in turn; each the median "
            f"of {BATCHES} batches of calls back to back.\n\n{markdown(head, rows)}{lines}")


if __name__ == "__main__":
    program_of = {"tern": rank_of_tern, "mpi4py": rank_of_mpi4py}[sys.argv[1]]
    for printed in program_of(int(sys.argv[2])):
        print(printed)
