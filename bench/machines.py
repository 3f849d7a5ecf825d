# SPDX-License-Identifier: Apache-2.0
"""Messages, all_reduce and the start between machines: tern beside Open MPI and MPICH, in turn. The
machines are namespaces of this box behind a switch with a rate and a delay (test/support/netlab), so
what counts are ratios within a run. Used by bench/run.py.

A measurement has a lab of its own, which is taken away when it has printed its values: nothing is left
of one for the next, whatever a launcher leaves.
"""

import os
import shutil
import statistics
import subprocess
import sys
import threading
import time

from cells import markdown, number, ratio, spread

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHAPES = ((2, 2), (2, 4), (4, 2))  # hosts, ranks on each
SIZES = {8: "8 B", 1024: "1 KiB", 65536: "64 KiB", 1 << 20: "1 MiB", 1 << 24: "16 MiB"}
LIMIT_S = 90

# MPIs cannot sleep; Open MPI's at least yield. Both would find network devices that are not between
# the hosts. Files in /dev/shm go with the lab.
OPEN_MPI = ("mpirun.openmpi --allow-run-as-root --mca orte_tmpdir_base /dev/shm --mca plm_rsh_agent {lab}/rsh "
            "--host {list} --map-by slot --bind-to none -np {n} --mca pml ob1 --mca btl tcp,vader,self "
            "--mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1")
MPICH = ("mpiexec.hydra -launcher rsh -launcher-exec {lab}/rsh -hosts {list} -iface eth0 "
         "-genv UCX_TLS tcp,sm,self -genv UCX_NET_DEVICES eth0 -n {n}")
ENGINE = {OPEN_MPI: " -x TERN_NET=mpi", MPICH: " -genv TERN_NET mpi"}
SIX = " --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 6"
# name, compiler, launcher
PEERS = (("Open MPI", "mpicc.openmpi", OPEN_MPI),
         ("Open MPI, algorithm 6", "mpicc.openmpi", OPEN_MPI + SIX),
         ("MPICH", "mpicc.mpich", MPICH))

# Where the engines of tern and the second algorithm are measured.
LINK, START, TWO = "link", "start", (2, 2)
ALL_JOBS = (LINK, START, *SHAPES)
ANY = "tern, any order"


class Skip(Exception):
    """Why nothing can be measured here."""


class Lab:
    """Hosts tn0, tn1, ... for the time of a `with`."""

    def __init__(self, netlab, hosts, wire):
        done = subprocess.run([netlab, "--for", str(os.getpid()), "wire", str(hosts), *wire.split(",")],
                              capture_output=True, text=True, check=False, timeout=LIMIT_S)
        if done.returncode != 0:
            raise Skip(done.stderr.strip() or "netlab has made no hosts")
        self.folder = done.stdout.strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run([os.path.join(self.folder, "netlab"), "down"], check=False)

    def values(self, command):
        """What a job printed, by name, or {} and a sentence. It need not end after its last line."""
        job = subprocess.Popen([os.path.join(self.folder, "rsh"), "tn0", command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        told = []
        threading.Thread(target=lambda: told.append(job.stderr.read()), daemon=True).start()
        watch = threading.Timer(LIMIT_S, job.kill)
        watch.start()
        values, other = {}, []
        for line in job.stdout:
            words = line.split()
            words = words[1:] if words and words[0].startswith("[") else words  # a label of tern run
            if words[:1] == ["done"]:
                break
            if len(words) == 3:
                values[words[0]] = float(words[1])
            else:
                other.append(line)
        else:
            values = {}
        watch.cancel()
        job.kill()
        job.wait()
        why = "" if values else (" ".join([*other, *told]).strip() or f"no result within {LIMIT_S} s")
        return values, why[:300]


def systems_here(tern, build, with_peers, folder, notes):
    """(name, launcher, program, jobs), tern first."""
    own = os.path.join(build, "bin", "bench_machines")
    run = f"{tern} run --hosts {{list}} --agent {{lab}}/rsh"
    any_order = f"{run} --env BENCH_ORDER=any"
    systems = [("tern", run, own, ALL_JOBS), (ANY, any_order, own, SHAPES), ("tern, ucx", f"TERN_NET=ucx {run}", own, (LINK, TWO))]
    for name, launcher in (("Open MPI", OPEN_MPI), ("MPICH", MPICH)):
        if with_peers:
            systems.append((f"tern, mpi ({name})", launcher + ENGINE[launcher], own, (LINK, TWO)))
    built = {"ucx": "ucx", "mpi (Open MPI)": "mpi_openmpi", "mpi (MPICH)": "mpi_mpich"}
    for name, library in built.items():
        if not os.path.exists(os.path.join(build, "lib", f"libtern_net_{library}.so")):
            systems = [system for system in systems if system[0] != f"tern, {name}"]
            notes.append(f"tern's engine {name} is left out: it was not built.")
    programs = {}
    for name, compiler, launcher in PEERS if with_peers else ():
        if shutil.which(compiler) is None or shutil.which(launcher.split()[0]) is None:
            notes.append(f"{name} is left out: it is not installed.")
            continue
        if compiler not in programs:
            programs[compiler] = os.path.join(folder, compiler)
            source = os.path.join(ROOT, "bench", "mpi_machines.c")
            subprocess.run([compiler, "-O2", "-D_GNU_SOURCE", "-I", os.path.join(ROOT, "cli"), "-o",
                            programs[compiler], source], check=True)
        jobs = SHAPES if launcher.endswith(SIX) else ALL_JOBS
        systems.append((name, launcher, programs[compiler], jobs))
    return systems


def measure_one(netlab, wire, system, shape, words):
    """The values of one job; `words` may be a function that makes them just before it starts."""
    _, launcher, program, _ = system
    hosts, ranks = shape
    with Lab(netlab, hosts, wire) as lab:
        places = ",".join(f"tn{host}:{ranks}" for host in range(hosts))
        command = launcher.format(lab=lab.folder, list=places, n=hosts * ranks)
        arguments = words() if callable(words) else words
        return lab.values(f"{command} {program} {arguments}")


def collect(netlab, wire, systems, rounds, seconds):
    """values[job][system][name]: a list, one value a round."""
    jobs = {LINK: ((2, 1), f"link {seconds}"), START: ((4, 2), lambda: f"start {time.monotonic_ns()}")}
    jobs.update({shape: (shape, f"all_reduce {seconds}") for shape in SHAPES})
    values = {job: {system[0]: {} for system in systems} for job in jobs}
    failed = False
    for turn in range(rounds):
        for job, (shape, words) in jobs.items():
            for system in systems:
                if job not in system[3]:
                    continue
                got, why = measure_one(netlab, wire, system, shape, words)
                if why:
                    print(f"{system[0]}, {job}: {why}", file=sys.stderr)
                    failed = failed or system[0] == "tern"
                for name, value in got.items():
                    values[job][system[0]].setdefault(name, []).append(value)
        print(f"round {turn + 1} of {rounds} done", file=sys.stderr)
    return values, failed


def row(title, unit, names, lists, better="less"):
    """A line of a table: the values of each system, then how many times better tern is."""
    medians = {name: statistics.median(lists[name]) for name in names if lists[name]}
    cells = [title, unit] + [spread(lists[name]) if lists[name] else "" for name in names]
    for own, peer in pairs_of(names):
        known = own in medians and peer in medians
        times = medians[peer] / medians[own] if known else 0
        cells.append(ratio(times if better == "less" else 1 / times) if known else "")
    return cells


def pairs_of(names):
    """Each tern with each of those that it is compared with."""
    peers = [name for name in names if not name.startswith("tern")]
    return [(own, peer) for own in ("tern", ANY) if own in names for peer in peers]


def head(what, names):
    return [what, "unit"] + names + [f"{peer} / {own}" for own, peer in pairs_of(names)]


def message_rows(values, names):
    link = values[LINK]
    get = {name: {key: link[name].get(key, []) for key in
                  ("message_8_p10", "message_8_median", "message_16777216_median")} for name in names}
    return [row("8 B, one way, 10th percentile", "us", names,
                {name: get[name]["message_8_p10"] for name in names}),
            row("8 B, one way, median", "us", names,
                {name: get[name]["message_8_median"] for name in names}),
            row("16 MiB", "Gbit/s", names,
                {name: [(1 << 24) * 8e-3 / us for us in get[name]["message_16777216_median"]]
                 for name in names}, "more")]


def reduce_rows(shape, values, names):
    for size, title in SIZES.items():
        yield size, title, {name: values[shape][name].get(f"all_reduce_{size}_median", []) for name in names}


def link_table(values, names):
    start = {name: values[START][name].get("start", []) for name in names}
    rows = message_rows(values, names)
    return markdown(head("what", names), rows + [row("start of 4 x 2 ranks to a barrier", "ms", names, start)])


def engine_table(values, names):
    rows = message_rows(values, names)
    rows += [row(f"all_reduce of {title}, 2 hosts x 2 ranks", "us", names, lists)
             for _, title, lists in reduce_rows(TWO, values, names)]
    return markdown(["what", "unit", *names], rows)


def share_of_link(shape, size, us, gbit):
    """The least bytes that a host's port must carry in a direction, over what it carries in that time."""
    hosts = shape[0]
    return 2 * (hosts - 1) / hosts * size * 8e-3 / gbit / us


def reduce_table(shape, values, names, gbit):
    rows = []
    for size, title, lists in reduce_rows(shape, values, names):
        line = row(title, "us", names, lists)
        for name in names:
            known = lists[name] and size >= 1 << 16
            line.append(number(100 * share_of_link(shape, size, statistics.median(lists[name]), gbit))
                        if known else "")
        rows.append(line)
    return markdown(head("all_reduce", names) + [f"{name}, % of the link" for name in names], rows)


def measure(tern, build, with_peers, quick, rounds, wire, folder):
    """The chapter, and whether all of tern was measured."""
    gbit, delay = wire.split(",")
    netlab = os.path.join(build, "bin", "netlab")
    notes = []
    title = f"## Machines\n\nA switch with {gbit} Gbit/s and {delay} us one way between the hosts"
    try:
        systems = systems_here(tern, build, with_peers, folder, notes)
        values, failed = collect(netlab, wire, systems, rounds, 0.05 if quick else 1)
    except (Skip, OSError, subprocess.SubprocessError) as why:
        return f"{title}.\n\nNot measured: {why}\n", True
    engines = [system[0] for system in systems if system[0].startswith("tern") and system[0] != ANY]
    names = [system[0] for system in systems if system[0] not in engines[1:]]
    parts = [f"{title}; medians of {rounds} runs (lowest..highest), systems in turn. The ratio columns say how "
             "many times better tern is; below 1 is bold. All hosts share this machine's processors.\n",
             link_table(values, [name for name in names if name not in (ANY, PEERS[1][0])]),
             "A message is put and notify, or MPI_Send. MPIs poll, with mpi_yield_when_idle where it is there.\n"]
    for shape in SHAPES:
        parts.append(f"### all_reduce on {shape[0]} hosts x {shape[1]} ranks\n")
        parts.append(reduce_table(shape, values, names, float(gbit)))
    if len(engines) > 1:
        parts += ["### tern's engines\n", engine_table(values, engines)]
    parts.append("Calls are made back to back: behind a barrier they would also count how far apart that leaves the "
                 "machines, up to a crossing, and not the same for all systems. "
                 "tern sums in rank order unless it is told that any order will do. "
                 "The share of the link is 2(h-1)/h of the bytes, which an optimal call sends from each of h "
                 "hosts, over the time; headers take 6 %.\n")
    return "\n".join(parts + [note + "\n" for note in notes]), not failed
