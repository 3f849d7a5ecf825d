#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the simulator predicts, beside what is measured.

`machine`: AllReduce on this machine, by the calls of `tern perf`, with what `tern tune costs` says of it;
rounds of both in turn, medians over the rounds.

`links`: plans that `tern exec` runs on hosts behind a switch with a rate and a delay (netlab), beside
`tern sim` on a topology whose ports have the rate and the latency that a plan of one copy has shown there.

Tables go to standard output. --quick runs a little of everything: a test that the benchmark still works.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import plans_by_hand
from cells import markdown, number
from machines import Lab, Skip

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT_S = 600
RANKS = (2, 4, 8)
MIB = 1 << 20

# Ranks of each host, kind, algorithm: of `tern plan`, or a function of plans_by_hand.
LINKS = (((2, 2), "all_reduce", "chain"), ((2, 2), "all_reduce", "two"), ((2, 2), "all_reduce", "one_sums"),
         ((2, 2), "all_gather", "one"), ((2, 2), "broadcast", "chain"),
         ((1, 1, 1), "all_reduce", "chain"), ((1, 1, 1), "all_reduce", "two"),
         ((1, 1, 1), "all_reduce", plans_by_hand.ring), ((1, 1, 1), "broadcast", "one"),
         ((1, 1, 1, 1), "all_reduce", plans_by_hand.ring), ((1, 1, 1, 1), "all_reduce", plans_by_hand.star),
         ((1, 1, 1, 1), "all_to_all", plans_by_hand.pairs),
         ((1, 1, 1, 1), "all_to_all", plans_by_hand.at_once), ((2, 1, 1), "all_reduce", "two"),
         ((2, 1, 1), "all_reduce", "chain"))
QUICK_LINKS = (((1, 1), "all_reduce", plans_by_hand.ring), ((1, 1), "all_reduce", "two"))


def run(command, **more):
    """What a command printed; its error output as an exception when it failed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:3])}: {(done.stderr or done.stdout).strip()[:400]}")
    return done.stdout


def error_pct(predicted, measured):
    return abs(predicted / measured - 1) * 100


def summary(errors):
    return (f"Off by {number(statistics.median(errors))} % (median of {len(errors)}), "
            f"at most by {number(max(errors))} %.\n")


# This machine.

def sample_machine(tern, nranks, sizes, seconds, folder, values):
    """One round: the costs, then the calls; into values[(nranks, bytes)], pairs of predicted and measured."""
    costs = os.path.join(folder, "costs")
    run([tern, "tune", "costs", "-p", str(nranks), "--time", str(seconds), "--output", costs])
    told = run([tern, "perf", "all_reduce", "-p", str(nranks), "--sizes", sizes, "--compare", "sim", "--json"],
               env=dict(os.environ, TERN_TUNE=costs))
    os.remove(costs)
    for line in told.splitlines():
        row = json.loads(line)
        pair = values.setdefault((nranks, row["bytes"]), ([], []))
        pair[0].append(row["sim_us"])
        pair[1].append(row["time_us"])


def measure_machine(tern, quick, rounds, folder):
    sizes = "1K,64K" if quick else ",".join(str(1024 << power) for power in range(17))
    values = {}
    for turn in range(rounds):
        for nranks in RANKS[:1] if quick else RANKS:
            sample_machine(tern, nranks, sizes, 0.1 if quick else 60, folder, values)
        print(f"round {turn + 1} of {rounds} done", file=sys.stderr)
    cells, errors = {}, []
    for (nranks, size), (predicted, measured) in values.items():
        predicted, measured = statistics.median(predicted), statistics.median(measured)
        errors.append(error_pct(predicted, measured))
        cells.setdefault(size, []).extend([number(predicted), number(measured), f"{predicted / measured:.2f}"])
    ranks = RANKS[:1] if quick else RANKS
    head = ["bytes"] + [f"{nranks} ranks, {what}" for nranks in ranks for what in ("sim, us", "measured", "ratio")]
    rows = [[str(size)] + line for size, line in sorted(cells.items())]
    return (f"## AllReduce on this machine\n\nMedians over rounds: {rounds}.\n\n"
            f"{markdown(head, rows)}\n{summary(errors)}")


# Links with a rate.

def execute(lab, options, shape, plan):
    """The least of a plan's runs on hosts, in us: what else happens on this box only adds to it."""
    places = ",".join(f"tn{host}:{ranks}" for host, ranks in enumerate(shape))
    words = (f"{options.tern} exec {plan} --hosts {places} --agent {lab.folder}/rsh "
             f"--runs {2 if options.quick else 7}")
    told = run([os.path.join(lab.folder, "rsh"), "tn0", words])
    return float(re.search(r"best ([0-9.]+) us", told).group(1))


def topology(shape, gbytes_per_s, latency_us):
    """The hosts as machines, whose ranks have next to no time between them."""
    machines, links, first = [], [], 0
    for ranks in shape:
        own = list(range(first, first + ranks))
        links += [{"from": a, "to": b, "bandwidth_GBps": 10, "latency_us": 1} for a in own for b in own if a != b]
        machines.append({"ranks": own, "port_gbytes_per_s": gbytes_per_s, "latency_us": latency_us})
        first += ranks
    return {"ranks": first, "links": links, "machines": machines}


def calibrate(options, folder):
    """What a copy between two hosts takes: GB/s, and us beside the bytes."""
    times = []
    plan = os.path.join(folder, "copy.plan")
    sizes = (MIB // 16, MIB // 2) if options.quick else (MIB // 2, 4 * MIB)
    with Lab(options.netlab, 2, options.wire) as lab:
        for size in sizes:
            plans_by_hand.write(plan, plans_by_hand.copy(2, size))
            times.append(execute(lab, options, (1, 1), plan))
    rate = (sizes[1] - sizes[0]) / (times[1] - times[0]) / 1e3
    # A copy, and the post that tells of it, each have the latency.
    return max(rate, 1e-6), max(times[0] - sizes[0] / rate / 1e3, 0) / 2


def make_plan(tern, shape, kind, algorithm, size, folder):
    plan = os.path.join(folder, "one.plan")
    if callable(algorithm):
        plans_by_hand.write(plan, algorithm(sum(shape), size))
    else:
        word = "machines:" + "+".join(str(ranks) for ranks in shape)
        run([tern, "plan", kind, "--topo", word, "--bytes", str(size), "--algo", algorithm, "-o", plan])
    return plan


def measure_case(options, case, gbytes_per_s, latency_us, folder):
    shape, kind, algorithm = case
    size = 96 << 10 if options.quick else 1536 << 10
    topo = os.path.join(folder, "hosts.json")
    with open(topo, "w", encoding="utf-8") as file:
        json.dump(topology(shape, gbytes_per_s, latency_us), file)
    plan = make_plan(options.tern, shape, kind, algorithm, size, folder)
    predicted = json.loads(run([options.tern, "sim", plan, "--topo", topo, "--json"]))["time_us"]
    with Lab(options.netlab, len(shape), options.wire) as lab:
        measured = execute(lab, options, shape, plan)
    name = algorithm.__name__ + ", by hand" if callable(algorithm) else algorithm
    return "+".join(str(ranks) for ranks in shape), f"{kind}, {name}", predicted, measured


def measure_links(options, folder):
    gbit, delay = options.wire.split(",")
    title = f"## Plans on hosts behind a switch of {gbit} Gbit/s and {delay} us\n\n"
    try:
        rate, latency_us = calibrate(options, folder)
        cases = [measure_case(options, case, rate, latency_us, folder)
                 for case in (QUICK_LINKS if options.quick else LINKS)]
    except Skip as why:
        return f"{title}Not measured: {why}\n"
    rows = [[shape, what, number(predicted), number(measured), f"{predicted / measured:.3f}"]
            for shape, what, predicted, measured in cases]
    return (f"{title}A copy between two hosts shows {number(rate * 1e3)} MB/s and {number(latency_us)} us.\n\n"
            f"{markdown(['hosts', 'plan', 'sim, us', 'tern exec, us', 'ratio'], rows)}\n"
            f"{summary([error_pct(case[2], case[3]) for case in cases])}")


def read_arguments():
    parser = argparse.ArgumentParser(description="The simulator beside measurements.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=["machine", "links"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--wire", default="0.05,200", help="Gbit/s and us between hosts")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    options = parser.parse_args()
    options.tern = os.path.join(os.path.abspath(options.build), "bin", "tern")
    options.netlab = os.path.join(os.path.abspath(options.build), "bin", "netlab")
    options.rounds = 1 if options.quick else options.rounds
    return options


def main():
    options = read_arguments()
    with tempfile.TemporaryDirectory() as folder:
        if options.only in (None, "machine"):
            print(measure_machine(options.tern, options.quick, options.rounds, folder), flush=True)
        if options.only in (None, "links"):
            print(measure_links(options, folder))


if __name__ == "__main__":
    sys.exit(main())
